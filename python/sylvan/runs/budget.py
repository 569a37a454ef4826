"""How much of a run is done: logical steps, time, or whichever of the two is spent first.

Schedules go by *progress* in [0, 1]. With a budget in steps, step k takes it from (k − 1)/steps to
k/steps, whatever the clock says. With a budget in time the length of the coming step is taken to be
that of the last ones; the step after which there would be no time for another is the last and takes
progress to 1, so that a final decay of the learning rate is gone through to its end. The first step
of a sitting also loads and compiles: while its length is all that is known, another step is begun
as long as one like it fits; afterwards it does not count.
"""

from __future__ import annotations

from collections import deque
from time import monotonic

__all__ = ["Budget"]

RECENT = 3
"""Steps whose mean length is expected of the next."""


class Budget:
    """What is left of a run that has done `step` steps in `elapsed` seconds.

    >>> budget = Budget(steps=4, minutes=None, step=1, elapsed=0.0)
    >>> budget.ahead()
    (0.25, 0.5)
    """

    def __init__(self, steps: int | None, minutes: float | None, step: int, elapsed: float) -> None:
        self.steps = steps
        self.seconds = None if minutes is None else 60.0 * minutes
        self.step = step
        self.ending = 0.0
        """Seconds that the end of the run takes after its last step: a rating, exports."""
        self._before = elapsed
        self._began = monotonic()
        self._first: float | None = None
        self._lengths: deque[float] = deque(maxlen=RECENT)

    @property
    def elapsed(self) -> float:
        """Seconds of the run, over all its sittings."""
        return self._before + monotonic() - self._began

    @property
    def spent(self) -> float:
        """The share of the budget that is used up, in [0, 1]."""
        shares = [0.0]
        if self.steps is not None:
            shares.append(self.step / self.steps)
        if self.seconds is not None:
            shares.append(self.elapsed / self.seconds)
        return min(1.0, max(shares))

    def ahead(self) -> tuple[float, float]:
        """Progress at the beginning and, as far as one can tell, at the end of the coming step."""
        begin, ends = self.spent, [0.0]
        if self.steps is not None:
            ends.append((self.step + 1) / self.steps)
        if self.seconds is not None:
            left, length = self.seconds - self.elapsed - self.ending, self._length
            needed = 2 * length if self._lengths else length
            ends.append(1.0 if left < needed else (self.elapsed + length) / self.seconds)
        return begin, min(1.0, max(begin, *ends))

    def remaining(self) -> float | None:
        """Seconds until the end, as far as one can tell."""
        spans = []
        if self.seconds is not None:
            spans.append(self.seconds - self.elapsed)
        if self.steps is not None and self._first is not None:
            spans.append((self.steps - self.step) * self._length + self.ending)
        return max(0.0, min(spans)) if spans else None

    def step_done(self, seconds: float) -> None:
        """Another step is done, and took so long."""
        self.step += 1
        if self._first is None:
            self._first = seconds
        else:
            self._lengths.append(seconds)

    @property
    def _length(self) -> float:
        """Seconds that the next step is expected to take; 0 before there was one."""
        return sum(self._lengths) / len(self._lengths) if self._lengths else self._first or 0.0
