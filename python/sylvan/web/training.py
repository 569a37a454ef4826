"""Start, pause and resume runs from a page, unless the server was started with `--no-train`.

A run is a process of its own, `sylvan train`, in a session of its own: it goes on when the server
ends. Pausing sends SIGTERM, which ends it at once; resuming repeats the step that it was in. Only
processes that a page started are paused: a run that somebody else trains is left alone. Beside the
run, `.NAME.log` has what they print, and `.NAME.pid` the number of the last one, so that another
server can pause it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

from sylvan.errors import ConfigError, RunError
from sylvan.files import write_bytes
from sylvan.runs.overview import is_running
from sylvan.runs.run import LOCK, Run
from sylvan.web import protocol as p
from sylvan.web.desk import Desk
from sylvan.web.opponents import BLOB
from sylvan.web.runs import folder_of, listed_runs, run_folder

__all__ = ["Training"]

EXAMPLE = "gym:CartPole-v1"
"""An environment that can be trained if Gymnasium is installed."""

PROGRAM = [sys.executable, "-c", "from sylvan.cli import app; app()", "train"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")

STOPPED = (0, -15, 130)
"""Exit codes of a run that is done, or was paused."""


class Training:
    """The runs that this server trains; used by all pages."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._started: dict[Path, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    @property
    def games(self) -> list[str]:
        """The games that may be trained; none without permission, or without PyTorch."""
        if not self._desk.trains or find_spec("torch") is None:
            return []
        more = [EXAMPLE] if find_spec("gymnasium") else []
        return list(dict.fromkeys([*self._desk.games, BLOB, *more]))

    def is_own(self, folder: Path) -> bool:
        """Whether a process trains a run now that a page started, also one of an earlier server."""
        process = self._started.get(folder.resolve())
        if process is not None:
            return process.poll() is None
        return is_running(folder) and _number(folder / LOCK) == _number(_beside(folder, "pid"))

    def start(self, request: p.StartRun) -> None:
        """Start a new run with the settings of its game and this machine.

        :raises ConfigError: it may not be started, or not with this name.
        """
        self._need_permission()
        if request.game not in self.games:
            raise ConfigError(
                f"{request.game!r} cannot be trained here: choose {', '.join(self.games)}."
            )
        if not NAME.fullmatch(request.name):
            raise ConfigError(
                f"{request.name!r} is no name of a run: use letters, digits, - and _, at most 40."
            )
        folder = self._runs_folder() / request.name
        if folder.exists():
            raise ConfigError(f"There is a run {request.name!r} already: choose another name.")
        options = ["--minutes", f"{request.minutes:g}"]
        if request.learn_rules:
            options += ["--algorithm", "muzero"]
        self._run(request.game, folder, options)

    def resume(self, name: str) -> None:
        """Go on with a run that was paused.

        :raises ConfigError: it may not be resumed.
        """
        self._need_permission()
        folder = run_folder(self._desk, name)
        self._run(Run.open(folder).config.game.name, folder, [])

    def pause(self, name: str) -> None:
        """End the process of a run, which can be resumed.

        :raises ConfigError: this server does not train it.
        """
        self._need_permission()
        folder = run_folder(self._desk, name)
        with self._lock:
            if not self.is_own(folder):
                where = "is trained by another process" if is_running(folder) else "is not training"
                raise ConfigError(f"{name} {where}: only runs that a page started can be paused.")
            number = _number(_beside(folder, "pid"))
            assert number is not None
            os.kill(number, signal.SIGTERM)

    def failure(self, folder: Path) -> str | None:
        """Why a run that this server started has failed, if it has; said once."""
        process = self._started.get(folder.resolve())
        if process is None or process.poll() in (None, *STOPPED):
            return None
        if self._started.pop(folder.resolve(), None) is None:
            return None  # another page was told
        lines = _beside(folder, "log").read_text("utf-8", "replace").strip().splitlines()
        return f"The run {folder.name} failed: {lines[-1] if lines else 'it printed nothing.'}"

    @property
    def folders(self) -> list[Path]:
        """The runs that this server has started."""
        return list(self._started)

    def _run(self, game: str, folder: Path, options: list[str]) -> None:
        """Start a process, unless another run of the same folder of runs is trained."""
        with self._lock:
            self._need_idle(folder)
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _beside(folder, "log").open("wb") as log:
                process = self._started[folder.resolve()] = subprocess.Popen(
                    [*PROGRAM, game, "--run", str(folder), "--quiet", *options],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            write_bytes(_beside(folder, "pid"), f"{process.pid}\n".encode())

    def _need_permission(self) -> None:
        if not self._desk.trains:
            raise ConfigError(
                "This server may not train: start one on this machine, without --no-train."
            )

    def _need_idle(self, folder: Path) -> None:
        """:raises RunError: a run beside this one is training: they would slow each other down."""
        beside = [folder_of(run) for run in listed_runs(self._desk).values()]
        busy = [each for each in beside if each.parent == folder.parent and is_running(each)]
        busy += [each for each in self._started if self.is_own(each)]
        if busy:
            raise RunError(f"{busy[0].name} is training: pause it first, or wait until it is done.")

    def _runs_folder(self) -> Path:
        """The first folder of runs that the server was given.

        :raises ConfigError: it was given single runs only.
        """
        for folder in self._desk.runs:
            if not Run.exists(folder):
                return folder
        raise ConfigError("The server was given no folder of runs: start it with --run runs.")


def _beside(folder: Path, what: str) -> Path:
    return folder.parent / f".{folder.name}.{what}"


def _number(path: Path) -> int | None:
    """The number of a process in a file."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
