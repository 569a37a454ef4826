"""A run's folder: settings, checkpoints, games, metrics, networks.

    runs/name/
        config.toml                     every setting, with its description
        checkpoints/step-000123/        the state at the end of a step (`checkpoints`)
        replay/                         the games to learn from (`replay`)
        profile.json                    device and versions of the libraries (`evaluators.profile`)
        metrics.jsonl                   figures of every step (`metrics`)
        networks/best.onnx, last.onnx   the trained networks, also as .safetensors
        networks/history/               networks of earlier steps (`history`)
        report/                         plots
        cluster/                        files of the machines that play (`sylvan.cluster`)

A writer holds the folder's lock; the operating system releases it when the process is killed.
Readers need no lock, because files are replaced atomically.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any

from sylvan.errors import ConfigError, NetworkError, RunError
from sylvan.evaluators.profile import profile_changes
from sylvan.files import remove_leftovers, write_bytes
from sylvan.networks.checkpoint import read_header
from sylvan.runs.checkpoints import CheckpointFolder
from sylvan.runs.config import (
    FIXED,
    TrainingConfig,
    differences,
    sectioned,
    without_former,
)
from sylvan.runs.metrics import Metrics
from sylvan.settings.file import read_settings, toml_text

__all__ = ["BESIDE", "CONFIG", "LOCK", "Run", "disk_full"]

CONFIG = "config.toml"
"""A folder with this file is a run."""

PROFILE = "profile.json"

_HEAD = """\
Settings of a training run. To change them, resume the run with
`sylvan train ... --set section.name=value`: it refuses to change settings that are fixed."""


class Run:
    """A run's folder.

    >>> Run.open("runs/nowhere")
    Traceback (most recent call last):
    sylvan.errors.RunError: runs/nowhere is not a run: it contains no config.toml.
    """

    def __init__(self, folder: str | PathLike[str], config: TrainingConfig) -> None:
        self.folder = Path(folder)
        self.config = config
        self.checkpoints = CheckpointFolder(self.folder / "checkpoints")
        self.metrics = Metrics(self.folder)
        self.replay = self.folder / "replay"
        self.networks = self.folder / "networks"

    @classmethod
    def exists(cls, folder: str | PathLike[str]) -> bool:
        """Whether a folder is a run."""
        return (Path(folder) / CONFIG).is_file()

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Run:
        """Open an existing run, to read or to resume it.

        :raises RunError: the folder is not a run, or its settings cannot be read.
        """
        if not cls.exists(folder):
            raise RunError(f"{folder} is not a run: it contains no {CONFIG}.")
        try:
            settings = without_former(sectioned(read_settings(Path(folder) / CONFIG)))
            return cls(folder, TrainingConfig(**settings))
        except ConfigError as error:
            raise RunError(f"{Path(folder) / CONFIG} cannot be used: {error}") from None

    @classmethod
    def create(cls, folder: str | PathLike[str], config: TrainingConfig) -> Run:
        """Create a run in a folder that is new, or has only what a killed `create` left behind.

        :raises RunError: the folder has other files.
        """
        path = Path(folder)
        if path.is_dir():
            remove_leftovers(path)
        if path.exists() and (not path.is_dir() or _has_files(path)):
            raise RunError(
                f"{path} exists already and is not a run: give another folder with --run."
            )
        run = cls(folder, config)
        for inner in (run.folder, run.checkpoints.folder, run.replay, run.networks):
            inner.mkdir(parents=True, exist_ok=True)
        run.save_config()
        return run

    def save_config(self) -> None:
        """Write the effective settings; a folder with this file is a run."""
        write_bytes(self.folder / CONFIG, toml_text(self.config, _HEAD).encode())

    def change(self, config: TrainingConfig) -> dict[str, str]:
        """Change the settings of a resumed run; return the changes as `name` to "old → new".

        :raises RunError: a changed setting is in `FIXED`.
        """
        changed = differences(self.config, config)
        fixed = {name: pair for name, pair in changed.items() if name.startswith(FIXED)}
        if fixed:
            listed = ", ".join(
                f"{name} is {old!r}, not {new!r}" for name, (old, new) in fixed.items()
            )
            raise RunError(
                f"{self.folder} is another run: {listed}; give another folder with --run (a run "
                f"can change all settings except {', '.join(FIXED)})."
            )
        if changed:
            self.config = config
            self.save_config()
        return {name: f"{old} → {new}" for name, (old, new) in changed.items()}

    @property
    def profiles(self) -> list[dict[str, Any]]:
        """The evaluation profiles of the run and the steps after which they began to apply."""
        try:
            return list(json.loads((self.folder / PROFILE).read_text()))
        except (OSError, ValueError):
            return []

    def keep_profile(self, profile: dict[str, str], step: int) -> str:
        """Record the evaluation profile of this session; return how it differs from the last.

        :raises RunError: it differs, `run.profile` is `same`, and the games are played exactly.
        """
        known = self.profiles
        changes = profile_changes(known[-1]["profile"], profile) if known else ""
        must_be_same = self.config.run.profile == "same" and self.config.selfplay.mode == "exact"
        if changes and step > 0 and must_be_same:
            raise RunError(
                f"{self.folder} was trained with another evaluation profile ({changes}), which "
                "changes the last digits of all evaluations: resume it where it was trained, or "
                "add --set run.profile=any to go on here."
            )
        if not known or known[-1]["profile"] != profile:
            entries = [*known, {"after_step": step, "profile": profile}]
            write_bytes(self.folder / PROFILE, json.dumps(entries, indent=2).encode() + b"\n")
        return changes

    def sweep(self) -> None:
        """Remove the half-written files of a killed process; the caller holds the lock."""
        self.checkpoints.sweep()
        for folder in (self.folder, self.networks, *self.networks.glob("*")):
            remove_leftovers(folder)

    @property
    def budget(self) -> dict[str, float | None]:
        """The budget in steps and minutes; a run that has spent it is done until it changes."""
        return {"steps": self.config.run.steps, "minutes": self.config.run.minutes}

    def network(self, which: str = "best") -> Path:
        """The file of the `best` or the `last` network, `.safetensors`."""
        return self.networks / f"{which}.safetensors"

    def published(self, which: str) -> int | None:
        """Number of updates of the published `best` or `last` network; None if there is none."""
        try:
            return read_header(self.network(which)).training_step
        except (NetworkError, OSError):
            return None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder's lock, so that no other process can train the run.

        :raises RunError: another process holds it.
        """
        with locked(self.folder):
            yield

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"


LOCK = ".lock"

BESIDE = (LOCK, "cluster")
"""Names in the folder that may exist before the run."""


def _has_files(folder: Path) -> bool:
    """Whether a folder has files, also deeper inside, that are not in `BESIDE`."""
    inner = (path for path in folder.iterdir() if path.name not in BESIDE)
    return any(path.is_file() for each in inner for path in (each, *each.rglob("*")))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as file:
        if not _lock(file):
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise RunError(
                f"{folder} is in use by process {owner}: wait until it ends, stop it, or give "
                "another folder with --run."
            )
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _lock(file: IO[str]) -> bool:
    """Try to lock an open file, until it is closed or the process ends; return the success."""
    try:
        import fcntl
    except ImportError:  # Windows: no lock
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def disk_full(run: Run) -> Iterator[None]:
    """Convert a "no space left" error inside this context to a `RunError` with the fix."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        steps = run.checkpoints.steps()
        raise RunError(
            f"The disk of {run.folder} is full: free some space and run the same command again; "
            f"it resumes after step {steps[-1] if steps else 0}."
        ) from None
