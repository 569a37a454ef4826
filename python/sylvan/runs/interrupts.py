"""Handle Ctrl-C: the first ends the run at the next step boundary, the second immediately."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

__all__ = ["Interrupts"]


class Interrupts:
    """Inside this context the first SIGINT or SIGTERM sets `requested`; the next one interrupts.

    Python delivers signals only to the main thread; in other threads this does nothing. A signal
    that is already ignored (by nohup, or in a shell's background) stays ignored.

    :param asked: called at the first signal, to inform the user.
    """

    def __init__(self, asked: Callable[[], None]) -> None:
        self.requested = False
        self._asked = asked
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._asked()
