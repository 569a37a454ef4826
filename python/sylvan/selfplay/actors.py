"""Actors play games in Rust, on their own threads; this thread only evaluates batches.

    lease → actors → batches → evaluator → answers → actors → games as columns

A lease is a range of game numbers. Its games depend on the seed, their numbers and the evaluations,
never on the number of actors, the rows of a batch or timing
(`crates/sylvan-core/src/selfplay/actor.rs` gives the reasons).

Several batches are under way: while one is evaluated, actors fill others. An evaluator with
`submit(leaves) -> ticket` and `collect(ticket)` gets each batch as soon as it is full, and with
`ready(ticket)` this thread never waits for an evaluation; any other evaluator is called once per
batch. Native evaluators run in the actors.

Two leases may be played at once, each by its own `Actors` and its own evaluator, so that batches
stay full while the last games of one end (`attend`).

Games written in Python are played by one actor, which holds the interpreter's lock while it resumes
the games of a batch.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.errors import ConfigError, EvaluationError, SearchStateError
from sylvan.evaluators import AsyncEvaluator, Cached, Evaluator, EvaluatorLike, evaluator_for
from sylvan.evaluators.native import native_call
from sylvan.evaluators.protocol import is_ready
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.planning.roots import hides, seen_by_mover
from sylvan.selfplay.batch_leaves import BatchLeaves, Played
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import check_resignation
from sylvan.selfplay.faults import as_game_errors
from sylvan.selfplay.game_columns import GameColumns

__all__ = ["Actors", "Room", "Watch", "attend", "batch_rows"]

PATIENCE = 0.05
"""Seconds to wait for a batch before signals and `watch` are served."""

POLL = 0.0001
"""Seconds to wait for a batch before the evaluations under way are looked at again: a device does
not ring."""

Room = Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]]
Watch = Callable[[int, int, int], object]


def batch_rows(config: SelfPlayConfig) -> int:
    """Rows of a batch, such that the games fill one batch while the others are under way."""
    return max(1, config.games // (config.batches + 1))


class Actors:
    """Plays games by actors.

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
        room: Room = np.zeros,
        bell: _native.Bell | None = None,
    ) -> None:
        """Prepare without starting a game.

        :param search: settings of every search; default: 64 simulations with noise.
        :param actors: threads that play; default: `search.threads`.
        :param rows: leaves of a batch; default: `batch_rows(config)`.
        :param room: allocates arrays for the batches from shape and dtype, for example page-locked.
        :param bell: rings when a batch is full; shared by actors that are attended together.
        :raises ConfigError: a setting does not suit the game.
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
        check_resignation(config, self.first)
        self.config = config
        self.rows = rows or batch_rows(config)
        self.bell = bell or _native.Bell()
        with as_game_errors(spec):
            searched = _searched(self.first)
        low, high = map(float, searched.value_range)
        self._played = Played.of(searched, self.search)
        with as_game_errors(spec):
            self._native = _native.Actors(
                self.first,
                self.search.native((low, high)),
                {**config.model_dump(), "observations": not spec.is_native},
                seed=seed,
                actors=min(actors or self.search.threads, config.games),
                rows=self.rows,
                batches=config.batches,
                room=room,
                bell=self.bell,
            )
        self._arrays = self._native.arrays()
        self._evaluator: Evaluator | AsyncEvaluator[Any]
        self._under_way: deque[tuple[int, BatchLeaves, Any]] = deque()
        self._count, self._cached = 0, (0, 0)
        self.dropped: list[tuple[int, Exception]] = []
        """The games of the last lease that raised an error: number and error."""
        self.evaluated = (0, 0)
        """Batches evaluated in the last lease, and rows in them."""
        self.cache = (0, 0)
        """Lookups and hits of the evaluator's cache in the last lease."""
        self.seconds = 0.0
        """Time inside evaluators, in all leases."""
        self.handling = 0.0
        """Time in which this thread handed batches over, beside the evaluation itself."""
        self.submitted = self.queued = 0
        """Batches submitted, and the sum over them of those then under way."""

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
        self.begin(evaluator, first, count, positions)
        try:
            while not self.is_over:
                attend([self])
                if watch is not None:
                    watch(*self.progress)
            return self.finish()
        except BaseException:
            self.stop()
            raise

    # --- the same in parts, for several leases at once --------------------------------------------

    def begin(
        self,
        evaluator: EvaluatorLike | AsyncEvaluator[Any],
        first: int,
        count: int,
        positions: Sequence[Sequence[int]] = (),
    ) -> None:
        """Start to play a lease; the parameters are those of `play`."""
        native = None
        if not isinstance(evaluator, AsyncEvaluator):
            evaluator = evaluator_for(self.first, evaluator)
            native = native_call(evaluator)
        self._native.begin(first, count, [list(each) for each in positions], native)
        self._evaluator, self._count, self._cached = evaluator, count, _cache(evaluator)

    def submit(self) -> bool:
        """Give a full batch to the evaluator; False if there is none."""
        if len(self._under_way) >= self.config.batches:
            return False
        begun = time.perf_counter()
        taken = self._native.take()
        if taken is None:
            return False
        batch, rows, legal = taken
        leaves = BatchLeaves(self._played, self._arrays[batch], rows, legal)
        began = time.perf_counter()
        if isinstance(self._evaluator, AsyncEvaluator):
            self._under_way.append((batch, leaves, self._evaluator.submit(leaves)))
            self.submitted += 1
            self.queued += len(self._under_way)
            ended = time.perf_counter()
            self.handling += ended - begun
        else:
            answer = self._evaluator(leaves)
            ended = time.perf_counter()
            self._answer(batch, leaves, answer)
            self.handling += began - begun + time.perf_counter() - ended
        self.seconds += ended - began
        return True

    def collect(self) -> bool:
        """Hand the oldest evaluation under way to the actors if it is ready; False if not.

        It waits for an evaluator that cannot say whether it is ready.
        """
        if not self._under_way or not isinstance(self._evaluator, AsyncEvaluator):
            return False
        batch, leaves, ticket = self._under_way[0]
        if not is_ready(self._evaluator, ticket):
            return False
        self._under_way.popleft()
        began = time.perf_counter()
        answer = self._evaluator.collect(ticket)
        self.seconds += time.perf_counter() - began
        self._answer(batch, leaves, answer)
        if hasattr(self._evaluator, "ready"):  # otherwise most of this is waiting
            self.handling += time.perf_counter() - began
        return True

    @property
    def is_evaluating(self) -> bool:
        """Whether an evaluation is under way."""
        return bool(self._under_way)

    @property
    def is_over(self) -> bool:
        """Whether all games of the lease are over or given up."""
        return not self._under_way and self._native.is_over()

    @property
    def all_started(self) -> bool:
        """Whether all games of the lease have started, so that batches fill more slowly."""
        return self._native.progress()[0] == self._count

    @property
    def progress(self) -> tuple[int, int, int]:
        """Games over, positions and simulations of the lease so far."""
        return self._native.progress()[1:]

    @property
    def evaluated_so_far(self) -> tuple[int, int]:
        """Batches evaluated in the lease so far, and rows in them."""
        return self._native.evaluated()

    def finish(self) -> GameColumns:
        """The games of a lease that is over; afterwards another one can begin.

        :raises EvaluationError: the evaluator gave a bad answer.
        """
        columns, self.dropped = self._native.finish()
        self.evaluated = self.evaluated_so_far
        lookups, hits = _cache(self._evaluator)
        self.cache = lookups - self._cached[0], hits - self._cached[1]
        return GameColumns(columns, self.first)

    def stop(self) -> None:
        """Give up the lease; it can be played again."""
        self._native.stop()
        while self._under_way and isinstance(self._evaluator, AsyncEvaluator):
            with suppress(Exception):  # its memory may be used again afterwards
                self._evaluator.collect(self._under_way.popleft()[2])
        self._under_way.clear()
        with suppress(SearchStateError, EvaluationError):
            self._native.finish()

    def _answer(self, batch: int, leaves: BatchLeaves, answer: object) -> None:
        """Hand an evaluation to the actors."""
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise EvaluationError(
                f"The evaluator returned a {type(answer).__name__}: it must return a pair, policy "
                "logits and values."
            )
        leaves.answer(answer[0], answer[1])
        self._native.answer(batch)


def _cache(evaluator: Evaluator | AsyncEvaluator[Any]) -> tuple[int, int]:
    """Lookups and hits of an evaluator's cache; zeros without a cache."""
    return (evaluator.lookups, evaluator.hits) if isinstance(evaluator, Cached) else (0, 0)


def _searched(first: Game) -> Game:
    """The state to search first: the view of the first seat to move if anything is hidden."""
    if not hides(first):
        return first
    state = first.clone()
    while state.is_chance():
        state.apply(state.chance_outcomes()[0][0])
    return seen_by_mover(state)


def attend(playing: Sequence[Actors]) -> float:
    """Submit or collect one batch of actors that share a bell; the first actors with a full batch
    win. If there is none, wait a little.

    Return the seconds waited while nothing was evaluated. Waiting for an evaluation counts as time
    inside the evaluator.
    """
    bell = playing[0].bell
    rings = bell.rings()
    if any(each.submit() for each in playing) or any(each.collect() for each in playing):
        return 0.0
    evaluating = next((each for each in playing if each.is_evaluating), None)
    began = time.perf_counter()
    bell.wait(rings, PATIENCE if evaluating is None else POLL)
    waited = time.perf_counter() - began
    if evaluating is None:
        return waited
    evaluating.seconds += waited
    return 0.0
