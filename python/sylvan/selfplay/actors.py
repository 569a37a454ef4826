"""Games played by actors in Rust, on threads of their own; this thread only evaluates batches.

    lease → actors → batches → evaluator → answers → actors → games as columns

A lease is a range of game numbers. What is played in it depends on the seed, the numbers and the
evaluations, never on the number of actors, the rows of a batch or timing
(`crates/sylvan-core/src/selfplay/actor.rs` says why).

Several batches are under way: while one is evaluated, actors fill others. An evaluator with
`submit(leaves) -> ticket` and `collect(ticket)` gets the next batch before the last one is
collected; any other is called batch by batch. Native evaluators run in the actors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.errors import ConfigError, EvaluationError, SearchStateError
from sylvan.evaluators import AsyncEvaluator, Evaluator, EvaluatorLike, evaluator_for
from sylvan.evaluators.native import native_call
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.selfplay.batch_leaves import BatchLeaves, Played
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import Resignation
from sylvan.selfplay.game_columns import GameColumns

__all__ = ["Actors"]

PATIENCE = 0.05
"""Seconds to wait for a batch before signals and `watch` are served."""

Room = Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]]
Watch = Callable[[int, int, int], object]


class Actors:
    """Plays games of a native game by actors.

    >>> actors = Actors(GameSpec("tictactoe"), SelfPlayConfig(games=8), seed=1, actors=2)
    >>> games = actors.play("uniform", first=0, count=16)
    >>> games["numbers"].tolist() == list(range(16))
    True
    """

    def __init__(
        self,
        spec: GameSpec,
        config: SelfPlayConfig,
        seed: int,
        encoding: Encoding | None = None,
        search: SearchConfig | None = None,
        *,
        actors: int | None = None,
        rows: int | None = None,
        batches: int = 2,
        room: Room = np.zeros,
    ) -> None:
        """Prepare without starting a game.

        :param search: settings of every search; default: 64 simulations with noise.
        :param actors: threads that play; default: `search.threads`.
        :param rows: leaves of a batch; default: as many as all games fill `batches + 1` batches.
        :param batches: batches that may be under way.
        :param room: gives an array of a shape and dtype for the batches: page-locked memory, say.
        :raises ConfigError: the game is not native, or a setting does not suit it.
        """
        self.search = search or SearchConfig(simulations=64, noise=True)
        if self.search.seconds is not None:
            raise ConfigError(
                f"search.seconds is {self.search.seconds}, but games that depend on a clock are "
                "not reproducible: set search.simulations instead."
            )
        if self.search.hidden != "information_set":
            raise ConfigError(
                f"search.hidden is {self.search.hidden!r}: actors search information sets."
            )
        self.first = spec.first() if encoding is None else spec.first().encoded(encoding)
        Resignation(config, self.first, 1)  # raises if the game has no resignation
        self.config, self.batches = config, batches
        low, high = map(float, self.first.value_range)
        self._played = Played.of(self.first, self.search)
        count = min(actors or self.search.threads, config.games)
        self._native = _native.Actors(
            self.first,
            self.search.native((low, high)),
            {**config.model_dump(), "observations": False},
            seed=seed,
            actors=count,
            rows=rows or max(1, config.games // (batches + 1)),
            batches=batches,
            room=room,
        )
        self._arrays = self._native.arrays()
        self.dropped: list[tuple[int, Exception]] = []
        """The games of the last lease that raised an error: number and error."""
        self.evaluated = (0, 0)
        """Batches evaluated in the last lease, and rows in them."""

    def play(
        self,
        evaluator: EvaluatorLike | AsyncEvaluator[Any],
        first: int,
        count: int,
        positions: Sequence[Sequence[int]] = (),
        watch: Watch | None = None,
    ) -> GameColumns:
        """Play games `first` to `first + count`, each to its end, and return them in this order.

        An exception ends the lease, and the same lease can be played again.

        :param evaluator: as `Forest.run` takes it, or one that has `submit` and `collect`.
        :param positions: positions where games may start (`restart_share`), as the actions that
            lead to them.
        :param watch: called several times a second with the games, positions and simulations so
            far; an exception that it raises ends the lease.
        """
        native = None
        if not isinstance(evaluator, AsyncEvaluator):
            evaluator = evaluator_for(self.first, evaluator)
            native = native_call(evaluator)
        self._native.begin(first, count, [list(each) for each in positions], native)
        try:
            self._evaluate(evaluator, watch)
            columns, self.dropped = self._native.finish()
        except BaseException:
            self._native.stop()
            with suppress(SearchStateError, EvaluationError):
                self._native.finish()
            raise
        self.evaluated = self._native.evaluated()
        return GameColumns(columns, self.first)

    def _evaluate(self, evaluator: Evaluator | AsyncEvaluator[Any], watch: Watch | None) -> None:
        """Evaluate batches until the actors have ended."""
        under_way: deque[tuple[int, BatchLeaves, Any]] = deque()
        while True:
            taken = self._native.take(0 if under_way else PATIENCE)
            if taken is not None:
                batch, rows, legal = taken
                leaves = BatchLeaves(self._played, self._arrays[batch], rows, legal)
                if isinstance(evaluator, AsyncEvaluator):
                    under_way.append((batch, leaves, evaluator.submit(leaves)))
                    if len(under_way) < self.batches:
                        continue
                else:
                    self._answer(batch, leaves, evaluator(leaves))
            if under_way and isinstance(evaluator, AsyncEvaluator):
                batch, leaves, ticket = under_way.popleft()
                self._answer(batch, leaves, evaluator.collect(ticket))
            elif taken is None and self._native.is_over():
                return
            if watch is not None:
                watch(*self._native.progress())

    def _answer(self, batch: int, leaves: BatchLeaves, answer: object) -> None:
        """Hand an evaluation to the actors."""
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise EvaluationError(
                f"The evaluator returned a {type(answer).__name__}: it must return a pair, policy "
                "logits and values."
            )
        leaves.answer(answer[0], answer[1])
        self._native.answer(batch)
