"""Connect Four, the game and its exact solver.

Two seats drop stones into columns in turn; the first with four in a row wins, a full board is a
draw. 7 × 6, or any board with `columns * (rows + 1) <= 64`.

- An *action* is a column, 0 at the left; its name counts from 1, as the literature does.
- An *observation* is float32 of shape `(2, rows, columns)`: the stones of the seat to move, then
  the other seat's; row 0 is the top row.
- *Returns* are 1, 0 or -1; seat 0 begins.

The rules and the solver are in Rust (`sylvan._native`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sylvan import _native
from sylvan.games.game import Game, Observation, Symmetry

__all__ = ["ConnectFour", "Solution", "Solver"]


class ConnectFour(_native.ConnectFour, Game):
    """A position, made from moves.

    :param moves: columns counted from 1 in a string, `"4453"`, or actions counted from 0 in a list.
        On a board of more than nine columns, spaces or commas separate the numbers of a string.
    :raises IllegalAction: a move cannot be played, or is not a column.
    :raises GameOver: a move follows the end of the game.
    :raises ConfigError: the board is too large, or has no columns or rows.

    >>> game = ConnectFour("4453", columns=7, rows=6)
    >>> game.apply(2)
    >>> print(game)
    .  .  .  .  .  .  .
    .  .  .  .  .  .  .
    .  .  .  .  .  .  .
    .  .  .  .  .  .  .
    .  .  x  o  .  .  .
    .  .  o  x  x  .  .
    1  2  3  4  5  6  7
    >>> game.to_play(), game.legal_actions(), game.stones
    (1, [0, 1, 2, 3, 4, 5, 6], 5)
    """

    __slots__ = ()

    num_players = 2
    zero_sum = True
    default_evaluator = "shipped"
    value_range = (-1.0, 1.0)

    def symmetries(self) -> Sequence[Symmetry]:
        """Return the identity and the left-right mirror."""
        columns = np.arange(self.columns)
        return [(_same, columns), (_mirror, columns[::-1])]

    def solve(self, timeout: float | None = None) -> Solution:
        """Compute the exact score of the position and of each of its moves.

        Takes milliseconds with 14 stones or more, minutes for an empty 7 × 6 board; Ctrl-C
        stops it. To solve many positions, share a `Solver`: it keeps its transposition table.

        :param timeout: seconds.
        :raises SolveTimeout: the timeout passed.

        >>> ConnectFour("1212", columns=5, rows=4).solve().best
        (0,)
        """
        return Solver().solve(self, timeout)

    def __str__(self) -> str:
        lines = [list(line) for line in self.to_rows().split("/")]
        lines.append([str(column + 1) for column in range(self.columns)])
        return "\n".join(" ".join(f"{cell:2}" for cell in line).rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.from_rows({self.to_rows()!r})"

    def _repr_svg_(self) -> str:
        return _svg(self)


@dataclass(frozen=True)
class Solution:
    """A position under perfect play.

    The score is the number of stones the winner has left, the winning stone included: 1 for a win
    with the last stone, more for a faster win; 0 for a draw, negative for a loss.

    >>> print(ConnectFour("1122", columns=5, rows=4).solve())
    column   1   2   3   4   5
    score   -1   0   0   0   0
    The seat to move draws in 16 plies; best: 2, 3, 4, 5.
    """

    score: int
    """For the seat to move; the highest of `scores`."""
    outcome: int
    """For the seat to move: 1 win, 0 draw, -1 loss."""
    plies: int
    """Stones until the end, with the fastest win and the slowest loss."""
    best: tuple[int, ...]
    """The columns, counted from 0, with the highest score; none in a finished game."""
    scores: tuple[int | None, ...]
    """Per column, the score of its move, for the seat to move; None for a full column."""
    nodes: int
    """Number of positions searched."""

    def __str__(self) -> str:
        names = [str(column + 1) for column in range(len(self.scores))]
        scores = ["-" if score is None else str(score) for score in self.scores]
        width = max(4, *(len(score) + 2 for score in scores))
        table = "\n".join(
            head + "".join(f"{cell:>{width}}" for cell in line)
            for head, line in (("column", names), ("score ", scores))
        )
        result = {1: "wins", 0: "draws", -1: "loses"}[self.outcome]
        best = ", ".join(names[column] for column in self.best) or "none, the game is over"
        plies = f"{self.plies} {'ply' if self.plies == 1 else 'plies'}"
        return f"{table}\nThe seat to move {result} in {plies}; best: {best}."


class Solver:
    """An exact solver that keeps its transposition table between positions.

    :param megabytes: size limit of the table, rounded down to a power of two.
    :raises ConfigError: it is less than 1 or more than a million.

    >>> solver = Solver()
    >>> [solver.solve(ConnectFour(columns=columns, rows=4)).outcome for columns in (4, 5)]
    [0, 0]
    """

    def __init__(self, megabytes: int = 64) -> None:
        self._native = _native.ConnectFourSolver(megabytes)

    def solve(self, game: ConnectFour, timeout: float | None = None) -> Solution:
        """Compute the exact score of a position and of each of its moves; see
        `ConnectFour.solve`.
        """
        score, outcome, plies, best, scores, nodes = self._native.solve(game, timeout)
        return Solution(score, outcome, plies, tuple(best), tuple(scores), nodes)


def _same(observation: Observation) -> Observation:
    return observation


def _mirror(observation: Observation) -> Observation:
    return np.flip(observation, -1)


_CELL = 44  # pixels
_COLOURS = {None: "#f4f6f8", 0: "#d8413a", 1: "#f2c230"}


def _svg(game: ConnectFour) -> str:
    """Draw the board: seat 0 red, seat 1 yellow, a ring around the stones of a line of four."""
    width, height = game.columns * _CELL, game.rows * _CELL
    line = _lines_of_four(game)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#2b5fb3"/>',
    ]
    for column in range(game.columns):
        for row in range(game.rows):
            x, y = (column + 0.5) * _CELL, height - (row + 0.5) * _CELL
            ring = ' stroke="#ffffff" stroke-width="4"' if (column, row) in line else ""
            fill = _COLOURS[game.stone(column, row)]
            parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="17" fill="{fill}"{ring}/>')
    return "".join([*parts, "</svg>"])


def _lines_of_four(game: ConnectFour) -> set[tuple[int, int]]:
    """Return the cells (column, row) of all lines of four."""
    found: set[tuple[int, int]] = set()
    for column in range(game.columns):
        for row in range(game.rows):
            for right, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
                line = [(column + right * i, row + up * i) for i in range(4)]
                owners = {game.stone(c, r) if r >= 0 else None for c, r in line}
                if len(owners) == 1 and owners != {None}:
                    found.update(line)
    return found
