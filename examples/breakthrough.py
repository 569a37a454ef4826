"""A game to train on: Breakthrough, a race of pawns.

A pawn steps one cell forward, straight or diagonally; it captures diagonally only. A seat wins if a
pawn reaches the last row, or if it captures all pawns. One tempo decides the race, so random
playouts estimate it badly, and a network is soon better than rollouts.

    sylvan train examples/breakthrough.py:Breakthrough --run runs/breakthrough
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import sylvan
from sylvan.games.game import Symmetry

SIZE, CELLS = 6, 36
HOME, PAWNS = (1 << SIZE) - 1, (1 << 2 * SIZE) - 1  # one row, two rows
FILES = [sum(1 << SIZE * row + file for row in range(SIZE)) for file in range(SIZE)]
MIRROR = [3 * (c - 2 * (c % SIZE) + SIZE - 1) + 2 - way for c in range(CELLS) for way in range(3)]
NAMES = [f"{'abcdef'[c % SIZE]}{c // SIZE + 1}" for c in range(CELLS)]


def cells(board: int) -> Iterator[int]:
    """The cells with set bits, in ascending order."""
    while board:
        lowest = board & -board
        yield lowest.bit_length() - 1
        board ^= lowest


def turned(board: int) -> int:
    """The board from the other side."""
    return int(f"{board:0{CELLS}b}"[::-1], 2)


class Breakthrough(sylvan.Game):
    """Action 3 * c + w moves the pawn on cell c forward: w is 0 for left, 1 straight, 2 right.

    Boards are bits, one per cell, row by row from the mover's side: both seats play upwards.
    """

    num_players = 2
    num_actions = 3 * CELLS

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
        return (1.0, -1.0) if self.seat else (-1.0, 1.0)  # the seat to move has lost

    def observation(self) -> NDArray[np.float32]:
        boards = np.array([[self.mine], [self.theirs]]) >> np.arange(CELLS) & 1
        return boards.reshape(2, SIZE, SIZE).astype(np.float32)

    def symmetries(self) -> list[Symmetry]:
        return [(lambda seen: seen[..., ::-1], MIRROR)]  # left and right

    def action_to_string(self, action: int) -> str:
        ends = (action // 3, action // 3 + SIZE - 1 + action % 3)
        return "".join(NAMES[CELLS - 1 - cell if self.seat else cell] for cell in ends)

    def __str__(self) -> str:
        x, o = (turned(self.theirs), turned(self.mine)) if self.seat else (self.mine, self.theirs)
        marks = ["x" if x >> cell & 1 else "o" if o >> cell & 1 else "." for cell in range(CELLS)]
        rows = [f"{r + 1} {' '.join(marks[SIZE * r :][:SIZE])}" for r in range(SIZE)]
        return "\n".join([*reversed(rows), "  a b c d e f"])


if __name__ == "__main__":
    result = sylvan.search(Breakthrough(), simulations=400, evaluator="rollout", seed=0)
    print(f"{result}\nbest: {result.best_label}")
