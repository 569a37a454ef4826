"""Positions with known best moves, and the rate of mistakes in them.

A *mistake* is a move that changes the game value: it turns a win into a draw, or a draw into a
loss. A slower win is not a mistake. The *mistake rate* is the share of positions in which a player
makes a mistake, counted over all positions, forced ones included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sylvan.games import Game

__all__ = ["Mistakes", "SolvedSet"]


@dataclass(frozen=True)
class Mistakes:
    """The number of mistakes of a player in a set."""

    mistakes: int
    positions: int
    open: int
    """Positions in which some move is a mistake."""

    @property
    def rate(self) -> float:
        """Mistakes as a share of all positions."""
        return self.mistakes / self.positions

    @property
    def open_rate(self) -> float:
        """Mistakes as a share of the open positions."""
        return self.mistakes / max(1, self.open)

    def __str__(self) -> str:
        return f"{100 * self.rate:.1f} % ({self.mistakes} of {self.positions})"


@dataclass(frozen=True, eq=False)
class SolvedSet:
    """B unfinished positions of one game."""

    name: str
    states: tuple[Game, ...]
    keeps: NDArray[np.bool_]
    """`[B, num_actions]`: True for legal actions that keep the game value."""

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, part: slice) -> SolvedSet:
        """Return a slice of the positions."""
        return SolvedSet(self.name, self.states[part], self.keeps[part])

    def judge(self, actions: Sequence[int] | NDArray[np.integer]) -> Mistakes:
        """Count the mistakes among the actions chosen, one per position."""
        kept = self.keeps[np.arange(len(self)), np.asarray(actions)]
        forced = sum(
            bool(self.keeps[row, state.legal_actions()].all())
            for row, state in enumerate(self.states)
        )
        return Mistakes(int((~kept).sum()), len(self), len(self) - forced)
