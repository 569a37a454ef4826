"""Notakto: tic-tac-toe in which both seats place crosses, and whoever completes a line loses.

On one board the first seat wins by taking the centre.
"""

import numpy as np
from numpy.typing import NDArray

import sylvan

LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
)


def completes(boards: NDArray[np.float32], cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a cross on `cells` `[B]` completes a line of `boards` `[B, 9]`."""
    after = boards.copy()
    after[np.arange(len(cells)), cells] = 1.0
    done: NDArray[np.bool_] = (after[:, LINES].sum(axis=2) == 3).any(axis=1)
    return done


class Notakto(sylvan.Game):
    """Notakto on one board; an action is a cell, row by row."""

    num_players = 2
    num_actions = 9

    def __init__(self) -> None:
        self.board = np.zeros(9, np.float32)
        self.seat = 0

    def legal_actions(self) -> list[int]:
        return [] if self.is_terminal() else np.flatnonzero(self.board == 0).tolist()

    def apply(self, action: int) -> None:
        self.board[action] = 1.0
        self.seat = 1 - self.seat

    def clone(self) -> "Notakto":
        copy = Notakto()
        copy.board, copy.seat = self.board.copy(), self.seat
        return copy

    def to_play(self) -> int:
        return self.seat

    def is_terminal(self) -> bool:
        return bool((self.board[LINES].sum(axis=1) == 3).any())

    def returns(self) -> tuple[float, float]:
        # The other seat has just completed a line.
        return (1.0, -1.0) if self.seat == 0 else (-1.0, 1.0)

    def observation(self) -> NDArray[np.float32]:
        return self.board.copy()

    def __str__(self) -> str:
        rows = self.board.reshape(3, 3)
        return "\n".join(" ".join("x" if cell else "." for cell in row) for row in rows)


class Careful:
    """Tries last what loses at once."""

    name = "notakto_careful"

    def __call__(self, leaves: sylvan.Leaves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        boards = leaves.observations.reshape(len(leaves), 9)
        of_leaf = np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets))
        loses = completes(boards[of_leaf], leaves.actions)
        logits = np.where(loses, -5.0, 0.0).astype(np.float32)  # of the legal actions only
        return logits, np.zeros(len(leaves), np.float32)
