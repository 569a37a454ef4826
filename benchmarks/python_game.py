"""Tic-tac-toe on a 4 x 4 board in plain Python, for comparing searches of Python games.

One class with the methods of `sylvan.Game` and those that OpenSpiel's Python search calls, so that
both run the same code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sylvan import Game

SIZE = 4
LINES = (
    [sum(1 << (SIZE * row + i) for i in range(SIZE)) for row in range(SIZE)]
    + [sum(1 << (SIZE * i + column) for i in range(SIZE)) for column in range(SIZE)]
    + [sum(1 << (SIZE * i + i) for i in range(SIZE))]
    + [sum(1 << (SIZE * i + SIZE - 1 - i) for i in range(SIZE))]
)
CELLS = range(SIZE * SIZE)


class FourByFour(Game):
    """Marks as two bit sets."""

    num_players = 2
    num_actions = SIZE * SIZE
    __slots__ = ("marks", "over", "seat", "winner")

    def __init__(self) -> None:
        """An empty board."""
        self.marks = [0, 0]
        self.seat = 0
        self.winner = -1
        self.over = False

    def clone(self) -> FourByFour:
        """A copy."""
        copy = FourByFour.__new__(FourByFour)
        copy.marks = self.marks[:]
        copy.seat, copy.winner, copy.over = self.seat, self.winner, self.over
        return copy

    def legal_actions(self) -> list[int]:
        """The free cells."""
        if self.over:
            return []
        taken = self.marks[0] | self.marks[1]
        return [cell for cell in CELLS if not taken >> cell & 1]

    def apply(self, action: int) -> None:
        """Put a mark."""
        mine = self.marks[self.seat] | 1 << action
        self.marks[self.seat] = mine
        if any(mine & line == line for line in LINES):
            self.winner, self.over = self.seat, True
        elif mine | self.marks[1 - self.seat] == (1 << SIZE * SIZE) - 1:
            self.over = True
        self.seat = 1 - self.seat

    def to_play(self) -> int:
        """The seat to move."""
        return self.seat

    def is_terminal(self) -> bool:
        """Whether a seat has won or the board is full."""
        return self.over

    def returns(self) -> list[float]:
        """1 and -1, or 0 for both."""
        if self.winner < 0:
            return [0.0, 0.0]
        return [1.0, -1.0] if self.winner == 0 else [-1.0, 1.0]

    def observation(self) -> NDArray[np.float32]:
        """`[2, 4, 4]` own marks, the other's."""
        planes = [[self.marks[s] >> c & 1 for c in CELLS] for s in (self.seat, 1 - self.seat)]
        return np.array(planes, np.float32).reshape(2, SIZE, SIZE)

    # The same under the names of OpenSpiel's states.
    apply_action = apply

    def current_player(self) -> int:
        """The seat to move; -4 at the end, as in OpenSpiel."""
        return -4 if self.over else self.seat

    def is_chance_node(self) -> bool:
        """There are no chance nodes."""
        return False
