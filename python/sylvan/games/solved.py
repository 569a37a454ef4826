"""Positions whose best moves are known, and how often a player misses them.

A *mistake* is a move after which perfect play ends otherwise than it would have: a win that becomes
a draw, a draw that becomes a loss. A slower win is none. The *mistake rate* is the share of
positions in which a mistake is made; positions in which none can be made count as well.
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
    """How many positions of a set a player got wrong."""

    mistakes: int
    positions: int
    open: int
    """Positions in which some move is a mistake."""

    @property
    def rate(self) -> float:
        """Of all positions."""
        return self.mistakes / self.positions

    @property
    def open_rate(self) -> float:
        """Of those in which a mistake can be made."""
        return self.mistakes / max(1, self.open)

    def __str__(self) -> str:
        return f"{100 * self.rate:.1f} % ({self.mistakes} of {self.positions})"


@dataclass(frozen=True, eq=False)
class SolvedSet:
    """B positions of one game, in each of which a seat is to move."""

    name: str
    states: tuple[Game, ...]
    keeps: NDArray[np.bool_]
    """`[B, num_actions]` where a legal action keeps the game value."""

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, part: slice) -> SolvedSet:
        """Some of the positions."""
        return SolvedSet(self.name, self.states[part], self.keeps[part])

    def judge(self, actions: Sequence[int] | NDArray[np.integer]) -> Mistakes:
        """Count the mistakes among the actions chosen, one per position."""
        kept = self.keeps[np.arange(len(self)), np.asarray(actions)]
        forced = sum(
            bool(self.keeps[row, state.legal_actions()].all())
            for row, state in enumerate(self.states)
        )
        return Mistakes(int((~kept).sum()), len(self), len(self) - forced)
