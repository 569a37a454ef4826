"""Self-play: many games at once, against oneself, with the newest network.

    step   games in progress → search → move → search → … → records of those that ended

Games live in two half-forests that take turns (`halves.py`). A move is drawn from the policy target
at a temperature (`temperature.py`); games start as `openings.py` and end as `ending.py` say. What
was played and thought goes into a diary (`diary.py`) and, when a game is over, into its record.

Trees live for one step: the next one has another network. Between steps a game is nothing but its
actions and what was thought of them, so a run that is cut off goes on from there to the bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import mix
from sylvan.errors import ConfigError
from sylvan.evaluators import evaluator_for
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.planning.roots import hides
from sylvan.replay.record import GameRecord
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import Resignation
from sylvan.selfplay.evaluation import Evaluation
from sylvan.selfplay.halves import Half
from sylvan.selfplay.hidden_halves import HiddenHalf
from sylvan.selfplay.openings import Starts
from sylvan.selfplay.places import Shop, blamed
from sylvan.selfplay.statistics import SelfPlayStatistics
from sylvan.selfplay.unfinished import Unfinished

__all__ = ["SelfPlay", "SelfPlayConfig", "SelfPlayStatistics"]

Watch = Callable[[SelfPlayStatistics], Any]

WATCHED = 0.1
"""Seconds between two calls of `watch`."""


class SelfPlay:
    """Games in progress, played on step by step.

    >>> config = SelfPlayConfig(games=8, positions=64)
    >>> selfplay = SelfPlay(GameSpec("tictactoe"), config, seed=1)
    >>> records = selfplay.play("uniform", step=0)
    >>> len(records) == selfplay.statistics.games > 0
    True
    """

    def __init__(
        self,
        spec: GameSpec,
        config: SelfPlayConfig,
        seed: int,
        encoding: Encoding | None = None,
        search: SearchConfig | None = None,
    ) -> None:
        """Prepare to play; no game has begun.

        :param search: of every move; default: 64 simulations with noise.
        """
        self.spec, self.config, self.seed, self.encoding = spec, config, seed, encoding
        self.search = search or SearchConfig(simulations=64, noise=True)
        if self.search.seconds is not None:
            raise ConfigError(
                f"search.seconds is {self.search.seconds}, but games that depend on a clock cannot "
                "be played again: limit simulations in self-play."
            )
        self.statistics = SelfPlayStatistics()
        """Of the last step."""
        self._starts = Starts(spec, config, mix(seed, 0), encoding)
        self._games: Unfinished | None = None
        first = self._starts.first()
        self._seats = first.num_players
        Resignation(config, first, 1)  # says so if the game has none
        self._example = None if spec.is_native else self._observation()

    def play(self, evaluator: Any, step: int, watch: Watch | None = None) -> list[GameRecord]:
        """Search `config.positions` positions; the records of the games that ended meanwhile.

        If anything fails, the games stay as they were before the step.

        :param evaluator: as `Forest.run` takes it, or one that has `submit` and `collect`.
        :param step: of the run; all that is random in it follows from seed and step.
        :param watch: called with the statistics so far, some times a second; what it raises ends
            the step.
        """
        began = time.perf_counter()
        if not hasattr(evaluator, "submit"):
            evaluator = evaluator_for(self._starts.first(), evaluator)
        shop = Shop(self.config, self._starts.copy(), step, self._example)
        cached = _cache(evaluator)
        games = self._begun(shop)
        middle = (len(games) + 1) // 2
        parts = [games.part(0, middle), games.part(middle, len(games))][: len(games)]
        kind = HiddenHalf if hides(self._starts.first()) else Half
        halves = [
            kind(shop, part, self._settings(len(parts), step, number), self._rng(step, number))
            for number, part in enumerate(parts)
        ]
        with Evaluation(evaluator) as evaluation:
            statistics = shop.statistics
            moved = told(watch, statistics, began, lambda: evaluation.seconds)
            # With few positions a step may be over before the second half's turn: the halves take
            # turns in coming first.
            order = halves[step % 2 :] + halves[: step % 2]
            statistics.batches = take_turns(order, evaluation, moved)
            statistics.seconds = time.perf_counter() - began
            statistics.network_seconds = evaluation.seconds
            statistics.search_seconds = statistics.seconds - evaluation.waited
        for counter, before, now in zip(
            ("cache_lookups", "cache_hits"), cached, _cache(evaluator), strict=True
        ):
            setattr(statistics, counter, now - before)
        self._games = Unfinished.joined([half.unfinished() for half in halves])
        self._starts, self.statistics = shop.starts, statistics
        return shop.records

    def _observation(self) -> NDArray[Any]:
        """An example of what a seat sees; in the first state chance may be to move."""
        with blamed(self._starts):
            return np.asarray(self._starts.copy().next().state.observation())

    def _begun(self, shop: Shop) -> Unfinished:
        """As many games in progress as there should be."""
        games = [] if self._games is None else [self._games]
        missing = self.config.games - sum(map(len, games))
        with blamed(shop.starts):
            games += [shop.new_games(missing, self._seats)] if missing > 0 else []
        return Unfinished.joined(games).part(0, self.config.games)

    def _settings(self, parts: int, step: int, number: int) -> SearchConfig:
        """The settings of a half's searches."""
        memory = self.search.bytes
        return self.search.replace(
            seed=mix(mix(self.seed, 1 + step), number),
            bytes=None if memory is None else max(65536, memory // parts),
        )

    def _rng(self, step: int, number: int) -> np.random.Generator:
        """For all that a half draws in a step."""
        key = np.array([mix(self.seed, 1 + step), number], np.uint64)
        return np.random.Generator(np.random.Philox(key=key))

    def state_dict(self) -> dict[str, Any]:
        """All that the next step depends on, besides the settings: arrays and whole numbers."""
        games = {} if self._games is None else self._games.state_dict()
        return games | self._starts.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave.

        :raises ConfigError: it is of a game with another number of seats.
        """
        games = Unfinished.from_state_dict(state) if "numbers" in state else None
        if games is not None and games.low_turns.shape[1:] != (self._seats,):
            raise ConfigError(
                f"The games in progress have {games.low_turns.shape[-1]} seats, but "
                f"{self.spec.name} has {self._seats}: go on with the game that they are of."
            )
        self._starts.load_state_dict(state)
        self._games = games


def told(
    watch: Watch | None,
    statistics: SelfPlayStatistics,
    began: float,
    in_network: Callable[[], float] = lambda: 0.0,
) -> Callable[[], None]:
    """What to call after every move, so that `watch` is called some times a second."""
    last = began

    def moved() -> None:
        nonlocal last
        now = time.perf_counter()
        if watch is not None and now - last >= WATCHED:
            last, statistics.seconds = now, now - began
            statistics.network_seconds = in_network()
            watch(statistics)

    return moved


def take_turns(halves: list[Half], evaluation: Evaluation, moved: Callable[[], None]) -> int:
    """Search and move all halves until they have searched enough; the number of batches."""
    tickets: dict[int, Any] = {}
    batches = 0

    def go_on(number: int) -> None:
        nonlocal batches
        leaves = halves[number].next(moved)
        if leaves is not None:
            tickets[number] = evaluation.submit(leaves)
            batches += 1

    for number in range(len(halves)):
        go_on(number)
    while tickets:
        for number, half in enumerate(halves):
            if number in tickets:
                half.update(*evaluation.collect(tickets.pop(number)))
                go_on(number)
    return batches


def _cache(evaluator: Any) -> tuple[int, int]:
    """Lookups and hits of an evaluator that remembers; zeros for another."""
    return int(getattr(evaluator, "lookups", 0)), int(getattr(evaluator, "hits", 0))
