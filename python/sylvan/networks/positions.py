"""Positions to calibrate and measure an int8 network; `sylvan.learning.positions` samples them from
games.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Positions"]


@dataclass(frozen=True)
class Positions:
    """N distinct positions in which a seat moves."""

    observations: NDArray[Any]
    """`[N, ...]` in the game's own format: packed planes stay packed."""
    offsets: NDArray[np.int64]
    """`[N + 1]` position i has the logits `logit_indices[offsets[i]:offsets[i + 1]]`."""
    logit_indices: NDArray[np.int64]
    """Logit indices of the legal actions of all positions, concatenated."""

    def __len__(self) -> int:
        return len(self.observations)

    def legal(self, position: int) -> NDArray[np.int64]:
        """The logit indices of the legal actions of one position."""
        return self.logit_indices[self.offsets[position] : self.offsets[position + 1]]
