"""The runs that pages may watch and play against, by name."""

from __future__ import annotations

from pathlib import Path

from sylvan.errors import RunError
from sylvan.runs.overview import Damaged, Overview, find_runs
from sylvan.web.desk import Desk

__all__ = ["folder_of", "listed_runs", "run_folder"]


def listed_runs(desk: Desk) -> dict[str, Overview | Damaged]:
    """The runs in the folders that the server was given, of which some may not exist yet; of two
    runs with one name, the second has its path as its name.
    """
    found: dict[str, Overview | Damaged] = {}
    for folder in desk.runs:
        for run in find_runs(folder) if folder.is_dir() else []:
            found[run.name if run.name not in found else str(folder_of(run))] = run
    return found


def folder_of(run: Overview | Damaged) -> Path:
    """A run's folder."""
    return run.folder if isinstance(run, Damaged) else run.run.folder


def run_folder(desk: Desk, name: str) -> Path:
    """The folder of a run.

    :raises RunError: the server was not given a run of this name.
    """
    runs = listed_runs(desk)
    if name not in runs:
        listed = ", ".join(runs) or "no run"
        raise RunError(f"There is no run {name!r} here: the server was given {listed}.")
    return folder_of(runs[name])
