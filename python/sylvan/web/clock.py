"""The clocks of a table: seconds per seat, and an increment per move.

clock.start(0); ...; clock.moved(0); clock.start(1); ...; clock.fallen
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["TableClock"]


class TableClock:
    """A clock per seat, of which at most one runs.

    >>> now = iter([0.0, 4.0, 4.0])
    >>> clock = TableClock(2, 10.0, 1.0, now=lambda: next(now))
    >>> clock.start(0)
    >>> clock.moved(0)
    >>> clock.left(0), clock.left(1)
    (7.0, 10.0)
    """

    def __init__(
        self,
        seats: int,
        seconds: float,
        increment: float = 0.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.increment = increment
        self._left = [seconds] * seats
        self._running: int | None = None
        self._since = 0.0
        self._now = now

    @property
    def running(self) -> int | None:
        """The seat whose clock runs."""
        return self._running

    @property
    def fallen(self) -> int | None:
        """The seat whose time is up."""
        return next((seat for seat in range(len(self._left)) if self.left(seat) <= 0), None)

    def left(self, seat: int) -> float:
        """Seconds left."""
        spent = self._now() - self._since if seat == self._running else 0.0
        return self._left[seat] - spent

    def start(self, seat: int) -> None:
        """Let the clock of a seat run, and no other."""
        if seat != self._running:
            self.stop()
            self._running, self._since = seat, self._now()

    def stop(self) -> None:
        """Let no clock run."""
        if self._running is not None:
            seat = self._running
            self._left[seat] = self.left(seat)
            self._running = None

    def moved(self, seat: int) -> None:
        """A seat has moved: stop its clock, and add the increment if its time was not up."""
        self.stop()
        if self._left[seat] > 0:
            self._left[seat] += self.increment
