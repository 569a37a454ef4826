"""Arrays that grow at the end and are dropped at the beginning.

Entries are numbered from the first one ever added, so an index stays valid when earlier entries are
dropped. Capacity is allocated ahead. Moving entries allocates a new array: views that were returned
before never change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Column"]


class Column:
    """A growing array `[n, *shape]`.

    >>> column = Column(np.int32)
    >>> column.extend(np.arange(10)); column.drop(4)
    >>> column.begin, column.end, column[np.array([4, 9])].tolist()
    (4, 10, [4, 9])
    """

    def __init__(self, dtype: DTypeLike, shape: tuple[int, ...] = (), begin: int = 0) -> None:
        self._buffer: NDArray[Any] = np.empty((16, *shape), dtype)
        self._first = 0  # index of entry `begin` in the buffer
        self.begin = begin
        self.end = begin

    def __len__(self) -> int:
        return self.end - self.begin

    def __getitem__(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Copies of the entries at some indices."""
        return self._buffer[indices - (self.begin - self._first)]

    @property
    def flat(self) -> NDArray[Any]:
        """All entries, as a view: `flat[i]` has the index `begin + i`."""
        return self._buffer[self._first : self._first + len(self)]

    def extend(self, entries: NDArray[Any]) -> None:
        """Add entries at the end."""
        used = self._first + len(self)
        if used + len(entries) > len(self._buffer):
            self._move((len(self) + len(entries)) * 5 // 4)  # a quarter more, to move rarely
            used = len(self)
        self._buffer[used : used + len(entries)] = entries
        self.end += len(entries)

    def drop(self, begin: int) -> None:
        """Drop the entries before an index."""
        dropped = min(max(begin, self.begin), self.end) - self.begin
        self._first += dropped
        self.begin += dropped
        if self._first > 1024 and self._first > len(self):
            self._move(len(self) * 5 // 4)

    def _move(self, capacity: int) -> None:
        buffer = np.empty((max(capacity, 16), *self._buffer.shape[1:]), self._buffer.dtype)
        buffer[: len(self)] = self.flat
        self._buffer, self._first = buffer, 0

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._buffer.nbytes
