"""Some rows of a batch of leaves, in any order, as a batch of leaves."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves, LeavesForest
    from sylvan.games import Game

__all__ = ["SomeLeaves"]


class SomeLeaves:
    """Some rows of `Leaves`, as leaves."""

    def __init__(self, leaves: Leaves, rows: NDArray[np.int64]) -> None:
        self.leaves, self.rows = leaves, rows
        self.forest: LeavesForest = leaves.forest
        self.num_logits = leaves.num_logits
        self.trees, self.seats = leaves.trees[rows], leaves.seats[rows]
        self.tickets = leaves.tickets[rows]
        counts = np.diff(leaves.offsets)[rows]
        self.offsets = np.concatenate([[0], np.cumsum(counts)])
        indices = np.repeat(leaves.offsets[rows] - self.offsets[:-1], counts)
        indices += np.arange(len(indices))
        self.actions, self.logit_indices = leaves.actions[indices], leaves.logit_indices[indices]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def observations(self) -> NDArray[Any]:
        return self.leaves.observations[self.rows]

    def observe(self, out: NDArray[Any]) -> None:
        out[...] = self.observations

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        return self.leaves.mask[self.rows]

    def legal(self, leaf: int) -> NDArray[np.int64]:
        return self.leaves.legal(int(self.rows[leaf]))

    def state(self, leaf: int) -> Game:
        return self.leaves.state(int(self.rows[leaf]))

    @property
    def states(self) -> list[Game]:
        return [self.state(leaf) for leaf in range(len(self))]
