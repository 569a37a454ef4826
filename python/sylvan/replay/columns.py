"""Columns of numbers that grow at their end and are cut off at their beginning.

Entries are counted from the first that ever was, so a place stays valid when earlier ones go. Room
is allocated ahead, and the array is a new one whenever entries move: what was handed out before
never changes under its reader.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Column"]


class Column:
    """A growing array `[n, *shape]`.

    >>> column = Column(np.int32)
    >>> column.extend(np.arange(10)); column.drop(4)
    >>> column.begin, column.end, column[np.array([4, 9])].tolist()
    (4, 10, [4, 9])
    """

    def __init__(self, dtype: Any, shape: tuple[int, ...] = (), begin: int = 0) -> None:
        self._room: NDArray[Any] = np.empty((16, *shape), dtype)
        self._first = 0  # where entry `begin` is in the room
        self.begin = begin
        self.end = begin

    def __len__(self) -> int:
        return self.end - self.begin

    def __getitem__(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """The entries at some places, copied."""
        return self._room[places - (self.begin - self._first)]

    @property
    def flat(self) -> NDArray[Any]:
        """All entries, as a view: entry i is at place `begin + i`."""
        return self._room[self._first : self._first + len(self)]

    def extend(self, entries: NDArray[Any]) -> None:
        """Add entries at the end."""
        used = self._first + len(self)
        if used + len(entries) > len(self._room):
            self._move((len(self) + len(entries)) * 5 // 4)  # a quarter more, to move rarely
            used = len(self)
        self._room[used : used + len(entries)] = entries
        self.end += len(entries)

    def drop(self, begin: int) -> None:
        """Forget the entries before a place."""
        gone = min(max(begin, self.begin), self.end) - self.begin
        self._first += gone
        self.begin += gone
        if self._first > 1024 and self._first > len(self):
            self._move(len(self) * 5 // 4)

    def _move(self, capacity: int) -> None:
        room = np.empty((max(capacity, 16), *self._room.shape[1:]), self._room.dtype)
        room[: len(self)] = self.flat
        self._room, self._first = room, 0

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return self._room.nbytes
