"""Players of leases: the protocol `PlaysLeases`, and `LeasePlayer`, which plays on this machine.

While the last games of a lease are being played, the games of the next one start, with the next
network, so that batches stay full. Each lease has its own `Actors` and its own evaluator, which a
thread loads while the lease before is played (`loading.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan._native import mix
from sylvan.evaluators import AsyncEvaluator, EvaluatorLike, evaluator_for
from sylvan.evaluators.batch_independence import depends_on_batch
from sylvan.evaluators.native import native_call
from sylvan.evaluators.protocol import resize
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.planning import Forest, SearchConfig
from sylvan.selfplay.actors import Actors, Room, attend
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.faults import as_game_errors, is_out_of_memory
from sylvan.selfplay.game_columns import GameColumns
from sylvan.selfplay.leases import Lease, Unfinished
from sylvan.selfplay.loading import Load, Loading
from sylvan.selfplay.roots import some_roots
from sylvan.selfplay.statistics import SelfPlayStatistics

__all__ = [
    "AnyEvaluator",
    "LeasePlayer",
    "Load",
    "PlayedLease",
    "PlaysLeases",
    "Watch",
    "answers_depend_on_batch",
    "leases_at_once",
    "search_of_a_lease",
]

AnyEvaluator: TypeAlias = EvaluatorLike | AsyncEvaluator[Any]
Watch = Callable[[SelfPlayStatistics], Any]

MOST_TRIED = 1024
"""Positions with which an evaluator is tried out."""

WATCH_INTERVAL = 0.1
"""Minimum seconds between two calls of `watch`."""


@dataclass
class PlayedLease:
    """The games of a lease that is over."""

    games: GameColumns
    dropped: list[tuple[int, Exception]] = field(default_factory=list)
    """Number and error of the games that raised one."""
    statistics: SelfPlayStatistics = field(default_factory=SelfPlayStatistics)
    """Statistics beside the games: time, batches, work on the next lease."""
    unfinished: list[Unfinished] = field(default_factory=list)
    """The episodes that other leases continue."""


class PlaysLeases(Protocol):
    """Plays leases to their end: on this machine, or on others."""

    notes: list[str]
    """Sentences for the user."""

    def play(
        self, lease: Lease, following: Sequence[Lease], load: Load, watch: Watch | None
    ) -> PlayedLease:
        """Play a lease; those of `following` may begin meanwhile.

        The other parameters are those of `SelfPlay.play`.
        """

    def stop(self) -> None:
        """Give up the games in progress; they can be played again."""

    def state_dict(self) -> dict[str, Any]:
        """State of the next step besides the leases, as JSON values; usually empty."""

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        """Restore the state from `state_dict`."""


def leases_at_once(config: SelfPlayConfig) -> int:
    """Leases that are played at once on one machine; they share the memory of the search."""
    return 1 + (config.lag > 0)


def search_of_a_lease(search: SearchConfig, config: SelfPlayConfig) -> SearchConfig:
    """The settings of the searches of one lease, with its part of the memory."""
    if search.bytes is None:
        return search
    return search.replace(bytes=max(65536, search.bytes // leases_at_once(config)))


def answers_depend_on_batch(evaluator: AnyEvaluator, actors: Actors, seed: int) -> bool:
    """Whether the evaluator's answers depend on the rest of a batch.

    If they do, and it has other kernels, these are tried, and the first ones without this fault
    are kept.
    """
    if not isinstance(evaluator, AsyncEvaluator):
        evaluator = evaluator_for(actors.first, evaluator)
        if native_call(evaluator) is not None:
            return False
    roots = some_roots(actors.first, min(MOST_TRIED, actors.rows), seed)
    leaves = Forest(roots, simulations=1, noise=False).select()
    if leaves is None or not depends_on_batch(evaluator, leaves, actors.rows):
        return False
    if not hasattr(evaluator, "use_kernels"):
        return True
    chooser: Any = evaluator
    usual = chooser.kernels
    for kernels in chooser.other_kernels:
        chooser.use_kernels(kernels)
        if not depends_on_batch(evaluator, leaves, actors.rows):
            return False
    chooser.use_kernels(usual)
    return True


class LeasePlayer:
    """Plays leases by actors of this machine; the parameters are those of `SelfPlay`."""

    def __init__(
        self,
        spec: GameSpec,
        config: SelfPlayConfig,
        seed: int,
        encoding: Encoding | None = None,
        search: SearchConfig | None = None,
        room: Room = np.zeros,
    ) -> None:
        self.spec, self.seed = spec, seed
        search = search or SearchConfig(simulations=64, noise=True)
        self._leased = leases_at_once(config)
        search = search_of_a_lease(search, config)
        bell = _native.Bell()
        self._new_actors = partial(
            Actors, spec, config, mix(seed, 0), encoding, search, room=room, bell=bell
        )
        self._tries = config.mode == "exact" and search.threads > 1 and spec.is_native
        """Whether evaluators are tried out; with one actor, batches follow from the games."""
        self._tried = set[int]()
        """The groups whose evaluators have been."""
        self._alone = set[int]()
        """The groups whose games are played by one actor."""
        self._actors = [self._new_actors()]
        self.notes: list[str] = []
        self._noted = set[str]()
        self._begun: dict[int, Actors] = {}
        """The actors of the leases being played, by number."""
        self._loading: Loading | None = None
        """The evaluator of the next lease."""
        self._evaluators: dict[int, AnyEvaluator] = {}
        """The evaluators that `load` gave, by lease modulo the leases at once."""
        self._halved = False
        """Whether batches have half of their rows, for lack of memory."""
        self._finished = self._counted = np.zeros(3, np.int64)
        """Games over, positions and simulations of the leases that are over; all that `_work`
        counted."""

    def play(
        self, lease: Lease, following: Sequence[Lease], load: Load, watch: Watch | None
    ) -> PlayedLease:
        """Play a lease to its end. If an exception is raised, it can be played again.

        If the device has not enough memory, the lease is played again with batches of half the
        size; the second time the error is raised.
        """
        try:
            return self._play(lease, following, load, watch)
        except Exception as error:
            if self._halved or not is_out_of_memory(error) or self._actors[0].rows == 1:
                raise
        self._halve()  # here, because the error held memory
        return self._play(lease, following, load, watch)

    def _play(
        self, lease: Lease, following: Sequence[Lease], load: Load, watch: Watch | None
    ) -> PlayedLease:
        began, waited, evaluated = time.perf_counter(), 0.0, self._evaluated
        watched, handled = began, self._handled
        try:
            actors = self._begin(lease, load)
            worked = self._device_seconds
            playing = [actors, *(each for each in self._begun.values() if each is not actors)]
            coming = following[0] if following and len(playing) < self._leased else None
            if coming is not None and self._loading is None:
                self._loading = Loading(coming, load)
            while not actors.is_over:
                if coming is not None and actors.all_started and self._is_loaded(coming):
                    playing.append(self._begin(coming, load))
                    coming = None
                waited += attend(playing)
                now = time.perf_counter()
                if watch is not None and now - watched >= WATCH_INTERVAL:
                    watched = now
                    over, positions, simulations = actors.progress
                    watch(
                        SelfPlayStatistics(
                            games=over,
                            positions=positions,
                            simulations=simulations,
                            seconds=now - began,
                        )
                    )
            work = self._work(actors)
            games = actors.finish()
            if self._loading is not None:
                self._loading.join()  # what it reads may change after the step
        except BaseException:
            self.stop()
            raise
        del self._begun[lease.number]
        found = SelfPlayStatistics(seconds=time.perf_counter() - began)
        found.played_games, found.played_positions, found.played_simulations = work.tolist()
        found.network_seconds, found.search_seconds = self._evaluated - evaluated, waited
        found.device_seconds = self._device_seconds - worked
        seconds, submitted, queued = (self._handled - handled).tolist()
        found.handling_seconds, found.under_way = seconds, queued / max(1.0, submitted)
        found.cache_lookups, found.cache_hits = actors.cache
        found.batches, found.rows = actors.evaluated
        found.capacity = found.batches * actors.rows
        return PlayedLease(games, actors.dropped, found)

    def _begin(self, lease: Lease, load: Load) -> Actors:
        """Start to play a lease, or go on with it."""
        if lease.number not in self._begun:
            group = lease.number % self._leased
            while len(self._actors) <= group:
                self._actors.append(self._new_group(len(self._actors)))
            evaluator = self._evaluators[group] = self._loaded(lease, load)
            if self._halved:
                resize(evaluator, self._actors[group].rows)
            if self._tries and group not in self._tried:
                self._try_out(evaluator, group)
            actors = self._actors[group]
            with as_game_errors(self.spec):
                actors.begin(evaluator, lease.first, lease.count, lease.positions)
            self._begun[lease.number] = actors
        return self._begun[lease.number]

    def _is_loaded(self, lease: Lease) -> bool:
        """Whether the evaluator of a lease is loaded. One that cannot be loaded never is: the error
        is raised when its step loads it again.
        """
        loading = self._loading
        return loading is not None and loading.lease is lease and loading.has_succeeded

    def _loaded(self, lease: Lease, load: Load) -> Any:
        """The evaluator of a lease."""
        loading, self._loading = self._loading, None
        if loading is not None:
            loading.join()  # even if it is of another lease: nothing is loaded twice at once
            if loading.lease is lease and loading.has_succeeded:
                return loading.evaluator
        return load(lease)

    def _halve(self) -> None:
        """Halve the rows of all batches."""
        before = self._actors[0].rows
        rows, self._halved = before // 2, True
        self._tried.clear()  # smaller batches may have other kernels
        self._new_actors = partial(self._new_actors, rows=rows)
        self._actors = [self._new_group(group) for group in range(len(self._actors))]
        for evaluator in self._evaluators.values():
            resize(evaluator, rows)
        self.notes.append(
            f"The device has not enough memory for batches of {before} positions: they have {rows} "
            "from now on, and such batches may round differently. To keep it, halve selfplay.games."
        )

    def _try_out(self, evaluator: AnyEvaluator, group: int) -> None:
        """Play by one actor if the evaluator's answers depend on the rest of a batch: then what is
        in a batch follows from the games, and not from the timing of several threads.
        """
        usual = getattr(evaluator, "kernels", None)
        depends = answers_depend_on_batch(evaluator, self._actors[group], self.seed)
        self._tried.add(group)
        if (kernels := getattr(evaluator, "kernels", None)) != usual:
            self._note(
                "The network's answers depended on the rest of a batch on this device: its kernels "
                f"are now chosen in another way, {kernels!r}."
            )
        if depends:
            self._alone.add(group)
            self._actors[group] = self._new_group(group)
            self._note(
                "The network's answers depend on the rest of a batch on this machine: one thread "
                "plays the games, so that they are reproducible."
            )

    def _note(self, sentence: str) -> None:
        if sentence not in self._noted:
            self._noted.add(sentence)
            self.notes.append(sentence)

    def _new_group(self, group: int) -> Actors:
        """The actors of every `_leased`-th lease."""
        return self._new_actors(actors=1) if group in self._alone else self._new_actors()

    def _work(self, over: Actors) -> NDArray[np.int64]:
        """Games over, positions and simulations since the last call; one lease is over."""
        rows = [actors.progress for actors in self._begun.values()]
        total: NDArray[np.int64] = self._finished + np.array(rows, np.int64).sum(axis=0)
        work = total - self._counted
        self._counted, self._finished = total, self._finished + over.progress
        return work

    @property
    def _evaluated(self) -> float:
        """Seconds inside evaluators so far."""
        return sum(actors.seconds for actors in self._actors)

    @property
    def _handled(self) -> NDArray[np.float64]:
        """Seconds that this thread handed over batches, batches submitted, and the sum over them
        of those under way, so far.
        """
        rows = [(each.handling, each.submitted, each.queued) for each in self._actors]
        total: NDArray[np.float64] = np.array(rows, np.float64).sum(axis=0)
        return total

    @property
    def _device_seconds(self) -> float:
        """Seconds that the GPU has worked so far; all evaluators have the same."""
        return max(getattr(each, "busy_seconds", 0.0) for each in self._evaluators.values())

    def state_dict(self) -> dict[str, Any]:
        """Nothing: what is played follows from the leases."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Accept any state: games that were taken early on a cluster are played again."""

    def stop(self) -> None:
        """Give up the games in progress; they can be played again."""
        for actors in self._begun.values():
            actors.stop()
        self._begun.clear()
        if self._loading is not None:
            self._loading.forget()
        self._counted = self._finished
