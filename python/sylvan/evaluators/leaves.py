"""What evaluators read of a batch of leaves; `sylvan.planning.Leaves` is such a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game

__all__ = ["Leaves", "Searched"]


class Searched(Protocol):
    """What evaluators read of the forest that leaves come from."""

    @property
    def num_players(self) -> int:
        """Seats at the table."""

    @property
    def seat_values(self) -> Callable[[NDArray[np.float32]], NDArray[np.float32]] | None:
        """Turns values `[B, num_players]` of a network into those that are backed up."""


class Leaves(Protocol):
    """A batch of B positions that wait for their evaluation."""

    trees: NDArray[np.int64]
    """`[B]` the tree of each leaf."""
    seats: NDArray[np.int64]
    """`[B]` the seat to move."""
    offsets: NDArray[np.int64]
    """`[B + 1]` leaf i has the legal actions `actions[offsets[i]:offsets[i + 1]]`."""
    actions: NDArray[np.int64]
    """Legal actions of all leaves, one after another."""
    tickets: NDArray[np.uint64]
    """`[B]` a seed per leaf, for evaluators that play at random."""

    def __len__(self) -> int: ...

    @property
    def forest(self) -> Searched:
        """Where the leaves come from."""

    @property
    def num_logits(self) -> int:
        """Outputs of a policy over all actions."""

    @property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` what the seat to move sees, per leaf."""

    @property
    def logit_indices(self) -> NDArray[np.int64]:
        """Where a row of the policy has the logit of each of `actions`."""

    @property
    def mask(self) -> NDArray[np.bool_]:
        """`[B, num_actions]` true where an action is legal."""

    def observe(self, out: NDArray[Any]) -> None:
        """Write `observations` into an array of their shape."""

    def legal(self, leaf: int) -> NDArray[np.int64]:
        """The legal actions of one leaf."""

    def state(self, leaf: int) -> Game:
        """The position of one leaf, as a copy."""
