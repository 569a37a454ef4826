"""The metrics of a run: a file of JSON lines, one per step, that is only appended to.

A line is one JSON object with the step and flat names, prefixed by the part that measured them:

    {"step": 12, "selfplay.games": 64, "loss.policy": 1.31, "rating.elo": 212.5}

A line is written in one call. A process killed during it leaves an incomplete last line, which
readers ignore and the next line replaces. JSON has no NaN and no infinity: they are the strings
`NaN`, `Infinity` and `-Infinity`, as in the JSON of Protocol Buffers, so that strict parsers read
every line.
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
"""The name of the file in a run's folder."""

Columns = dict[str, NDArray[np.float64]]
"""Name to `[steps]` numbers; NaN marks steps without it. `step` is one of the names."""

Line = dict[str, Any]

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Metrics:
    """The metrics file of a run's folder.

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
        self._complete = False  # whether the file's last line is known to be complete

    def log(self, step: int, **numbers: Any) -> None:
        """Append a line for a step; on return it is written, but not yet flushed to the disk.

        Args:
            step: of the run.
            **numbers: by name; a mapping or a dataclass is a group, whose members are named
                `group.member`. None is omitted. Texts are kept for `lines`.

        :raises OSError: the line could not be written; the file is unchanged.
        """
        line = {"step": int(step), **_flat(numbers)}
        data = json.dumps(line, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        if not self._complete:
            drop_incomplete_line(self.path)
            self._complete = True
        with self.path.open("ab", buffering=0) as file:
            length = file.tell()
            try:
                if file.write(data) != len(data):
                    raise OSError(28, "No space left for a line of metrics", str(self.path))
            except OSError:
                file.truncate(length)
                raise

    def keep(self, step: int) -> int:
        """Drop the lines after `step`, to resume a run there; return the number of dropped lines.

        The file is replaced atomically.
        """
        if not self.path.exists():
            return 0
        before = list(self.lines())
        after = [line for line in before if line["step"] <= step]
        drop_incomplete_line(self.path)
        if len(after) < len(before):
            write_bytes(
                self.path, b"".join(json.dumps(_plain(line)).encode() + b"\n" for line in after)
            )
        return len(before) - len(after)

    def lines(self) -> Iterator[Line]:
        """Every line as it was logged, with NaN and infinities as floats."""
        return read_lines(self.path)

    def columns(self) -> Columns:
        """All numbers, by name; see `read_columns`."""
        return read_columns(self.path)


def read_lines(path: str | PathLike[str]) -> Iterator[Line]:
    """The complete lines of a metrics file; none if there is no file.

    :raises RunError: a line before the last is damaged; the message gives its number.
    """
    if not Path(path).exists():
        return
    with Path(path).open("rb") as file:
        for number, data in enumerate(file, start=1):
            if not data.endswith(b"\n"):  # the process was killed while writing
                return
            yield _parsed(data, path, number)


def read_columns(path: str | PathLike[str]) -> Columns:
    """Read the numbers of a metrics file as arrays of equal length, ordered by step."""
    return to_columns(read_lines(path))


def to_columns(lines: Iterable[Mapping[str, Any]]) -> Columns:
    """Convert lines to arrays of equal length, ordered by step.

    Several lines of one step become one entry; if two lines have the same name, the later wins.
    Texts are omitted.
    """
    steps: dict[int, dict[str, float]] = {}
    for line in lines:
        numbers = {k: float(v) for k, v in line.items() if isinstance(v, int | float | np.number)}
        steps.setdefault(int(line["step"]), {}).update(numbers)
    names = dict.fromkeys(["step", *(name for row in steps.values() for name in row)])
    rows = [steps[step] for step in sorted(steps)]
    return {name: np.array([row.get(name, math.nan) for row in rows]) for name in names}


def drop_incomplete_line(path: Path) -> None:
    """Truncate a file after its last line feed."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        length = end
        while length:
            start = max(0, length - 4096)
            file.seek(start)
            found = file.read(length - start).rfind(b"\n")
            if found >= 0:
                length = start + found + 1
                break
            length = start
        if length < end:
            file.truncate(length)


def _parsed(data: bytes, path: str | PathLike[str], number: int) -> Line:
    try:
        line = json.loads(data)
    except ValueError:
        line = None
    if not isinstance(line, dict) or not isinstance(line.get("step"), int):
        raise RunError(
            f"{path}, line {number}, is damaged: it must be a JSON object with a step; delete the "
            "line."
        )
    return {key: _NON_FINITE.get(v, v) if isinstance(v, str) else v for key, v in line.items()}


def _flat(numbers: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten groups to dotted names, and convert every value to JSON."""
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
    """Convert a number or a text to strict JSON."""
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
