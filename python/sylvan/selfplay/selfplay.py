"""Self-play: play many games in parallel with the newest network.

    step   games in progress → search → move → search → … → records of finished games

Two forests alternate, each with half of the games (`halves.py`). A move is sampled from the policy
target with a temperature (`temperature.py`); `openings.py` starts games and `ending.py` ends them
early. Moves and search results are collected per game (`diary.py`) and become its record at the
end.

Trees are dropped after each step, because the next one has another network. Between steps a game is
stored as its actions and search results, so an interrupted run resumes bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import mix
from sylvan.errors import ConfigError
from sylvan.evaluators import AsyncEvaluator, Cached, Evaluator, EvaluatorLike, evaluator_for
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

WATCH_INTERVAL = 0.1
"""Minimum seconds between two calls of `watch`."""


class SelfPlay:
    """Plays games, and keeps those in progress from step to step.

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
        """Prepare without starting a game.

        :param search: settings of every search; default: 64 simulations with noise.
        """
        self.spec, self.config, self.seed, self.encoding = spec, config, seed, encoding
        self.search = search or SearchConfig(simulations=64, noise=True)
        if self.search.seconds is not None:
            raise ConfigError(
                f"search.seconds is {self.search.seconds}, but games that depend on a clock are "
                "not reproducible: set search.simulations instead."
            )
        self.statistics = SelfPlayStatistics()
        """The statistics of the last step."""
        self._starts = Starts(spec, config, mix(seed, 0), encoding)
        self._games: Unfinished | None = None
        first = self._starts.first()
        self._seats = first.num_players
        Resignation(config, first, 1)  # raises if the game has no resignation
        self._example = None if spec.is_native else self._observation()

    def play(
        self, evaluator: EvaluatorLike | AsyncEvaluator[Any], step: int, watch: Watch | None = None
    ) -> list[GameRecord]:
        """Search `config.positions` positions; return the records of the games that ended.

        If an exception is raised, the games stay as they were before the step.

        :param evaluator: as `Forest.run` takes it, or one that has `submit` and `collect`.
        :param step: of the run; all random choices depend only on seed and step.
        :param watch: called with the statistics so far, several times a second; an exception that
            it raises ends the step.
        """
        began = time.perf_counter()
        if not isinstance(evaluator, AsyncEvaluator):
            evaluator = evaluator_for(self._starts.first(), evaluator)
        shop = Shop(self.config, self._starts.copy(), step, self._example)
        cached = _cache(evaluator)
        games = self._in_progress(shop)
        middle = (len(games) + 1) // 2
        parts = [games.part(0, middle), games.part(middle, len(games))][: len(games)]
        kind = HiddenHalf if hides(self._starts.first()) else Half
        halves = [
            kind(shop, part, self._settings(len(parts), step, number), self._rng(step, number))
            for number, part in enumerate(parts)
        ]
        with Evaluation(evaluator) as evaluation:
            statistics = shop.statistics
            moved = throttled(watch, statistics, began, lambda: evaluation.seconds)
            # A step with few positions may end before the second half's turn, so they alternate
            # in being first.
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
        """An example observation; the first state may be a chance node, which has none."""
        with blamed(self._starts):
            return np.asarray(self._starts.copy().next().state.observation())

    def _in_progress(self, shop: Shop) -> Unfinished:
        """The configured number of games in progress."""
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
        """The random generator of a half in a step."""
        key = np.array([mix(self.seed, 1 + step), number], np.uint64)
        return np.random.Generator(np.random.Philox(key=key))

    def state_dict(self) -> dict[str, Any]:
        """The state that the next step depends on, besides the settings: arrays and integers."""
        games = {} if self._games is None else self._games.state_dict()
        return games | self._starts.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state from `state_dict`.

        :raises ConfigError: it belongs to a game with another number of seats.
        """
        games = Unfinished.from_state_dict(state) if "numbers" in state else None
        if games is not None and games.low_turns.shape[1:] != (self._seats,):
            raise ConfigError(
                f"The games in progress have {games.low_turns.shape[-1]} seats, but "
                f"{self.spec.name} has {self._seats}: resume with the same game."
            )
        self._starts.load_state_dict(state)
        self._games = games


def throttled(
    watch: Watch | None,
    statistics: SelfPlayStatistics,
    began: float,
    in_network: Callable[[], float] = lambda: 0.0,
) -> Callable[[], None]:
    """A function to call after every move; it calls `watch` at most ten times a second."""
    last = began

    def moved() -> None:
        nonlocal last
        now = time.perf_counter()
        if watch is not None and now - last >= WATCH_INTERVAL:
            last, statistics.seconds = now, now - began
            statistics.network_seconds = in_network()
            watch(statistics)

    return moved


def take_turns(halves: list[Half], evaluation: Evaluation, moved: Callable[[], None]) -> int:
    """Search and move all halves until they have searched enough positions.

    Return the number of batches.
    """
    tickets: dict[int, Any] = {}
    batches = 0

    def next_batch(number: int) -> None:
        nonlocal batches
        leaves = halves[number].next(moved)
        if leaves is not None:
            tickets[number] = evaluation.submit(leaves)
            batches += 1

    for number in range(len(halves)):
        next_batch(number)
    while tickets:
        for number, half in enumerate(halves):
            if number in tickets:
                half.update(*evaluation.collect(tickets.pop(number)))
                next_batch(number)
    return batches


def _cache(evaluator: Evaluator | AsyncEvaluator[Any]) -> tuple[int, int]:
    """Lookups and hits of an evaluator's cache; zeros without a cache."""
    return (evaluator.lookups, evaluator.hits) if isinstance(evaluator, Cached) else (0, 0)
