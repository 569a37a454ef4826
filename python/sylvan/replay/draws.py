"""Drawing rows in proportion to weights that change.

Weights are summed in blocks of 64, so a change costs one block and a draw looks at the blocks' sums
and one block. Blocks are counted from the first row of the run: the sums, and so the draws, depend
on the weights in the window alone and not on how it came about.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["WeightedDraw"]

BLOCK = 64


class WeightedDraw:
    """Draws rows of a window.

    :param weights: of the rows from `first` on; not negative, some positive.
    :param first: the first row's number in the run.

    >>> draw = WeightedDraw(np.array([0.0, 1.0, 3.0]), first=1000)
    >>> rows, chances = draw(5, np.random.default_rng(0))
    >>> set(rows.tolist()) <= {1001, 1002}, draw.chance(np.array([1002])).tolist()
    (True, [0.75])
    """

    def __init__(self, weights: NDArray[np.float64], first: int) -> None:
        self._phase = first % BLOCK
        self._first = first - self._phase
        count = self._phase + len(weights)
        padded = np.zeros(-(-count // BLOCK) * BLOCK)
        padded[self._phase : count] = weights
        self._blocks = padded.reshape(-1, BLOCK)
        self._sums = self._blocks.sum(axis=1)

    def set(self, rows: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Change the weights of some rows; of a row named twice the last counts."""
        places = rows - self._first
        self._blocks.reshape(-1)[places] = weights
        touched = np.unique(places // BLOCK)
        self._sums[touched] = self._blocks[touched].sum(axis=1)

    def chance(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probability of some rows in each draw."""
        chances: NDArray[np.float64] = self._blocks.reshape(-1)[rows - self._first] / self.total
        return chances

    @property
    def total(self) -> float:
        """All weights together."""
        return float(np.cumsum(self._sums)[-1])

    def __call__(
        self, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows, drawn with replacement, and the probability of each."""
        ends = np.cumsum(self._sums)
        aim = rng.random(count) * ends[-1]
        block = np.minimum(np.searchsorted(ends, aim, side="right"), len(ends) - 1)
        inside = np.cumsum(self._blocks[block], axis=1)
        aim -= ends[block] - self._sums[block]
        # Rounding may lead past the last row with a weight, or before the first: stay among them.
        place = (inside <= np.maximum(aim, 0.0)[:, None]).sum(axis=1)
        last = BLOCK - 1 - (self._blocks[block, ::-1] > 0).argmax(axis=1)
        place = np.minimum(place, last)
        rows = self._first + BLOCK * block + place
        return rows, self._blocks[block, place] / ends[-1]
