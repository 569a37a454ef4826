"""Hex, in which one seat joins top and bottom, the other left and right; there are no draws.

The seats place stones in turns. Every observation shows the mover's own stones first, on a board
turned so that the mover joins top and bottom.
"""

import numpy as np
from numpy.typing import NDArray

import sylvan

NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))


class Hex(sylvan.Game):
    """Action `row * size + column` places a stone."""

    num_players = 2
    value_range = (-1.0, 1.0)

    def __init__(self, size: int = 5) -> None:
        self.size = size
        self.num_actions = self.max_length = size * size
        self.board = [-1] * (size * size)
        self.seat = 0
        self.over = False

    def clone(self) -> "Hex":
        other = Hex.__new__(Hex)
        other.__dict__.update(self.__dict__)
        other.board = self.board.copy()
        return other

    def to_play(self) -> int:
        return self.seat

    def legal_actions(self) -> list[int]:
        return [] if self.over else [cell for cell, seat in enumerate(self.board) if seat < 0]

    def apply(self, action: int) -> None:
        self.board[action] = self.seat
        self.over = self._joins_both_sides(action)
        self.seat = 1 - self.seat

    def _joins_both_sides(self, last: int) -> bool:
        """Whether the chain of the last stone touches both sides of its owner."""
        size, owner = self.size, self.board[last]
        chain, waiting, reached = {last}, [last], set()
        while waiting:
            row, column = divmod(waiting.pop(), size)
            reached.add((row, column)[owner])
            for down, right in NEIGHBOURS:
                r, c = row + down, column + right
                cell = r * size + c
                inside = 0 <= r < size and 0 <= c < size
                if inside and self.board[cell] == owner and cell not in chain:
                    chain.add(cell)
                    waiting.append(cell)
        return {0, size - 1} <= reached

    def is_terminal(self) -> bool:
        return self.over

    def returns(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.seat == 0 else (1.0, -1.0)  # the last stone won

    def observation(self) -> NDArray[np.float32]:
        """`[2, size, size]`: the mover's stones and the other's."""
        board = np.array(self.board, np.int8).reshape(self.size, self.size)
        turned = board if self.seat == 0 else board.T
        return np.stack([turned == self.seat, turned == 1 - self.seat]).astype(np.float32)

    def action_to_string(self, action: int) -> str:
        row, column = divmod(action, self.size)
        return f"{chr(ord('a') + column)}{row + 1}"

    def key(self) -> bytes:
        return bytes([self.seat, *(seat + 1 for seat in self.board)])

    def __str__(self) -> str:
        rows = np.array(list("XO."))[self.board].reshape(self.size, self.size)
        return "\n".join(" " * number + " ".join(row) for number, row in enumerate(rows))


def main() -> None:
    game = Hex(3)
    for name in ("a1", "a2", "b1", "c3"):
        game.apply(game.string_to_action(name))
    result = sylvan.search(game, simulations=2000, evaluator="rollout", seed=0)
    print(game, result, sep="\n")
    print(f"best: {result.best_label}")


if __name__ == "__main__":
    main()
