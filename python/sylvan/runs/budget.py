"""The budget of a run in steps, in time, or both; the first one spent ends the run.

Schedules depend on *progress* in [0, 1]. With a budget in steps, step k moves it from (k − 1)/steps
to k/steps, independent of the clock. With a budget in time, the next step is expected to take as
long as the last ones. If no further step would fit after it, it is the last one and moves progress
to 1, so that the learning rate completes its decay. The first step after a start also loads and
compiles: its length is the estimate only while no other is known, and during that time a step is
the last one only if the time left is shorter than itself.
"""

from __future__ import annotations

from collections import deque
from time import monotonic

__all__ = ["Budget"]

RECENT = 3
"""Number of last steps whose mean length predicts the next step's."""


class Budget:
    """The budget of a run that has done `step` steps in `elapsed` seconds.

    >>> budget = Budget(steps=4, minutes=None, step=1, elapsed=0.0)
    >>> budget.ahead()
    (0.25, 0.5)
    """

    def __init__(self, steps: int | None, minutes: float | None, step: int, elapsed: float) -> None:
        self.steps = steps
        self.seconds = None if minutes is None else 60.0 * minutes
        self.step = step
        self.ending = 0.0
        """Seconds that the final rating and the exports take after the last step."""
        self._before = elapsed
        self._began = monotonic()
        self._first: float | None = None
        self._lengths: deque[float] = deque(maxlen=RECENT)

    @property
    def elapsed(self) -> float:
        """Seconds spent on the run, over all its sessions."""
        return self._before + monotonic() - self._began

    @property
    def spent(self) -> float:
        """Share of the budget that is spent, in [0, 1]."""
        shares = [0.0]
        if self.steps is not None:
            shares.append(self.step / self.steps)
        if self.seconds is not None:
            shares.append(self.elapsed / self.seconds)
        return min(1.0, max(shares))

    def ahead(self) -> tuple[float, float]:
        """Progress at the start and the expected progress at the end of the next step."""
        begin, ends = self.spent, [0.0]
        if self.steps is not None:
            ends.append((self.step + 1) / self.steps)
        if self.seconds is not None:
            left, length = self.seconds - self.elapsed - self.ending, self._length
            needed = 2 * length if self._lengths else length
            ends.append(1.0 if left < needed else (self.elapsed + length) / self.seconds)
        return begin, min(1.0, max(begin, *ends))

    def remaining(self) -> float | None:
        """Expected seconds until the end; None while unknown."""
        spans = []
        if self.seconds is not None:
            spans.append(self.seconds - self.elapsed)
        if self.steps is not None and self._first is not None:
            spans.append((self.steps - self.step) * self._length + self.ending)
        return max(0.0, min(spans)) if spans else None

    def step_done(self, seconds: float) -> None:
        """Count a finished step that took `seconds`."""
        self.step += 1
        if self._first is None:
            self._first = seconds
        else:
            self._lengths.append(seconds)

    @property
    def _length(self) -> float:
        """Expected seconds of the next step; 0 before the first."""
        return sum(self._lengths) / len(self._lengths) if self._lengths else self._first or 0.0
