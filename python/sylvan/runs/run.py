"""A run's folder: what it is set to, where it stands, what it has brought forth.

    runs/name/
        config.toml                     every setting, with its reason
        checkpoints/step-000123/        the state at the end of a step (`checkpoints`)
        replay/                         the games that it learns from (`replay`)
        metrics.jsonl                   figures of every step (`metrics`)
        networks/best.onnx, last.onnx   what it has learned, and the same as .safetensors
        report/                         plots

Whoever writes holds the folder's lock, which the operating system takes back from a process that
is killed. Reading needs no lock: every file is whole.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO

from sylvan.errors import ConfigError, NetworkError, RunError
from sylvan.files import write_bytes
from sylvan.networks.checkpoint import read_header
from sylvan.runs.checkpoints import CheckpointFolder
from sylvan.runs.config import (
    FIXED,
    TrainingConfig,
    differences,
    sectioned,
)
from sylvan.runs.metrics import Metrics
from sylvan.settings.file import read_settings, toml_text

__all__ = ["CONFIG", "LOCK", "Run", "disk_full"]

CONFIG = "config.toml"
"""The file that makes a folder a run."""

_HEAD = """\
Settings of a training run. Change them with `sylvan train ... --set section.name=value` when the
run goes on, rather than here: what cannot be changed any more is then refused."""


class Run:
    """A run's folder.

    >>> Run.open("runs/nowhere")
    Traceback (most recent call last):
    sylvan.errors.RunError: runs/nowhere is no run: there is no config.toml in it.
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
        """A run that is there, to read it or to go on with it.

        :raises RunError: the folder is no run, or its settings cannot be read.
        """
        if not cls.exists(folder):
            raise RunError(f"{folder} is no run: there is no {CONFIG} in it.")
        try:
            settings = sectioned(read_settings(Path(folder) / CONFIG))
            return cls(folder, TrainingConfig(**settings))
        except ConfigError as error:
            raise RunError(f"{Path(folder) / CONFIG} cannot be used: {error}") from None

    @classmethod
    def create(cls, folder: str | PathLike[str], config: TrainingConfig) -> Run:
        """A new run in a folder that is not there yet, or empty.

        :raises RunError: it is a run already, or has other things in it.
        """
        path = Path(folder)
        if path.exists() and (not path.is_dir() or any(p.name != LOCK for p in path.iterdir())):
            raise RunError(
                f"{path} is there already and is no run: give another folder with --run."
            )
        run = cls(folder, config)
        for inner in (run.folder, run.checkpoints.folder, run.replay, run.networks):
            inner.mkdir(parents=True, exist_ok=True)
        run.save_config()
        return run

    def save_config(self) -> None:
        """Write the effective settings; it is this file that makes the folder a run."""
        write_bytes(self.folder / CONFIG, toml_text(self.config, _HEAD).encode())

    def change(self, config: TrainingConfig) -> dict[str, str]:
        """Go on with other settings; what changed, as `name` to "old → new".

        :raises RunError: one of them is fixed for the life of the run.
        """
        changed = differences(self.config, config)
        fixed = {name: pair for name, pair in changed.items() if name.startswith(FIXED)}
        if fixed:
            listed = ", ".join(
                f"{name} is {old!r}, not {new!r}" for name, (old, new) in fixed.items()
            )
            raise RunError(
                f"{self.folder} is another run: {listed}; give another folder with --run (only "
                f"{', '.join(FIXED)} stay for the life of a run, all else may change)."
            )
        if changed:
            self.config = config
            self.save_config()
        return {name: f"{old} → {new}" for name, (old, new) in changed.items()}

    @property
    def budget(self) -> dict[str, float | None]:
        """What the run may spend: a run that has spent this much is done until it changes."""
        return {"steps": self.config.run.steps, "minutes": self.config.run.minutes}

    def network(self, which: str = "best") -> Path:
        """The file of the `best` or the `last` network, `.safetensors`."""
        return self.networks / f"{which}.safetensors"

    def published(self, which: str) -> int | None:
        """Updates that made the `best` or the `last` network; None if there is none."""
        try:
            return read_header(self.network(which)).training_step
        except (NetworkError, OSError):
            return None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder: no other process can go on with the run meanwhile.

        :raises RunError: another one has it.
        """
        with locked(self.folder):
            yield

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"


LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as file:
        if not _take(file):
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise RunError(
                f"{folder} is in use by process {owner}: wait for it, or stop it, or give another "
                "folder with --run."
            )
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _take(file: IO[str]) -> bool:
    """Whether the lock of an open file is ours now; it goes with the file or the process."""
    try:
        import fcntl
    except ImportError:  # a system without: nobody is kept out
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def disk_full(run: Run) -> Iterator[None]:
    """Turn "no space left" anywhere inside into a sentence that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        steps = run.checkpoints.steps()
        raise RunError(
            f"The disk of {run.folder} is full: make room and run the same command again, it goes "
            f"on after step {steps[-1] if steps else 0}; nothing before that is lost."
        ) from None
