"""A batch cut into parts, one thread each from the first layer to the last."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["Shares", "processors"]


class Shares:
    """Threads that share the rows of a batch.

    :param threads: that work at the same time, the caller's included.
    :param batch: rows of a part at most.
    :param least: rows below which a part is not worth another thread's waking up.
    """

    def __init__(self, threads: int, batch: int, least: int = 1) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.threads, self.batch, self.least = threads, batch, least
        self._pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="sylvan-onnx")

    def __call__(self, count: int, work: Callable[[int, int], None]) -> None:
        """Do `work(start, stop)` for parts of `count` rows.

        A thread prepares its own rows and gathers its own answers, while they are in its cache.
        """
        size = max(self.least, min(self.batch, -(-count // self.threads)))
        others = [
            self._pool.submit(work, start, min(start + size, count))
            for start in range(size, count, size)
        ]
        if count:
            work(0, min(size, count))  # this thread would only wait
        for other in others:
            other.result()


def processors() -> int:
    """Processors that this program may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
