"""A progress bar for searches that are called from Python: on stderr, and only on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(job: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar for as long as the block runs; the function that it gives takes how much is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(job, total=total)
        yield lambda done: bar.update(task, completed=done)
        bar.update(task, completed=total)
