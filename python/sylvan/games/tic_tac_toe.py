"""Tic-tac-toe: three in a row on 3 × 3.

- An *action* is a cell, 0 to 8, row by row from the top left.
- An *observation* is float32 of shape `(2, 3, 3)`: the marks of the seat to move, then the other
  seat's.
- *Returns* are 1, 0 or -1; seat 0 begins.

The rules are in Rust (`sylvan._native`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from sylvan import _native
from sylvan.games.game import Game, Observation, Symmetry

__all__ = ["TicTacToe"]


class TicTacToe(_native.TicTacToe, Game):
    """A position, made from the cells marked in turn.

    :raises IllegalAction: a cell is taken or does not exist.
    :raises GameOver: a move follows the end of the game.

    >>> game = TicTacToe([4, 0, 8])
    >>> print(game)
    o . .
    . x .
    . . x
    >>> game.to_play(), game.legal_actions()
    (1, [1, 2, 3, 5, 6, 7])
    """

    __slots__ = ()

    num_players = 2
    num_actions = 9
    zero_sum = True
    default_evaluator = "shipped"
    value_range = (-1.0, 1.0)
    max_length = 9

    def symmetries(self) -> Sequence[Symmetry]:
        """Return the eight symmetries of the square, the identity first."""
        return _symmetries()

    def __str__(self) -> str:
        letters = [".xo"[0 if seat is None else seat + 1] for seat in map(self.mark, range(9))]
        return "\n".join(" ".join(letters[row : row + 3]) for row in (0, 3, 6))

    def __repr__(self) -> str:
        """Write a move order that leads here; it may differ from the game played."""
        return f"{type(self).__name__}({self.moves()!r})"

    def _repr_svg_(self) -> str:
        return _svg(self)


def _turn(observation: Observation, *, quarters: int, mirrored: bool) -> Observation:
    """Mirror planes `[..., 3, 3]` left to right if asked, then turn them anticlockwise."""
    planes = np.flip(observation, -1) if mirrored else observation
    return np.rot90(planes, quarters, axes=(-2, -1))


@cache
def _symmetries() -> tuple[Symmetry, ...]:
    cells = np.arange(9).reshape(3, 3)
    pairs = []
    for mirrored in (False, True):
        for quarters in range(4):
            turn = partial(_turn, quarters=quarters, mirrored=mirrored)
            # After the turn, cell p holds the content of cell source[p].
            source = turn(cells).ravel()
            pairs.append((turn, np.argsort(source)))
    return tuple(pairs)


_CELL = 60  # pixels


def _svg(game: TicTacToe) -> str:
    """Draw the grid, crosses for seat 0 and noughts for seat 1."""
    size = 3 * _CELL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" '
        f'viewBox="0 0 {size} {size}" fill="none" stroke-width="5" stroke-linecap="round">',
        f'<rect width="{size}" height="{size}" rx="6" fill="#f4f6f8"/>',
    ]
    for at in (_CELL, 2 * _CELL):
        parts.append(f'<path stroke="#a3acb5" d="M{at} 8V{size - 8}M8 {at}H{size - 8}"/>')
    for cell in range(9):
        row, column = divmod(cell, 3)
        x, y = column * _CELL + _CELL // 2, row * _CELL + _CELL // 2
        if game.mark(cell) == 0:
            parts.append(
                f'<path stroke="#d8413a" d="M{x - 16} {y - 16}l32 32M{x + 16} {y - 16}l-32 32"/>'
            )
        elif game.mark(cell) == 1:
            parts.append(f'<circle stroke="#2b5fb3" cx="{x}" cy="{y}" r="18"/>')
    return "".join([*parts, "</svg>"])
