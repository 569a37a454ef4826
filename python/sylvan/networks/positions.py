"""Positions to calibrate an eight-bit network on, and to measure it; `sample_positions` in
`sylvan.learning.positions` collects them from games.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Positions"]


@dataclass(frozen=True)
class Positions:
    """Distinct positions in which somebody moves; N of them."""

    observations: NDArray[Any]
    """`[N, ...]` as the game gives them: packed planes stay packed."""
    offsets: NDArray[np.int64]
    """`[N + 1]` position i has the logits `logit_indices[offsets[i]:offsets[i + 1]]`."""
    logit_indices: NDArray[np.int64]
    """Where a policy has the logits of legal actions, position after position."""

    def __len__(self) -> int:
        return len(self.observations)

    def legal(self, position: int) -> NDArray[np.int64]:
        """Where a policy has the logits of the legal actions of one position."""
        return self.logit_indices[self.offsets[position] : self.offsets[position + 1]]
