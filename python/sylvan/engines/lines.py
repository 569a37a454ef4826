"""Lines of text between programs: atomic output from any thread, tolerant input."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import BinaryIO, TextIO

__all__ = ["LONGEST", "Output", "lines_of"]

LONGEST = 2**20
"""Longest line in bytes; the longest chess game, 5898 moves, takes 30 thousand."""


class Output:
    """Sends lines to another program, from any thread; lines are not mixed and not buffered."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream, self._lock = stream, threading.Lock()
        self.closed = False
        """Whether the reader has closed the pipe."""

    def say(self, line: str) -> None:
        """Send one line."""
        with self._lock:
            try:
                self._stream.write(f"{line}\n")
                self._stream.flush()
            except (OSError, ValueError):  # the pipe is broken, or closed
                self.closed = True

    def leave(self) -> None:
        """If the pipe is closed, prevent an error of Python at exit."""
        if self.closed:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def lines_of(stream: BinaryIO) -> Iterator[str]:
    """Iterate over the lines of a byte stream; invalid UTF-8 is replaced, long lines are cut."""
    while line := stream.readline(LONGEST):
        complete = line.endswith(b"\n")
        while not complete and (rest := stream.readline(LONGEST)):
            complete = rest.endswith(b"\n")
        yield line.decode("utf-8", "replace").replace("\0", " ")
