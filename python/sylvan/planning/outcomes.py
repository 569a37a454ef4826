"""What the searches of all trees of a forest found, and where moves led: flat arrays, tree after
tree, for those who search thousands at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["CHANCE", "OVER", "UNMOVED", "Landings", "Outcomes"]

CHANCE, OVER, UNMOVED = -1, -2, -3
"""`Landings.turns` where no seat is to move: chance is, the game is over, nothing was played."""


class Outcomes(NamedTuple):
    """What was found in N trees of a game of S seats."""

    offsets: NDArray[np.int64]
    """`[N + 1]` tree i has the edges `offsets[i]` to `offsets[i + 1]`; none if its root is not
    evaluated or its game is over."""
    actions: NDArray[np.int32]
    """Legal actions of the roots, one tree after another, in the game's order."""
    policy: NDArray[np.float32]
    """The policy target: its probability of each of them."""
    visits: NDArray[np.uint32]
    """Finished visits, forced ones included."""
    priors: NDArray[np.float32]
    """What the evaluator thought of each, without noise."""
    best: NDArray[np.int32]
    """`[N]` the action that the search prefers; -1 in trees without edges."""
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
    def of(cls, arrays: Any, seats: int) -> Self:
        """From what the native forest gives."""
        found = cls(*arrays)
        return found._replace(values=found.values.reshape(-1, seats))


class Landings(NamedTuple):
    """Where a move in each of N trees led."""

    turns: NDArray[np.int8]
    """`[N]` the seat to move, or `CHANCE`, `OVER`, `UNMOVED`."""
    returns: NDArray[np.float32]
    """`[N, S]` what the end pays; zeros while a game goes on."""
    rewards: NDArray[np.float32]
    """`[N, S]` what the move paid."""

    @classmethod
    def of_views(cls, views: Mapping[int, Game], trees: int, seats: int) -> Self:
        """Of the views that moves led to, by tree. What is paid, a view need not know: zeros."""
        turns = np.full(trees, UNMOVED, np.int8)
        for tree, view in views.items():
            still = OVER if view.is_terminal() else CHANCE if view.is_chance() else None
            turns[tree] = view.to_play() if still is None else still
        return cls(turns, *np.zeros((2, trees, seats), np.float32))

    @classmethod
    def of(cls, arrays: Any, seats: int) -> Self:
        """From what the native forest gives."""
        turns, returns, rewards = arrays
        return cls(turns, returns.reshape(-1, seats), rewards.reshape(-1, seats))
