"""Split a batch over threads, each of which runs the whole network on its part."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["BatchSplitter", "processors"]


class BatchSplitter:
    """Splits the rows of a batch over threads.

    :param threads: number of threads, including the caller's.
    :param batch: maximum rows of a part.
    :param least: minimum rows of a part: fewer are not worth waking another thread.
    """

    def __init__(self, threads: int, batch: int, least: int = 1) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.threads, self.batch, self.least = threads, batch, least
        self._pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="sylvan-onnx")

    def __call__(self, count: int, work: Callable[[int, int], None]) -> None:
        """Call `work(start, stop)` for parts of `count` rows, and wait for all of them.

        A thread should prepare its rows and gather its results itself, while its CPU cache holds
        them.
        """
        size = max(self.least, min(self.batch, -(-count // self.threads)))
        others = [
            self._pool.submit(work, start, min(start + size, count))
            for start in range(size, count, size)
        ]
        if count:
            work(0, min(size, count))  # in this thread, which would only wait
        for other in others:
            other.result()


def processors() -> int:
    """Number of CPUs that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
