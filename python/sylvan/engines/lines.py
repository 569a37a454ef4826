"""Lines between programs: whole lines out, from any thread; lines in, whatever is in them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import BinaryIO, TextIO

__all__ = ["LONGEST", "Output", "lines_of"]

LONGEST = 2**20
"""Bytes of a line; a game of 5898 moves, the longest there is, takes 30 thousand."""


class Output:
    """Lines to another program, from any thread, each whole and at once."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream, self._lock = stream, threading.Lock()
        self.closed = False
        """Whether nobody reads any more."""

    def say(self, line: str) -> None:
        """Send one line."""
        with self._lock:
            try:
                self._stream.write(f"{line}\n")
                self._stream.flush()
            except (OSError, ValueError):  # the pipe is broken, or closed
                self.closed = True

    def leave(self) -> None:
        """Keep Python from complaining, when it ends, that nobody reads any more."""
        if self.closed:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def lines_of(stream: BinaryIO) -> Iterator[str]:
    """The lines of a byte stream, whatever is in them; those over `LONGEST` are cut."""
    while line := stream.readline(LONGEST):
        whole = line.endswith(b"\n")
        while not whole and (rest := stream.readline(LONGEST)):
            whole = rest.endswith(b"\n")
        yield line.decode("utf-8", "replace").replace("\0", " ")
