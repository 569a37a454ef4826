"""Players of leases in a worker: slots, each of which plays one lease at a time.

With the game's rules a slot has actors; several slots fill each other's batches, and the worker's
own thread evaluates them. With a learned model there is one slot, whose thread plans and moves.
Ratings and reanalysis have threads too (`ratings`, `reanalysis`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, Generic, Protocol, TypeVar

from sylvan.muzero.model_player import ModelPlayer
from sylvan.muzero.reanalyse import SearchColumns
from sylvan.ratings.pairings import PlayedPairing
from sylvan.selfplay.actors import PATIENCE, Actors, attend
from sylvan.selfplay.lease_player import PlayedLease
from sylvan.selfplay.leases import Lease
from sylvan.selfplay.statistics import SelfPlayStatistics

__all__ = ["ActorsSlot", "LeaseSlot", "ModelSlot", "PlayingSlot", "ThreadSlot", "attend_slots"]


class PlayingSlot(Protocol):
    """Plays one lease at a time."""

    @property
    def is_free(self) -> bool:
        """Whether a lease can begin: the last one has been finished, or has come to its stop."""

    @property
    def is_over(self) -> bool:
        """Whether the lease has been played, or has failed."""

    @property
    def positions(self) -> int:
        """Positions of the lease so far."""

    def finish(self) -> PlayedLease | PlayedPairing | SearchColumns:
        """The games of a lease that is over, or the error that ended it."""

    def stop(self) -> None:
        """Give up the lease; it can be played again."""


class LeaseSlot(PlayingSlot, Protocol):
    """Plays leases of self-play."""

    def begin(self, evaluator: Any, lease: Lease) -> None:
        """Start to play a lease."""

    def halve(self) -> int:
        """Halve its batches, for lack of memory; return their rows, or 0 if it cannot."""


class ActorsSlot:
    """Actors, which search with the game's rules."""

    def __init__(self, new_actors: Callable[..., Actors]) -> None:
        self._new_actors, self.actors = new_actors, new_actors()
        self.is_free = True
        self._evaluated = 0.0

    @property
    def is_over(self) -> bool:
        """Whether all games are over."""
        return self.actors.is_over

    @property
    def positions(self) -> int:
        """Positions of the lease so far."""
        return self.actors.progress[1]

    def begin(self, evaluator: Any, lease: Lease) -> None:
        """Start to play a lease."""
        self._evaluated = self.actors.seconds
        self.actors.begin(evaluator, lease.first, lease.count, lease.positions)
        self.is_free = False

    def finish(self) -> PlayedLease:
        """The games of a lease that is over."""
        actors = self.actors
        over, positions, simulations = actors.progress
        games = actors.finish()
        self.is_free = True
        found = SelfPlayStatistics(games=over, positions=positions, simulations=simulations)
        found.batches, found.rows = actors.evaluated
        found.capacity = found.batches * actors.rows
        found.cache_lookups, found.cache_hits = actors.cache
        found.network_seconds = actors.seconds - self._evaluated
        return PlayedLease(games, actors.dropped, found)

    def stop(self) -> None:
        """Give up the lease."""
        self.actors.stop()
        self.is_free = True

    def halve(self) -> int:
        """Halve its batches; return their rows, or 0 if they have one."""
        rows = self.actors.rows // 2
        if rows:
            self.actors = self._new_actors(rows=rows)
        return rows


PlayedT = TypeVar("PlayedT")


class ThreadSlot(Generic[PlayedT]):
    """Plays in a thread of its own."""

    def __init__(self) -> None:
        self.positions = 0
        """Positions of the lease so far."""
        self._pool = ThreadPoolExecutor(1, "play")
        self._playing: Future[PlayedT] | None = None
        self._stopped = Event()

    @property
    def is_free(self) -> bool:
        """Whether no lease is being played."""
        return self._playing is None or (self._stopped.is_set() and self._playing.done())

    @property
    def is_over(self) -> bool:
        """Whether the lease has been played, or has failed."""
        return self._playing is not None and self._playing.done()

    def start(self, play: Callable[[Callable[[], None]], PlayedT]) -> None:
        """Start to play.

        :param play: calls its argument now and then, which raises an exception after `stop`.
        """
        self._stopped, self.positions = Event(), 0
        stopped = self._stopped

        def check() -> None:
            if stopped.is_set():
                raise _Stopped

        self._playing = self._pool.submit(play, check)

    def finish(self) -> PlayedT:
        """The games of a lease that is over, or the error that ended it."""
        assert self._playing is not None
        playing, self._playing = self._playing, None
        return playing.result()

    def stop(self) -> None:
        """Give up the lease, at the end of the move that is being planned."""
        self._stopped.set()

    def wait(self, seconds: float) -> None:
        """Wait for the end of the lease."""
        if self._playing is not None:
            wait([self._playing], seconds)


class ModelSlot(ThreadSlot[PlayedLease]):
    """A player that plans with a learned model."""

    def __init__(self, player: ModelPlayer) -> None:
        super().__init__()
        self.player = player

    def begin(self, evaluator: Any, lease: Lease) -> None:
        """Start to play a lease."""

        def play(check: Callable[[], None]) -> PlayedLease:
            def watch(so_far: SelfPlayStatistics) -> None:
                check()
                self.positions = so_far.positions

            return self.player.play(lease, [], lambda _: evaluator, watch)

        self.start(play)

    def halve(self) -> int:
        """Its player halves the games at once by itself."""
        return 0

    def finish(self) -> PlayedLease:
        """The games of a lease that is over, or the error that ended it."""
        played = super().finish()
        found = SelfPlayStatistics()
        found.add(played.games)
        own = played.statistics
        own.games, own.positions, own.simulations = found.games, found.positions, found.simulations
        return played


class _Stopped(Exception):
    """A lease is given up."""


def attend_slots(playing: Sequence[PlayingSlot]) -> float:
    """Evaluate a batch of some slots, or wait a little.

    Return the seconds in which evaluators of actors waited for positions.
    """
    actors = [slot.actors for slot in playing if isinstance(slot, ActorsSlot)]
    if actors:
        return attend(actors)
    for slot in playing:
        if isinstance(slot, ThreadSlot):
            slot.wait(PATIENCE)
    return 0.0
