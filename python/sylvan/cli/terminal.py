"""Helpers of all commands: one-line errors, a delayed progress bar, JSON."""

from __future__ import annotations

import json
import math
import re
import sys
import threading
from collections.abc import Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, Self

import typer
from typer.core import TyperGroup

from sylvan.errors import ConfigError, MissingExtra, SylvanError

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Bar", "OneLineErrors", "check_folder", "json_text", "print_json"]

# A job shorter than this many seconds shows no progress.
BAR_DELAY = 2.0

EXTRAS = {
    "ray": "cluster",
    "torch": "train",
    "onnx": "train",
    "onnxscript": "train",
    "matplotlib": "train",
    "tensorboard": "train",
    "gymnasium": "gym",
    "PIL": "gym",
    "pyspiel": "openspiel",
    "mlflow": "mlflow",
    "wandb": "wandb",
}
"""Optional packages, and the extra that installs each."""


class OneLineErrors(TyperGroup):
    """A command that reports user errors as one line on stderr with exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args)
        if not standalone_mode:
            return run(**extra)
        _replace_unencodable()
        try:
            sys.exit(run(**extra) or 0)
        except typer.TyperException as error:
            fail(_numbers_explained(error.format_message()))
        except SylvanError as error:
            fail(str(error))
        except ModuleNotFoundError as error:
            needed = EXTRAS.get((error.name or "").partition(".")[0])
            if needed is None:  # a mistake of ours, or of the user's own module
                raise
            fail(str(MissingExtra.named(f"This command needs the package {error.name}", needed)))
        except UnicodeEncodeError as error:
            fail(f"The input has bytes that are not UTF-8 text: {error.object!r}")
        except Exception as error:
            from sylvan.games.own_files import own_fault

            if (fault := own_fault(error)) is not None:
                fail(f"{fault}: mend the file.")
            if isinstance(error, OSError) and error.filename is not None:  # a file that they named
                fail(f"{error.filename}: {error.strerror}")
            raise


def _replace_unencodable() -> None:
    """Read and print a substitute for what an encoding does not have: suits of cards in ASCII."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _numbers_explained(message: str) -> str:
    """Rewrite the error for a negative number, which is parsed as an option.

    >>> _numbers_explained("No such option: -1")
    '-1 is read as an option: give a number of at least 0.'
    """
    number = re.fullmatch(r"No such option: (-\d\S*)", message)
    if number is None:
        return message
    return f"{number[1]} is read as an option: give a number of at least 0."


def fail(message: str) -> NoReturn:
    print("error:", " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


def print_json(facts: Any) -> None:
    """Print strict JSON to stdout."""
    print(json_text(facts))


def json_text(facts: Any) -> str:
    """Format strict JSON: `null` for missing numbers, never `NaN`."""
    return json.dumps(_finite(facts), indent=2)


def check_folder(path: Path | None) -> None:
    """Reject an unwritable path before hours of work."""
    if path is not None and not path.parent.is_dir():
        raise ConfigError(f"{path} cannot be written: there is no folder {path.parent}")
    if path is not None and path.is_dir():
        raise ConfigError(f"{path} cannot be written: it is a folder")


def _finite(facts: Any) -> Any:
    if isinstance(facts, dict):
        return {key: _finite(value) for key, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [_finite(value) for value in facts]
    if isinstance(facts, float) and not math.isfinite(facts):
        return None
    return facts


class Bar:
    """A progress bar on stderr that appears after `BAR_DELAY` seconds.

    A timer starts it, so it appears even without calls of `show`, if the interpreter lock is free.
    """

    def __init__(self, job: str) -> None:
        self._job = job
        self._bar: Progress | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(BAR_DELAY, self._start)
        self._timer.daemon = True
        self._done: float = 0
        self._total: float | None = None

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with self._lock:
            if console.is_terminal and not self._timer.finished.is_set():
                bar = Progress(*columns, console=console, transient=True, get_time=monotonic)
                self._task = bar.add_task(self._job, completed=int(self._done), total=self._total)
                bar.tasks[0].start_time = self._began
                bar.start()
                self._bar = bar

    def show(self, done: float, total: float | None) -> None:
        """Set the progress; `None`: the total is unknown."""
        with self._lock:
            self._done, self._total = done, total
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total)

    def __enter__(self) -> Self:
        self._began = monotonic()
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
