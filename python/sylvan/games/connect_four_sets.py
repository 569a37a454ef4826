"""Connect Four test positions, not for training: three sets of 1,000, solved exactly.

All have 9 to 14 stones. The sets differ in the number of plies to the end under perfect play:

| set | plies to the end |
|---|---|
| `hard` | more than 28 |
| `medium` | 14 to 28 |
| `easy` | fewer than 14 |

They come from random games (`benchmarks/connect_four_sets.py` documents and repeats the
selection); two mirrored positions count as one. A set is a text file, one line per position: the
columns played, counted from 1, and the exact score of each column as in `ConnectFour.solve`, `.`
for a full column.

    44334 -4,-4,2,2,-4,.,1

Self-play does not read these files, but may reach such positions on its own: `held_out` finds
them, for callers that want to leave them out of training.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError
from sylvan.games import ConnectFour

__all__ = ["SETS", "SolvedPosition", "held_out", "position_key", "read_set", "set_of"]

SETS = ("hard", "medium", "easy")


@dataclass(frozen=True)
class SolvedPosition:
    """A position and the exact score of each move.

    >>> position = SolvedPosition.parse("444444 -2,-1,1,.,-2,-3,-1")
    >>> position.keeps_value(2), position.keeps_value(0), position.is_forced
    (True, False, False)
    """

    moves: str
    """Columns counted from 1."""
    scores: tuple[int | None, ...]
    """Per column, for the seat to move; None for a full column."""

    @classmethod
    def parse(cls, line: str) -> SolvedPosition:
        """Parse a line of a set."""
        moves, _, scores = line.partition(" ")
        return cls(moves, tuple(None if s == "." else int(s) for s in scores.split(",")))

    def __str__(self) -> str:
        scores = ",".join("." if score is None else str(score) for score in self.scores)
        return f"{self.moves} {scores}"

    @property
    def game(self) -> ConnectFour:
        return ConnectFour(self.moves)

    @property
    def values(self) -> NDArray[np.int8]:
        """Game value after each column's move, for the seat to move; -2 for a full column."""
        return np.array([-2 if s is None else (s > 0) - (s < 0) for s in self.scores], np.int8)

    @property
    def value(self) -> int:
        """The game value for the seat to move: 1, 0 or -1."""
        return int(self.values.max())

    @property
    def is_forced(self) -> bool:
        """Whether every move keeps the value, so that no mistake can be made."""
        return all(value in (-2, self.value) for value in self.values)

    def keeps_value(self, action: int) -> bool:
        """Return whether a move keeps the game value, and so is not a mistake."""
        return int(self.values[action]) == self.value


def set_of(plies: int) -> str:
    """Return the set of a position that ends after `plies` under perfect play.

    >>> [set_of(plies) for plies in (13, 14, 28, 29)]
    ['easy', 'medium', 'medium', 'hard']
    """
    return "hard" if plies > 28 else "medium" if plies >= 14 else "easy"


@cache
def read_set(name: str) -> tuple[SolvedPosition, ...]:
    """Return the positions of one set, in the order of the file.

    :raises ConfigError: no set has this name.
    """
    if name not in SETS:
        raise ConfigError(f"There is no set {name!r}: use one of {', '.join(SETS)}.")
    file = resources.files("sylvan.games") / "data" / f"connect_four_{name}.txt"
    return tuple(map(SolvedPosition.parse, file.read_text("ascii").splitlines()))


def position_key(game: ConnectFour) -> str:
    """Return a key that a position shares only with its mirror image.

    >>> position_key(ConnectFour("112")) == position_key(ConnectFour("667"))
    False
    >>> position_key(ConnectFour("112")) == position_key(ConnectFour("776"))
    True
    """
    rows = game.to_rows()
    return min(rows, "/".join(row[::-1] for row in rows.split("/")))


def held_out(games: Iterable[ConnectFour]) -> list[bool]:
    """Return, for each position, whether it or its mirror image is in one of the sets."""
    return [position_key(game) in _held_out() for game in games]


@cache
def _held_out() -> frozenset[str]:
    return frozenset(position_key(position.game) for name in SETS for position in read_set(name))
