"""Overviews of runs: find them, read their state and rating, compare their settings.

Nothing here takes a run's lock or reads its networks, so it also works while a run is training.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from sylvan.errors import RunError, SylvanError
from sylvan.runs.figures import best_step, last, rating_name, run_columns, series
from sylvan.runs.metrics import Columns
from sylvan.runs.run import LOCK, Run

__all__ = ["Damaged", "Overview", "find_run", "find_runs", "is_running", "setting_rows"]

State = Literal["running", "finished", "stopped", "new"]


@dataclass(frozen=True)
class Overview:
    """The state of one run, for tables."""

    run: Run

    @property
    def name(self) -> str:
        return self.run.folder.name

    @cached_property
    def columns(self) -> Columns:
        return run_columns(self.run.folder)

    @property
    def step(self) -> int:
        """Number of steps saved on disk."""
        return max(self.run.checkpoints.steps(), default=0)

    @property
    def progress(self) -> float:
        """Share of the budget that is spent, 0 to 1."""
        value = last(self.columns, "run.progress")
        return value if math.isfinite(value) else 0.0

    @property
    def state(self) -> State:
        """The run's state: `stopped` can be resumed, `finished` has spent its budget."""
        if is_running(self.run.folder):
            return "running"
        if not self.step:
            return "new"
        budget = {"steps": self.run.config.run.steps, "minutes": self.run.config.run.minutes}
        return "finished" if self._loop_state().get("finished") == budget else "stopped"

    def _loop_state(self) -> dict[str, Any]:
        path = self.run.checkpoints.path(self.step) / "state.json"
        try:
            loop = json.loads(path.read_bytes())["parts"]["loop"]
        except (OSError, ValueError, KeyError, TypeError):
            return {}  # just replaced by the next, or damaged: resuming the run reports it
        return loop if isinstance(loop, dict) else {}

    @property
    def rating(self) -> float:
        """The last rating; NaN if there is none."""
        return last(self.columns, rating_name(self.columns))

    @property
    def best(self) -> tuple[float, int] | None:
        """The highest rating, and its step."""
        index = best_step(self.columns)
        if index is None:
            return None
        ratings = series(self.columns, rating_name(self.columns))
        return float(ratings[index]), int(self.columns["step"][index])

    def facts(self) -> dict[str, Any]:
        """All of the above and the newest value of every figure, for JSON."""
        config = self.run.config
        best = self.best
        return {
            "name": self.name,
            "folder": str(self.run.folder),
            "game": config.game.name,
            "network": config.network.size,
            "state": self.state,
            "step": self.step,
            "progress": self.progress,
            "seconds": last(self.columns, "run.elapsed"),
            "rating": {
                "last": self.rating,
                "best": best[0] if best else None,
                "best_step": best[1] if best else None,
            },
            "newest": {
                name: last(self.columns, name)
                for name in self.columns
                if name not in ("step", "rating.chosen")
            },
        }


@dataclass(frozen=True)
class Damaged:
    """A run with a file that cannot be read."""

    folder: Path
    error: str
    """One sentence: which file, and why."""

    @property
    def name(self) -> str:
        return self.folder.name

    def facts(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "state": "damaged",
            "error": self.error,
        }


def find_runs(folder: Path) -> list[Overview | Damaged]:
    """The runs in a folder, sorted by name; or the folder itself, if it is a run.

    :raises RunError: there is no such folder.
    """
    return [_overview(path) for path in _run_folders(folder)]


def _run_folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise RunError(f"There is no folder {folder}: give the folder that contains your runs.")
    if Run.exists(folder):
        return [folder]
    return sorted(path for path in folder.iterdir() if path.is_dir() and Run.exists(path))


def _overview(folder: Path) -> Overview | Damaged:
    """Read a run with all that a table shows of it."""
    try:
        found = Overview(Run.open(folder))
        found.facts()
    except (SylvanError, OSError, ValueError) as error:
        return Damaged(folder, " ".join(str(error).split()))
    return found


def find_run(name: str | Path, folder: Path = Path("runs")) -> Overview:
    """Find a run by its path, or by its name in `folder`.

    :raises RunError: there is no such run; the message lists the runs in `folder`.
    """
    for path in (Path(name), folder / name):
        if Run.exists(path):
            return Overview(Run.open(path))
    names = [path.name for path in _run_folders(folder)] if folder.is_dir() else []
    choices = f"{folder} has {', '.join(names)}" if names else f"there are no runs in {folder}"
    raise RunError(f"There is no run {str(name)!r}: {choices}.")


def is_running(folder: Path) -> bool:
    """Whether a process is training a run."""
    try:
        with (folder / LOCK).open() as file:
            owner = int(file.read() or 0)
            if not owner or not _is_alive(owner):
                return False
            import fcntl

            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (FileNotFoundError, ValueError, ImportError):
        return False
    except OSError:  # another process holds the lock
        return True
    return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it runs as another user
        return True
    return True


def setting_rows(runs: Sequence[Run]) -> list[list[str]]:
    """The settings that differ between runs: rows of a setting's name and its value in each."""
    dumped = [_flat(run.config.model_dump()) for run in runs]
    names = dict.fromkeys(name for settings in dumped for name in settings)
    rows = [[name, *(str(settings.get(name, "–")) for settings in dumped)] for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
