"""Results of all trees of a forest, and of moves in all of them, as arrays.

The core returns plain tuples; the classes here name their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sylvan._native import _Outcomes, _Transitions
    from sylvan.games import Game

__all__ = ["CHANCE", "OVER", "UNMOVED", "Outcomes", "Progress", "Transitions"]

CHANCE, OVER, UNMOVED = -1, -2, -3
"""`Transitions.turns` if no seat is to move: chance moves, the game is over, no action was
applied."""


class Progress(NamedTuple):
    """How much of its search a tree has done."""

    simulations: int
    """Simulations of this search."""
    nodes: int
    bytes: int
    """Memory of the tree."""
    depth: int
    """The greatest depth of a simulation of this search."""
    stopped_by: str | None
    """The reason of each search's end, as `SearchResult.stopped_by`; None: it has not ended."""


class Outcomes(NamedTuple):
    """Results of N trees of a game with S seats."""

    offsets: NDArray[np.int64]
    """`[N + 1]` tree i has the edges `offsets[i]` to `offsets[i + 1]`; none if its root is not
    evaluated or its game is over."""
    actions: NDArray[np.int32]
    """Legal actions of the roots, concatenated, in the game's order."""
    policy: NDArray[np.float32]
    """The policy target: a probability per action."""
    visits: NDArray[np.uint32]
    """Finished visits per action, including forced playouts."""
    priors: NDArray[np.float32]
    """The evaluator's prior per action, without noise."""
    best: NDArray[np.int32]
    """`[N]` the best action; -1 in trees without edges."""
    seats: NDArray[np.int8]
    """`[N]` the seat to move; -1 in trees without edges."""
    values: NDArray[np.float32]
    """`[N, S]` the root's value per seat; zeros in trees without edges."""
    surprise: NDArray[np.float32]
    """`[N]` KL(policy || priors) in nats."""
    simulations: NDArray[np.uint32]
    """`[N]` simulations of this search."""

    def dense(self, num_actions: int) -> NDArray[np.float32]:
        """The policy target over all actions, `[N, num_actions]`."""
        target = np.zeros((len(self.best), num_actions), np.float32)
        target[np.repeat(np.arange(len(self.best)), np.diff(self.offsets)), self.actions] = (
            self.policy
        )
        return target

    @classmethod
    def of(cls, arrays: _Outcomes, seats: int) -> Self:
        """Name the arrays that the core returned."""
        found = cls(*arrays)
        return found._replace(values=found.values.reshape(-1, seats))


class Transitions(NamedTuple):
    """Results of a move in each of N trees."""

    turns: NDArray[np.int8]
    """`[N]` the seat to move, or `CHANCE`, `OVER`, `UNMOVED`."""
    returns: NDArray[np.float32]
    """`[N, S]` returns of finished games; zeros while a game continues."""
    rewards: NDArray[np.float32]
    """`[N, S]` rewards of the move."""

    @classmethod
    def of_views(cls, views: Mapping[int, Game], trees: int, seats: int) -> Self:
        """From the views after the moves, by tree. A view may not know payments: they are zero."""
        turns = np.full(trees, UNMOVED, np.int8)
        for tree, view in views.items():
            if view.is_terminal():
                turns[tree] = OVER
            else:
                turns[tree] = CHANCE if view.is_chance() else view.to_play()
        return cls(turns, *np.zeros((2, trees, seats), np.float32))

    @classmethod
    def of(cls, arrays: _Transitions, seats: int) -> Self:
        """Name the arrays that the core returned."""
        turns, returns, rewards = arrays
        return cls(turns, returns.reshape(-1, seats), rewards.reshape(-1, seats))
