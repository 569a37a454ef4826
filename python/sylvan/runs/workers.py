"""The workers of a run on a cluster: what each has played, as totals in `cluster/workers.json`.

The learner adds the leases of each step once, however often the step is repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sylvan.files import write_bytes
from sylvan.views.text import percent, short_count

__all__ = ["HEAD", "WorkerTotals", "worker_rows"]

FILE = Path("cluster") / "workers.json"

SUMS = ("games", "positions", "simulations", "rows", "capacity", "seconds", "network", "waited")
"""Sums; the last three are seconds: in which it played, in the network, in which the
network waited for the games."""

HEAD = (
    *("worker", "machine", "starts", "leases", "games", "positions", "positions/s"),
    *("network", "network waits", "batches full"),
)
"""Titles of the columns of `worker_rows`."""

MOST = 200
"""Rows of a table."""

_START = re.compile(r"(-\d+){2}$")
"""The suffix of a worker's name per start: process of the driver and number of the start."""


class WorkerTotals:
    """The totals of a run's workers.

    :param run: the run's folder.
    """

    def __init__(self, run: Path) -> None:
        self._path = run / FILE
        self.step = 0
        """The last step that was added."""
        self.workers: dict[str, dict[str, Any]] = {}
        try:
            found = json.loads(self._path.read_bytes())
            self.step, self.workers = found["step"], found["workers"]
        except (OSError, ValueError, KeyError):
            return

    def add(self, step: int, leases: Iterable[tuple[str, str, Mapping[str, float]]]) -> None:
        """Add the leases of a step: name and machine of the worker, and its sums.

        :raises OSError: the file cannot be written; the totals here are right.
        """
        if step <= self.step:
            return
        self.step = step
        for name, machine, sums in leases:
            one = self.workers.setdefault(
                _START.sub("", name),
                {"name": "", "starts": 0, "leases": 0} | dict.fromkeys(SUMS, 0),
            )
            one["starts"] += name != one["name"]
            one["name"], one["machine"] = name, machine
            one["leases"] += 1
            for each in SUMS:
                one[each] += sums.get(each, 0)
        self._path.parent.mkdir(exist_ok=True)
        write_bytes(self._path, json.dumps({"step": step, "workers": self.workers}).encode())


def worker_rows(run: Path) -> list[tuple[str, ...]]:
    """A row per worker, as `HEAD`; none if the run was never trained on a cluster."""
    workers = WorkerTotals(run).workers
    return [_row(name, workers[name]) for name in sorted(workers)[:MOST]]


def _row(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    seconds = max(1e-9, one["seconds"])
    return (
        name,
        str(one["machine"]),
        str(one["starts"]),
        f"{one['leases']:,}",
        short_count(round(one["games"])),
        short_count(round(one["positions"])),
        f"{one['positions'] / seconds:,.0f}",
        percent(one["network"] / seconds),
        percent(one["waited"] / seconds),
        percent(one["rows"] / max(1, one["capacity"])),
    )
