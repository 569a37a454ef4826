"""A game worth training on: Breakthrough, a race of pawns.

A pawn steps one square ahead, straight or diagonally; it captures diagonally only. Who reaches the
last row wins, and so does who captures all. One tempo decides the race, of which random play knows
little: a network soon does better than rollouts.

    sylvan train examples/breakthrough.py:Breakthrough --run runs/breakthrough
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import sylvan
from sylvan.games.game import Symmetry

SIZE = 6
CELLS = np.arange(SIZE * SIZE)
HOME = (1 << SIZE) - 1
PAWNS = (1 << 2 * SIZE) - 1  # two rows
FILES = [sum(1 << (SIZE * row + file) for row in range(SIZE)) for file in range(SIZE)]
MIRROR = [3 * (c - 2 * (c % SIZE) + SIZE - 1) + 2 - way for c in CELLS for way in range(3)]


def cells(board: int) -> Iterator[int]:
    """The cells whose bits are set, from the lowest."""
    while board:
        lowest = board & -board
        yield lowest.bit_length() - 1
        board ^= lowest


def turned(board: int) -> int:
    """The board from the other side."""
    return int(f"{board:0{len(CELLS)}b}"[::-1], 2)


class Breakthrough(sylvan.Game):
    """Action 3 * c + w moves the pawn on cell c ahead: w is 0 to the left, 1 straight, 2 right.

    Boards are bits, one per cell, row by row from the side of who is to move: both play upwards.
    """

    num_players = 2
    num_actions = 3 * len(CELLS)

    def __init__(self, mine: int = PAWNS, theirs: int = turned(PAWNS), seat: int = 0) -> None:
        self.mine, self.theirs, self.seat = mine, theirs, seat

    def legal_actions(self) -> list[int]:
        if self.is_terminal():
            return []
        left = (self.mine & ~FILES[0]) << SIZE - 1 & ~self.mine
        ahead = self.mine << SIZE & ~(self.mine | self.theirs)
        right = (self.mine & ~FILES[-1]) << SIZE + 1 & ~self.mine
        actions = [3 * (to - SIZE + 1) for to in cells(left)]
        actions += [3 * (to - SIZE) + 1 for to in cells(ahead)]
        return actions + [3 * (to - SIZE - 1) + 2 for to in cells(right)]

    def apply(self, action: int) -> None:
        cell, way = divmod(action, 3)
        to = 1 << cell + SIZE - 1 + way
        mine = self.mine ^ 1 << cell | to
        self.mine, self.theirs, self.seat = turned(self.theirs & ~to), turned(mine), 1 - self.seat

    def clone(self) -> "Breakthrough":
        return Breakthrough(self.mine, self.theirs, self.seat)

    def to_play(self) -> int:
        return self.seat

    def is_terminal(self) -> bool:
        return not self.mine or self.theirs & HOME != 0

    def returns(self) -> tuple[float, float]:
        return (1.0, -1.0) if self.seat else (-1.0, 1.0)  # who would move next has lost

    def observation(self) -> NDArray[np.float32]:
        boards = np.array([[self.mine], [self.theirs]]) >> CELLS & 1
        return boards.reshape(2, SIZE, SIZE).astype(np.float32)

    def key(self) -> bytes:
        return b"%d %d %d" % (self.mine, self.theirs, self.seat)

    def symmetries(self) -> list[Symmetry]:
        return [(lambda seen: seen[..., ::-1], MIRROR)]


if __name__ == "__main__":
    result = sylvan.search(Breakthrough(), simulations=400, evaluator="rollout", seed=0)
    print(f"{result}\nbest: {result.best}")
