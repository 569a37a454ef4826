"""Weighted sampling of rows, with weights that change.

Weights are summed in blocks of 64: a change updates one block, a draw searches the sums and one
block. Blocks are aligned to the first row of the run, so the sums and the draws depend only on the
weights in the window, not on its history.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["WeightedDraw"]

BLOCK = 64


class WeightedDraw:
    """Draws rows of a window.

    :param weights: weights of the rows from `first` on; not negative, at least one positive.
    :param first: the number of the first row.

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
        """Change the weights of some rows; for a repeated row the last weight is used."""
        indices = rows - self._first
        self._blocks.reshape(-1)[indices] = weights
        changed = np.unique(indices // BLOCK)
        self._sums[changed] = self._blocks[changed].sum(axis=1)

    def chance(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probability of each row in one draw."""
        chances: NDArray[np.float64] = self._blocks.reshape(-1)[rows - self._first] / self.total
        return chances

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return float(np.cumsum(self._sums)[-1])

    def __call__(
        self, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw `count` rows with replacement; return them and their probabilities."""
        ends = np.cumsum(self._sums)
        aim = rng.random(count) * ends[-1]
        block = np.minimum(np.searchsorted(ends, aim, side="right"), len(ends) - 1)
        inside = np.cumsum(self._blocks[block], axis=1)
        aim -= ends[block] - self._sums[block]
        # Rounding may lead beyond the rows with a positive weight: clip to them.
        offset = (inside <= np.maximum(aim, 0.0)[:, None]).sum(axis=1)
        last = BLOCK - 1 - (self._blocks[block, ::-1] > 0).argmax(axis=1)
        offset = np.minimum(offset, last)
        rows = self._first + BLOCK * block + offset
        return rows, self._blocks[block, offset] / ends[-1]
