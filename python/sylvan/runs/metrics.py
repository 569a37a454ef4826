"""What a run measured, step by step: JSON lines that only ever grow.

A line is one JSON object with the step and flat names that say where a number comes from:

    {"step": 12, "selfplay.games": 64, "loss.policy": 1.31, "rating.elo": 212.5}

A line is written whole and at once. A run that is cut off inside one leaves half of it at the end,
which readers leave out and the next line replaces. JSON has no word for numbers that do not exist:
those are the strings `NaN`, `Infinity` and `-Infinity`, as in the JSON of Protocol Buffers, so that
strict readers read every line and nothing is lost.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import RunError
from sylvan.files import write_bytes

__all__ = ["FILE", "Columns", "Metrics", "read_columns", "read_lines", "to_columns"]

FILE = "metrics.jsonl"
"""Its name in a run's folder."""

Columns = dict[str, NDArray[np.float64]]
"""Name to `[steps]` numbers; NaN where a step has none. `step` is one of the names."""

Line = dict[str, Any]

_STRANGE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Metrics:
    """The metrics of a run's folder, to be written to and read from.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     metrics = Metrics(folder)
    ...     metrics.log(1, loss={"policy": 1.5, "value": 0.9}, replay={"window": 512})
    ...     metrics.log(2, loss={"policy": 1.2, "value": 0.8})
    ...     metrics.columns()["loss.policy"].tolist()
    [1.5, 1.2]
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.path = Path(folder) / FILE
        self._whole = False  # whether the file's last line is known to be complete

    def log(self, step: int, **numbers: Any) -> None:
        """Append a line for a step; it is in the operating system's hands on return.

        Args:
            step: of the run.
            **numbers: by name; a mapping or a dataclass is a group, whose members are named
                `group.member`. What is None is left out. Texts are kept for `lines`.

        :raises OSError: the line could not be written; the file is then as it was.
        """
        line = {"step": int(step), **_flat(numbers)}
        data = json.dumps(line, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        if not self._whole:
            drop_torn_line(self.path)
            self._whole = True
        with self.path.open("ab", buffering=0) as file:
            length = file.tell()
            try:
                if file.write(data) != len(data):
                    raise OSError(28, "No space left for a line of metrics", str(self.path))
            except OSError:
                file.truncate(length)
                raise

    def keep(self, step: int) -> int:
        """Drop the lines of later steps, for a run that goes on after `step`; how many went.

        The file is replaced by a new one, so that a crash leaves the old or the new.
        """
        if not self.path.exists():
            return 0
        before = list(self.lines())
        after = [line for line in before if line["step"] <= step]
        drop_torn_line(self.path)
        if len(after) < len(before):
            write_bytes(
                self.path, b"".join(json.dumps(_plain(line)).encode() + b"\n" for line in after)
            )
        return len(before) - len(after)

    def lines(self) -> Iterator[Line]:
        """Every line as it was logged, numbers that do not exist as floats."""
        return read_lines(self.path)

    def columns(self) -> Columns:
        """All numbers, by name; see `read_columns`."""
        return read_columns(self.path)


def read_lines(path: str | PathLike[str]) -> Iterator[Line]:
    """The lines of a metrics file that are whole; none if there is no file.

    :raises RunError: a line before the last is damaged; the message says which.
    """
    if not Path(path).exists():
        return
    with Path(path).open("rb") as file:
        for number, data in enumerate(file, start=1):
            if not data.endswith(b"\n"):  # cut off while it was written
                return
            yield _parsed(data, path, number)


def read_columns(path: str | PathLike[str]) -> Columns:
    """The numbers of a metrics file as arrays of one length, ordered by step."""
    return to_columns(read_lines(path))


def to_columns(lines: Iterable[Mapping[str, Any]]) -> Columns:
    """The numbers of lines as arrays of one length, ordered by step.

    A step that has several lines is one entry; where two lines name the same number, the later
    counts. Texts are left out.
    """
    steps: dict[int, dict[str, float]] = {}
    for line in lines:
        numbers = {k: float(v) for k, v in line.items() if isinstance(v, int | float | np.number)}
        steps.setdefault(int(line["step"]), {}).update(numbers)
    names = dict.fromkeys(["step", *(name for row in steps.values() for name in row)])
    rows = [steps[step] for step in sorted(steps)]
    return {name: np.array([row.get(name, math.nan) for row in rows]) for name in names}


def drop_torn_line(path: Path) -> None:
    """Cut a file after its last line end."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        place = end
        while place:
            start = max(0, place - 4096)
            file.seek(start)
            found = file.read(place - start).rfind(b"\n")
            if found >= 0:
                place = start + found + 1
                break
            place = start
        if place < end:
            file.truncate(place)


def _parsed(data: bytes, path: str | PathLike[str], number: int) -> Line:
    try:
        line = json.loads(data)
    except ValueError:
        line = None
    if not isinstance(line, dict) or not isinstance(line.get("step"), int):
        raise RunError(
            f"{path}, line {number}, is damaged: it must be a JSON object with a step; delete that "
            "line."
        )
    return {key: _STRANGE.get(v, v) if isinstance(v, str) else v for key, v in line.items()}


def _flat(numbers: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Groups opened, as names with dots, and every value as JSON has it."""
    flat: dict[str, Any] = {}
    for name, value in numbers.items():
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}."))
        elif value is not None:
            flat[f"{prefix}{name}"] = _json(value)
    return flat


def _json(value: Any) -> Any:
    """A number or a text as strict JSON can say it."""
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def _plain(line: Line) -> Line:
    return {name: _json(value) for name, value in line.items()}
