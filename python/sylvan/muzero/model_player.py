"""Plays leases with a learned model: moves are planned in the model, and made in the real games.

    lease → slots → views → search over the model → moves → games as columns

What is played follows from the seed, the numbers of the games, the network and where episodes were
cut (`sylvan.selfplay.leases`), never from the number of slots, groups or processes, if the model
gives a position the same numbers in every batch.

The games take turns in one group. Two groups alternate, so that one is planned while the games of
the other step, if the model says that two calls at once are faster than one after the other
(`concurrent`: a GPU), or if games step in other processes.

Openings, temperature, fast and full searches, resignation and the move limit are those of actors.
Differences: the search does not use the rules, only what a player sees; and long episodes of one
seat are played in parts (`game_group.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from sylvan._native import Rng, mix
from sylvan.errors import ConfigError
from sylvan.evaluators.splitting import processors
from sylvan.games.encoding import Encoding
from sylvan.games.gymnasium import repeats
from sylvan.games.naming import GameSpec
from sylvan.muzero.game_group import GameGroup
from sylvan.muzero.game_keeper import GameKeeper
from sylvan.muzero.game_processes import GameProcesses
from sylvan.muzero.game_slots import GameSlots, Keeps, NativeGameSlots, PythonGameSlots
from sylvan.muzero.lease_book import LeaseBook
from sylvan.muzero.starts import Starts
from sylvan.muzero.turns import try_out
from sylvan.planning import LatentModel, SearchConfig
from sylvan.selfplay.actors import PATIENCE
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import check_resignation
from sylvan.selfplay.faults import as_game_errors, is_out_of_memory
from sylvan.selfplay.lease_player import WATCH_INTERVAL, Load, PlayedLease, Watch
from sylvan.selfplay.leases import Lease, cut_episodes
from sylvan.selfplay.statistics import SelfPlayStatistics

__all__ = ["ConcurrentModel", "ModelPlayer"]

LEAST_GROUP = 64
"""Minimum number of games per group: smaller batches take a device as long."""

SLOW = 1e-3
"""Seconds of a step from which on games step in other processes."""

TIMED_STEPS = 16
"""Number of steps to time."""

TRIED = 8
"""Number of seeds to try if an environment does not start."""


@runtime_checkable
class ConcurrentModel(Protocol):
    """A model that says whether two calls at once are faster than one after the other."""

    @property
    def concurrent(self) -> bool:
        """Whether they are."""


class ModelPlayer:
    """Plays leases with models.

    >>> import numpy as np
    >>> class Guess:
    ...     '''A uniform policy, value 0 and reward 0.'''
    ...     def initial_inference(self, observations):
    ...         n = len(observations)
    ...         return np.zeros(n), np.zeros(n), np.zeros((n, 9)), np.zeros((n, 1))
    ...     def recurrent_inference(self, hidden, actions):
    ...         n = len(actions)
    ...         return np.zeros(n), np.zeros(n), np.zeros((n, 9)), hidden
    >>> player = ModelPlayer(GameSpec("tictactoe"), SelfPlayConfig(games=8), seed=1)
    >>> games = player.play(Lease(1, 0, first=0, count=16), [], lambda lease: Guess()).games
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
        cores: int | None = None,
    ) -> None:
        """Prepare without starting a game.

        :param search: settings of every search; default: 50 simulations with noise.
        :param cores: processes in which slow games step, if `selfplay.processes` does not say;
            default: one per available CPU core.
        :raises ConfigError: a setting does not suit the game, or a model cannot be learned of it.
        """
        if spec.is_gymnasium and config.restart_share:
            raise ConfigError(
                f"selfplay.restart_share is {config.restart_share}, but episodes of {spec.name} "
                "can only start from the environment's reset: set it to 0."
            )
        self.spec, self.config, self.seed = spec, config, mix(seed, 0)
        self.search = search or SearchConfig(simulations=50, noise=True)
        if self.search.seconds is not None:
            raise ConfigError(
                f"search.seconds is {self.search.seconds}, but games that depend on a clock are "
                "not reproducible: set search.simulations instead."
            )
        self.notes: list[str] = []
        """Sentences for the user."""
        self.slots = config.games
        """Games that are played at once."""
        self._cores = cores or processors()
        self._starts = Starts(spec, config, encoding)
        self._first = spec.first() if spec.is_gymnasium else self._starts.first(0)
        check_resignation(config, self._first)
        self._keeper: Keeps | None = None
        if not spec.is_native:
            self._check(seed)
            self._keeper = self._new_keeper(encoding, seed)
        self._groups: list[GameGroup] = []

    def _check(self, seed: int) -> None:
        """Report early what cannot be learned, or not be repeated."""
        if not self.spec.is_gymnasium:
            with as_game_errors(self.spec):
                try_out(self._starts.first(seed), self.spec.short_name, seed)
        elif not self._repeats(seed):
            self.notes.append(
                f"{self.spec.name} is not deterministic for a given seed and actions: a resumed "
                "run drops its long episodes in progress."
            )

    def _repeats(self, seed: int) -> bool:
        """Whether an environment is deterministic for a given seed and actions.

        If it does not start with a seed, try the next; True if it never starts.
        """
        for tried in range(seed, seed + TRIED):
            with suppress(Exception):
                return repeats(self.spec.episode(tried), self.spec.episode(tried))
        return True

    def _new_keeper(self, encoding: Encoding | None, seed: int) -> Keeps:
        """Make the games' keeper: in this process, or in others if moves are slow."""
        parts, count = (self.spec, self.config, encoding), self.config.processes
        if count is None and self._step_takes(seed) > SLOW:
            apart = GameProcesses(*parts, count=self._cores)
            if apart.ready():
                return apart
        return GameProcesses(*parts, count=count) if count else GameKeeper(*parts)

    def _step_takes(self, seed: int) -> float:
        """Median seconds of a step of some random moves; 0 if the game fails."""
        rng, seconds = Rng(seed), list[float]()
        with suppress(Exception):
            state = self._starts.first(seed)
            while len(seconds) < TIMED_STEPS and not state.is_terminal():
                legal = state.legal_actions()
                began = time.perf_counter()
                state.apply(int(legal[rng.below(len(legal))]))
                seconds.append(time.perf_counter() - began)
        return sorted(seconds)[len(seconds) // 2] if seconds else 0.0

    def play(
        self,
        lease: Lease,
        following: Sequence[Lease],  # noqa: ARG002 (it would use the same threads)
        load: Load,
        watch: Watch | None = None,
    ) -> PlayedLease:
        """Play a lease to its end. If an exception is raised, it can be played again.

        If the device has not enough memory, the lease is played again with half of the games at
        once, which does not change them; the second time the error is raised.

        :param load: gives the model of the lease, as `LatentSearch` takes it; values `[B, S]`
            start with the seat to move, rewards `[B, S]` with the seat that made the step.
        :param watch: called with the statistics so far, several times a second; an exception that
            it raises ends the lease.
        """
        try:
            return self._play(lease, load(lease), watch)
        except Exception as error:
            if not is_out_of_memory(error) or self.slots < self.config.games or self.slots == 1:
                raise
            self.slots //= 2
            self.notes.append(
                f"The device has not enough memory for {self.config.games} games at once: "
                f"{self.slots} are played at once from now on. To keep it, set selfplay.games="
                f"{self.slots}."
            )
        return self._play(lease, load(lease), watch)

    def _play(self, lease: Lease, model: LatentModel, watch: Watch | None) -> PlayedLease:
        began = time.perf_counter()
        book = LeaseBook(
            lease,
            self.config,
            self.seed,
            self._first.num_players,
            observed=self._keeper is not None,
        )
        watched = began

        def moved() -> None:
            nonlocal watched
            now = time.perf_counter()
            if watch is not None and now - watched >= WATCH_INTERVAL:
                watched = now
                watch(
                    SelfPlayStatistics(
                        games=book.over,
                        positions=book.positions,
                        simulations=book.simulations,
                        seconds=now - began,
                    )
                )

        try:
            with as_game_errors(self.spec):
                self._groups = self._new_groups(book, lease, model)
            take_turns(self._groups, moved, self._give_up)
        except BaseException:
            self.stop()
            raise
        found = SelfPlayStatistics(seconds=time.perf_counter() - began)
        planned = sum(group.seconds for group in self._groups) / max(1, len(self._groups))
        found.network_seconds, found.search_seconds = planned, found.seconds - planned
        found.batches, found.rows = book.batches, book.rows
        found.capacity = book.batches * -(-self.slots // max(1, len(self._groups)))
        self._groups = []
        games = book.log.columns(self._first)
        return PlayedLease(games, book.dropped, found, cut_episodes(lease, games))

    def _new_groups(self, book: LeaseBook, lease: Lease, model: LatentModel) -> list[GameGroup]:
        """Groups with the first games of a lease."""
        slots = min(self.slots, lease.count)
        together = isinstance(model, ConcurrentModel) and model.concurrent
        apart = isinstance(self._keeper, GameProcesses)
        number = 2 if (together and slots >= 2 * LEAST_GROUP) or (apart and slots > 1) else 1
        sizes = [slots // number + (group < slots % number) for group in range(number)]
        memory = self.search.bytes
        search = self.search.replace(bytes=None if memory is None else max(65536, memory // number))
        groups = []
        for group, size in enumerate(sizes):
            made = self._new_slots(size, sum(sizes[:group]))
            groups.append(
                GameGroup(
                    book, made, size, self._first, self.spec.short_name, model, self.config, search
                )
            )
        return groups

    def _new_slots(self, count: int, base: int) -> GameSlots:
        if self._keeper is None:
            return NativeGameSlots(self._starts, self.config.verdict, count, self.search.threads)
        return PythonGameSlots(self._keeper, self._first, count, base)

    def state_dict(self) -> dict[str, Any]:
        """Nothing: what is played follows from the leases."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Accept any state."""

    def _give_up(self) -> None:
        """End what other threads and processes do now, without waiting for a slow step."""
        for group in self._groups:
            group.stop()
        if isinstance(self._keeper, GameProcesses):
            self._keeper.stop()

    def stop(self) -> None:
        """Give up the games in progress; they can be played again."""
        self._groups = []
        if self._keeper is not None:
            self._keeper.stop()


def take_turns(
    groups: list[GameGroup], moved: Callable[[], None], give_up: Callable[[], None]
) -> None:
    """Play all games of some groups to their ends.

    :param moved: called after each round.
    :param give_up: called if an exception ends the games, from another thread than theirs.
    """
    if len(groups) == 1:
        while not groups[0].is_over:
            groups[0].plan_and_step()
            groups[0].settle()
            moved()
        return
    waiting: dict[int, Future[None]] = {}
    with ThreadPoolExecutor(len(groups), thread_name_prefix="sylvan-planner") as pool:
        try:
            for number, group in enumerate(groups):
                waiting[number] = pool.submit(group.plan_and_step)
            while waiting:
                for number, group in enumerate(groups):
                    if number not in waiting:
                        continue
                    round_ = waiting.pop(number)
                    while not round_.done():
                        wait([round_], PATIENCE)
                    round_.result()
                    group.settle()
                    moved()
                    if not group.is_over:
                        waiting[number] = pool.submit(group.plan_and_step)
        except BaseException:  # also Ctrl-C
            give_up()
            raise
