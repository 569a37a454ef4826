"""Ctrl-C and SIGTERM: stop at once, or first finish something; end the process in time."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn, Self

__all__ = ["INTERRUPTED", "Interrupts", "MustEnd"]

INTERRUPTED = 130
"""Exit code of an interrupted command, as shells give it."""

STOPS = (signal.SIGINT, signal.SIGTERM)

SHOW_CURSOR = "\x1b[?25h"

FLUSHED_WITHIN = 0.03
"""Maximum seconds to print the last words."""


class Interrupts:
    """Inside this context SIGTERM interrupts like SIGINT, and `requested` says that one came.

    Python delivers signals only to the main thread; in other threads this does nothing. A signal
    that is already ignored (by nohup, or in a shell's background) stays ignored.

    :param asked: called at the first signal, and only the next one interrupts; default: the first
        interrupts.
    """

    def __init__(self, asked: Callable[[], None] | None = None) -> None:
        self.requested = False
        self._asked = asked
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in STOPS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        first, self.requested = not self.requested, True
        if not first or self._asked is None:
            raise KeyboardInterrupt
        self._asked()


class MustEnd:
    """Inside this context SIGINT and SIGTERM interrupt, and the process ends soon after.

    Python runs a signal's handler between two instructions of the main thread, so a long call into
    a library delays it. A thread hears of the signal at once, waits for `seconds` and ends the
    process, whatever the main thread does. Use this only around work that survives a kill.

    :param farewell: printed if the process is ended without `said`.
    """

    def __init__(self, seconds: float, farewell: str) -> None:
        self.said = False
        """Whether the user knows that the command was interrupted."""
        self._seconds, self._farewell = seconds, farewell
        self._interrupts = Interrupts()
        self._heard = False
        self._done = threading.Event()

    def __enter__(self) -> Self:
        self._interrupts.__enter__()
        if threading.current_thread() is threading.main_thread():
            self._reader, self._writer = os.pipe()
            os.set_blocking(self._writer, False)
            self._before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            self._thread = threading.Thread(target=self._end, name="sylvan-must-end", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(self._before)
            self._done.set()
            os.write(self._writer, b"\0")
            self._thread.join()
            os.close(self._reader)
            os.close(self._writer)
            if self._heard and (kind is None or not issubclass(kind, Exception)):
                self._leave()  # the end of the interpreter may take long
        self._interrupts.__exit__()

    def _end(self) -> None:
        """Wait for a signal; then give the main thread some time, and end the process."""
        heard: set[int] = set()
        while not heard & {*STOPS, 0}:
            heard |= set(os.read(self._reader, 64))
        self._heard = not heard.isdisjoint(STOPS)
        if self._heard and not self._done.wait(self._seconds):
            self._leave()

    def _leave(self) -> NoReturn:
        """End the process; a stream that blocks does not delay it."""
        said = threading.Thread(target=self._say_farewell, daemon=True)
        said.start()
        said.join(FLUSHED_WITHIN)
        os._exit(INTERRUPTED)

    def _say_farewell(self) -> None:
        with suppress(Exception):
            if not self.said:
                print(self._farewell)
            for stream in (sys.stdout, sys.stderr):
                if stream.isatty():
                    stream.write(SHOW_CURSOR)
                stream.flush()
