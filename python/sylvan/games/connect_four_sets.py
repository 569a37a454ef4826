"""Connect Four positions to test with, never to train on: three sets of 1,000, solved exactly.

All have 9 to 14 stones. What sets them apart is how long they last under perfect play:

| set | plies to the end |
|---|---|
| `hard` | more than 28 |
| `medium` | 14 to 28 |
| `easy` | fewer than 14 |

They are cut out of random games (`benchmarks/connect_four_sets.py` says how, and makes them again);
two that mirror each other count as one. A set is a text file, a line per position: the columns
played, counted from 1, and the exact score of each column, as `ConnectFour.solve` gives it, `.`
where none can be played.

    44334 -4,-4,2,2,-4,.,1

Self-play does not know of these files. It may of course meet such positions on its own: `held_out`
says which of the positions of a game are in a set, for those who want to leave them out.
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
    """A position, and what each of its moves is worth.

    >>> position = SolvedPosition.parse("444444 -2,-1,1,.,-2,-3,-1")
    >>> position.keeps_value(2), position.keeps_value(0), position.is_forced
    (True, False, False)
    """

    moves: str
    """Columns counted from 1."""
    scores: tuple[int | None, ...]
    """Per column, for the seat to move; None where no stone can be dropped."""

    @classmethod
    def parse(cls, line: str) -> SolvedPosition:
        """A line of a set."""
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
        """Game value after each column's move, for the seat that makes it; -2 where none can be."""
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
        """Whether a move is no mistake: the value after it is the position's."""
        return int(self.values[action]) == self.value


def set_of(plies: int) -> str:
    """The set that a position belongs to which ends after so many plies.

    >>> [set_of(plies) for plies in (13, 14, 28, 29)]
    ['easy', 'medium', 'medium', 'hard']
    """
    return "hard" if plies > 28 else "medium" if plies >= 14 else "easy"


@cache
def read_set(name: str) -> tuple[SolvedPosition, ...]:
    """The positions of one set, in the order in which they were found.

    :raises ConfigError: there is no such set.
    """
    if name not in SETS:
        raise ConfigError(f"There is no set {name!r}: use one of {', '.join(SETS)}.")
    file = resources.files("sylvan.games") / "data" / f"connect_four_{name}.txt"
    return tuple(map(SolvedPosition.parse, file.read_text("ascii").splitlines()))


def position_key(game: ConnectFour) -> str:
    """What a position and its mirror image have in common, and no other position.

    >>> position_key(ConnectFour("112")) == position_key(ConnectFour("667"))
    False
    >>> position_key(ConnectFour("112")) == position_key(ConnectFour("776"))
    True
    """
    rows = game.to_rows()
    return min(rows, "/".join(row[::-1] for row in rows.split("/")))


def held_out(games: Iterable[ConnectFour]) -> list[bool]:
    """For each position, whether it or its mirror image is in one of the sets."""
    return [position_key(game) in _held_out() for game in games]


@cache
def _held_out() -> frozenset[str]:
    return frozenset(position_key(position.game) for name in SETS for position in read_set(name))
