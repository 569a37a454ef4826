"""The actor: plays many games or episodes in parallel, and plans each move with the newest model.

    step   views of the games → search over the model → a move in each → records of finished games

Many games are split into two groups that alternate: while a thread steps the games of one group
(environments can be slow), the other is planned. A model that sets `concurrent` may be called by
both at once. The order of all decisions is fixed, so the games never depend on timing.

Openings, temperature, fast and full searches, resignation and the move limit are those of self-play
with the rules (`sylvan.selfplay`). Differences:

- The search does not use the rules: the actor reads only what a player sees (`game_slots`).
- A truncated episode, by a time limit or the move limit, is searched once more in its last state;
  that value replaces the missing return (`GameRecord.returns`, ending `limit`). Games of several
  seats are adjudicated at the move limit, as in self-play.
- A game that raises an exception is dropped and counted, and another one is started.

Between steps a game is stored as its seed, its actions and its search results. A resumed run
replays them; an episode that then shows another observation is dropped.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sylvan._native import mix
from sylvan.errors import ConfigError
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.gymnasium import repeats
from sylvan.games.naming import GameSpec
from sylvan.muzero.game_slots import try_out
from sylvan.muzero.places import Shop
from sylvan.muzero.planned import PlannedHalf, begun, replayed_exactly
from sylvan.muzero.starts import Starts
from sylvan.muzero.unfinished import Unfinished
from sylvan.planning import LatentModel, SearchConfig
from sylvan.replay.record import GameRecord
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import check_resignation
from sylvan.selfplay.faults import as_game_errors
from sylvan.selfplay.statistics import SelfPlayStatistics

__all__ = ["Actor"]

LEAST_HALF = 64
"""Minimum number of games per group: smaller batches take a model as long."""

TRIED = 8
"""Number of seeds to try if an environment does not start."""


@runtime_checkable
class ConcurrentModel(Protocol):
    """A model that says whether two calls at once are faster than one after the other."""

    @property
    def concurrent(self) -> bool:
        """Whether they are."""


Watch = Callable[[SelfPlayStatistics], Any]
Moved = Callable[[], None]

WATCH_INTERVAL = 0.1
"""Minimum seconds between two calls of `watch`."""


class Actor:
    """Plays games, and keeps those in progress from step to step.

    >>> import numpy as np
    >>> class Guess:
    ...     '''A uniform policy, value 0 and reward 0.'''
    ...     def initial_inference(self, observations):
    ...         n = len(observations)
    ...         return np.zeros(n), np.zeros(n), np.zeros((n, 9)), np.zeros((n, 1))
    ...     def recurrent_inference(self, hidden, actions):
    ...         n = len(actions)
    ...         return np.zeros(n), np.zeros(n), np.zeros((n, 9)), hidden
    >>> actor = Actor(GameSpec("tictactoe"), SelfPlayConfig(games=8, positions=64), seed=1)
    >>> records = actor.play(Guess(), step=0)
    >>> len(records) == actor.statistics.games > 0
    True
    """

    def __init__(
        self,
        spec: GameSpec,
        config: SelfPlayConfig,
        seed: int,
        search: SearchConfig | None = None,
        encoding: Encoding | None = None,
    ) -> None:
        """Create an actor without games.

        :param search: settings of every search; default: 50 simulations with noise.
        """
        if spec.is_gymnasium and config.restart_share:
            raise ConfigError(
                f"selfplay.restart_share is {config.restart_share}, but episodes of {spec.name} "
                "can only start from the environment's reset: set it to 0."
            )
        self.spec, self.config, self.seed = spec, config, seed
        self.search = search or SearchConfig(simulations=50, noise=True)
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
        check_resignation(config, first)
        self._example = None if spec.is_native else self._observation()
        self.notes: list[str] = []
        """Sentences for the user about lost episodes."""
        self._live: list[Game] | None = None
        """The current states of the games in progress; None if they must be replayed first."""
        if spec.is_gymnasium:
            if not self._repeats():
                self.notes.append(
                    f"{spec.name} is not deterministic for a given seed and actions: a resumed "
                    "run restarts its episodes."
                )
        elif not spec.is_native:
            with as_game_errors(spec):
                try_out(self._starts.first(), spec.short_name, seed)

    def _repeats(self) -> bool:
        """Whether an environment is deterministic for a given seed and actions.

        If it does not start with a seed, try the next; True if it never starts.
        """
        for seed in range(self.seed, self.seed + TRIED):
            with contextlib.suppress(Exception):
                return repeats(self.spec.episode(seed), self.spec.episode(seed))
        return True

    def _observation(self) -> NDArray[Any]:
        """An example observation, from the first game that starts."""
        if not self.spec.is_gymnasium:
            with as_game_errors(self.spec):
                return np.asarray(self._starts.copy().next().state.observation())
        shop = Shop(self.config, self._starts.copy(), 0, None)
        return np.asarray(begun(shop)[0].state.observation())

    def play(self, model: LatentModel, step: int, watch: Watch | None = None) -> list[GameRecord]:
        """Search `config.positions` positions; return the records of the games that ended.

        If an exception is raised, the games stay as they were before the step.

        :param model: as `LatentSearch` takes it; values `[B, S]` start with the seat to move,
            rewards `[B, S]` with the seat that made the step.
        :param step: of the run; all random choices depend only on seed and step.
        :param watch: called with the statistics so far, several times a second; an exception that
            it raises ends the step.
        """
        began = time.perf_counter()
        shop = Shop(self.config, self._starts.copy(), step, self._example)
        live, self._live = self._live, None  # until the step has succeeded
        games, states = self._at_work(shop, live)
        two = len(games) >= 2 * (LEAST_HALF if self.config.halves is None else 1)
        middle = (len(games) + 1) // 2
        edges = [0, middle, len(games)] if two and self.config.halves != 1 else [0, len(games)]
        halves = [
            PlannedHalf(
                shop,
                games.part(start, end),
                states[start:end],
                model,
                self._settings(len(edges) - 1, step, number),
                self._rng(step, number),
            )
            for number, (start, end) in enumerate(itertools.pairwise(edges))
        ]
        statistics = shop.statistics
        moved = throttled(watch, statistics, began)
        # A step with few positions may end before the second half's turn, so they alternate in
        # being first.
        together = isinstance(model, ConcurrentModel) and model.concurrent
        take_turns(halves[step % 2 :] + halves[: step % 2], moved, together=together)
        statistics.seconds = time.perf_counter() - began
        planned = sum(half.seconds for half in halves) / (len(halves) if together else 1)
        statistics.network_seconds = planned
        statistics.search_seconds = statistics.seconds - planned
        self._games = Unfinished.joined([half.unfinished() for half in halves])
        self._starts, self.statistics = shop.starts, statistics
        self._live = [half.state(slot) for half in halves for slot in range(len(half))]
        return shop.records

    def _at_work(self, shop: Shop, live: list[Game] | None) -> tuple[Unfinished, list[Game]]:
        """The configured number of games in progress, and their states."""
        parts: list[Unfinished] = []
        states: list[Game] = []
        if self._games is not None:
            games = self._games.part(0, self.config.games)
            if live is None:
                games, states = self._replayed(games, shop)
            else:
                states = live[: len(games)]
            parts = [games] if len(games) else []
        new = [begun(shop) for _ in range(self.config.games - len(states))]
        if new:
            rows = [(start.number, start.seed, play_on, start.plies) for start, play_on in new]
            parts.append(Unfinished.new(rows, self._seats))
            states += [start.state for start, _ in new]
        return Unfinished.joined(parts), states

    def _replayed(self, games: Unfinished, shop: Shop) -> tuple[Unfinished, list[Game]]:
        """Replay games in progress; drop those whose observations differ."""
        plies = games.plies.split(games.lengths)
        states = [
            replayed_exactly(shop.starts, seed, each)
            for seed, each in zip(games.seeds.tolist(), plies, strict=True)
        ]
        kept = [index for index, state in enumerate(states) if state is not None]
        lost = len(games) - len(kept)
        if lost:
            shop.statistics.dropped += lost
            self.notes.append(
                f"{lost} of {len(games)} episodes in progress were dropped: {self.spec.name} shows "
                "other observations for the same seed and actions."
            )
            parts = [games.part(index, index + 1) for index in kept]
            games = Unfinished.joined(parts) if parts else games.part(0, 0)
        return games, [state for state in states if state is not None]

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
        self._games, self._live = games, None


def throttled(watch: Watch | None, statistics: SelfPlayStatistics, began: float) -> Moved:
    """A function to call after every move; it calls `watch` at most ten times a second."""
    last = began

    def moved() -> None:
        nonlocal last
        now = time.perf_counter()
        if watch is not None and now - last >= WATCH_INTERVAL:
            last, statistics.seconds = now, now - began
            watch(statistics)

    return moved


def take_turns(halves: list[PlannedHalf], moved: Moved, *, together: bool) -> None:
    """Plan and step all halves until they have searched enough positions.

    :param together: whether two halves may be planned at once, so that one half's trees are
        searched while the device computes for the other; else only steps run in parallel.
    """
    if len(halves) == 1:
        while halves[0].begins():
            halves[0].plan_and_step()
            halves[0].settle()
            moved()
        return
    waiting: dict[int, Future[None]] = {}
    with ThreadPoolExecutor(len(halves), thread_name_prefix="sylvan-actor") as pool:

        def next_round(number: int) -> None:
            half = halves[number]
            if not half.begins():
                return
            if not together:
                half.plan()
            waiting[number] = pool.submit(half.plan_and_step if together else half.step)

        for number in range(len(halves)):
            next_round(number)
        while waiting:
            for number, half in enumerate(halves):
                if number in waiting:
                    waiting.pop(number).result()
                    half.settle()
                    moved()
                    next_round(number)
