"""Load the evaluator of the next lease in a thread, while the games of this one are played."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

from sylvan.selfplay.leases import Lease

__all__ = ["Load", "Loading"]

Load = Callable[[Lease], Any]
"""Gives what evaluates the positions of a lease: an `AnyEvaluator`, or a learned model."""


class Loading:
    """Loads the evaluator of `lease`; begins at once."""

    def __init__(self, lease: Lease, load: Load) -> None:
        self.lease: Lease | None = lease
        self.evaluator: Any = None
        """The evaluator, if `has_succeeded`."""
        self._succeeded = False
        # Not a daemon: PyTorch may crash if the process ends meanwhile.
        self._thread = Thread(target=self._run, args=(lease, load), name="sylvan-loading")
        self._thread.start()

    def _run(self, lease: Lease, load: Load) -> None:
        try:
            self.evaluator = load(lease)
        except (
            Exception
        ):  # `load` is called again when the evaluator is needed, and raises it there
            return
        self._succeeded = True

    @property
    def has_succeeded(self) -> bool:
        """Whether the evaluator is loaded; false also if that failed."""
        return not self._thread.is_alive() and self._succeeded

    def forget(self) -> None:
        """Give up the evaluator, without waiting for it."""
        self.lease = None

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()
