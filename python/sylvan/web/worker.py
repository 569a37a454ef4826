"""A thread that does what a page asks, one request after another.

Nothing that a worker owns is shared: requests wait in a queue, and between them it does work of its
own, which it interrupts when `is_wanted`.
"""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from sylvan.errors import SylvanError
from sylvan.web.protocol import Message, Problem

__all__ = ["Send", "Worker"]

Send = Callable[[Message], None]
"""Takes a message to the page; called in the worker's thread."""

MOST_WAITING = 1000
"""Requests that may wait; a page that sends more does not read what it asks for."""

LONGEST = 2000
"""Letters of a sentence about a problem."""


Request = TypeVar("Request")


class Worker(ABC, Generic[Request]):
    """Answers requests in a thread of its own."""

    def __init__(self, send: Send) -> None:
        """Prepare; `start` begins."""
        self._send = send
        self._inbox: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name=type(self).__name__, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def hear(self, request: Request) -> bool:
        """Take in a request, unless too many wait; from any thread. Returns whether it did."""
        if self._inbox.qsize() >= MOST_WAITING:
            return False
        self._inbox.put(request)
        return True

    def close(self) -> None:
        """Stop all work and end the thread; from any thread."""
        self._closed = True
        self._inbox.put(None)

    def join(self, seconds: float) -> bool:
        """Wait for the thread's end; returns whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def is_wanted(self) -> bool:
        """Whether a request waits, or the page is gone."""
        return self._closed or not self._inbox.empty()

    def _loop(self) -> None:
        self._begin()
        while not self._closed:
            try:
                if not self._inbox.empty() or not self._has_work:
                    request = self._inbox.get()
                    if request is not None:
                        self._do(request)
                else:
                    self._work()
            except SylvanError as error:
                self._fail(str(error))
            except Exception as error:  # a fault of a game or an evaluator: the page says it
                traceback.print_exc(file=sys.stderr)
                self._fail(f"{type(error).__name__}: {error}")
        self._end()

    def _begin(self) -> None:
        """Say what comes first."""

    def _end(self) -> None:
        """Let go of everything."""

    def _fail(self, sentence: str) -> None:
        """Say what could not be done."""
        self._send(Problem(sentence=sentence[:LONGEST]))

    @property
    @abstractmethod
    def _has_work(self) -> bool:
        """Whether there is work besides requests."""

    @abstractmethod
    def _work(self) -> None:
        """Do some of it; return soon if `is_wanted`."""

    @abstractmethod
    def _do(self, request: Request) -> None:
        """Do what a page asks."""
