"""Runs that learn: their list, their curves as they grow, and their games.

Runs are only read, without their lock, so a run may be training meanwhile. A run's files are looked
at once a second, and read again only if they have changed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sylvan.errors import ConfigError
from sylvan.replay.record import GameRecord
from sylvan.runs.figures import limit, per_second, run_columns, time_shares
from sylvan.runs.metrics import FILE, Columns
from sylvan.runs.overview import Damaged, Overview, is_running
from sylvan.runs.run import Run
from sylvan.web import protocol as p
from sylvan.web.desk import Desk
from sylvan.web.opinion import Opinions
from sylvan.web.replays import filmed, foreseen_from, info_of, listed_games, replayed
from sylvan.web.rows import finite
from sylvan.web.runs import folder_of, listed_runs, run_folder
from sylvan.web.training import Training
from sylvan.web.worker import Send, Worker

__all__ = ["Learn"]

BETWEEN = 1.0
"""Seconds between two looks at the files."""

PAUSE = 0.1
"""Seconds until a waiting request is noticed, at most."""

POINTS = 2000
"""Most points of a curve that are sent at once."""


class Learn(Worker[p.Request]):
    """The runs that a page watches."""

    def __init__(self, desk: Desk, training: Training, send: Send) -> None:
        """Prepare; `send` is called with every message."""
        super().__init__(send)
        self._desk, self._training = desk, training
        self._listed: tuple[object, ...] = ()
        """The inputs of the list of runs that was sent last."""
        self._is_looking = False
        """Whether it looks at files by itself, without a request."""
        self._is_open = False
        """Whether the page shows runs."""
        self._followed: dict[str, _Followed] = {}
        self._looked = 0.0
        self._games: tuple[str, list[GameRecord]] = ("", [])
        self._filmed: tuple[str, GameRecord] | None = None
        self._opinions: Opinions | None = None

    @property
    def _has_work(self) -> bool:
        return self._is_open

    def _work(self) -> None:
        if time.monotonic() - self._looked < BETWEEN:
            time.sleep(PAUSE)
            return
        self._looked, self._is_looking = time.monotonic(), True
        for followed in self._followed.values():
            self._send_new(followed)
        for folder in self._training.folders:
            if (failure := self._training.failure(folder)) is not None:
                self._send(p.Problem(sentence=failure))
        if self._state() != self._listed:
            self._list()
        if self._opinions is not None and self._opinions.add_new():
            self._send(self._opinions.message())

    def _do(self, request: p.Request) -> None:
        self._is_looking = False
        match request:
            case p.Follow(runs=names, show=show):
                self._is_open = show
                self._list()
                folders = {name: run_folder(self._desk, name) for name in names}
                self._followed = {name: _Followed(name, folders[name]) for name in names}
                self._looked = 0.0
                if not show:
                    self._opinions = None
            case p.ListGames(run=name, page=page):
                is_last = self._read_games(name, page)
                games = [info_of(number, record) for number, record in enumerate(self._games[1])]
                self._send(p.Games(run=name, page=page, is_last=is_last, games=games))
            case p.Replay(run=name, number=number):
                record = self._game(name, number)
                self._send(replayed(name, self._run(name), number, record))
            case p.Film(run=name, seed=seed):
                self._film(name, seed)
            case p.Foresee():
                self._foresee(request)
            case p.StartRun():
                self._training.start(request)
            case p.PauseRun(run=name):
                self._training.pause(name)
            case p.ResumeRun(run=name):
                self._training.resume(name)
            case p.AskOpinion(run=name, text=text):
                self._opinions = None
                self._opinions = Opinions(name, self._run(name), text)
                self._opinions.add_new()
                self._send(self._opinions.message())
            case _:
                pass

    def _fail(self, sentence: str) -> None:
        if self._is_looking:  # it would fail again and again
            self._followed, self._opinions = {}, None
        super()._fail(sentence)

    def _list(self) -> None:
        self._listed = self._state()
        runs = [self._info(name, run) for name, run in listed_runs(self._desk).items()]
        self._send(p.Runs(runs=runs, trainable=self._training.games))

    def _state(self) -> tuple[object, ...]:
        """The inputs of the list of runs: the runs, their figures, whether they train."""
        folders = sorted(
            path
            for given in self._desk.runs
            for path in ([given] if Run.exists(given) else given.glob("*"))
            if Run.exists(path)
        )
        own = self._training.is_own
        return tuple((path, _stamp(path), is_running(path), own(path)) for path in folders)

    def _info(self, name: str, run: Overview | Damaged) -> p.RunInfo:
        info = _run_info(name, run)
        return info.model_copy(update={"is_own": self._training.is_own(folder_of(run))})

    def _send_new(self, followed: _Followed) -> None:
        """Send the points that are new."""
        stamp = _stamp(followed.folder)
        if stamp == followed.stamp:
            return
        followed.stamp = stamp
        columns = run_columns(followed.folder)
        steps = columns["step"]
        fresh = followed.sent == 0 or not (steps == followed.last).any()
        first = 0 if fresh else int(np.flatnonzero(steps == followed.last)[0]) + 1
        chosen = np.arange(first, len(steps))
        if len(chosen) > POINTS:
            chosen = chosen[np.linspace(0, len(chosen) - 1, POINTS).astype(int)]
        if not len(chosen):
            return
        figures = {
            name: [finite(float(x)) for x in values[chosen]]
            for name, values in _figures(columns).items()
        }
        followed.sent, followed.last = len(steps), float(steps[-1])
        self._send(
            p.Curves(
                run=followed.name,
                fresh=fresh,
                steps=[float(step) for step in steps[chosen]],
                figures=figures,
            )
        )

    def _read_games(self, name: str, page: int) -> bool:
        """Read a page of the games of a run; returns whether it is the last one."""
        records, has_older = listed_games(name, run_folder(self._desk, name), page)
        self._games = name, records
        return not has_older

    def _game(self, name: str, number: int) -> GameRecord:
        """A game of the list."""
        if self._games[0] != name:
            self._read_games(name, 0)
        records = self._games[1]
        if number >= len(records):
            raise ConfigError(f"number is {number}, but {name} lists {len(records)} games.")
        return records[number]

    def _film(self, name: str, seed: int) -> None:
        run = self._run(name)
        found = filmed(run, seed, lambda: self.is_wanted)
        if found is not None:
            record, pictures = found
            self._filmed = name, record
            self._send(replayed(name, run, 0, record, pictures))

    def _foresee(self, request: p.Foresee) -> None:
        name, number = request.run, request.number
        if number is not None:
            record = self._game(name, number)
        elif self._filmed is not None and self._filmed[0] == name:
            record = self._filmed[1]
        else:
            raise ConfigError(f"There is no film of {name} yet: make one.")
        steps = foreseen_from(self._run(name), record, request.ply)
        self._send(p.Foreseen(run=name, number=number, ply=request.ply, steps=steps))

    def _run(self, name: str) -> Run:
        return Run.open(run_folder(self._desk, name))


@dataclass
class _Followed:
    """A run whose curves a page shows."""

    name: str
    folder: Path
    stamp: tuple[int, int] = (-1, -1)
    """Time and size of the file of metrics when it was read."""
    sent: int = 0
    last: float = math.nan
    """The last step that was sent."""


def _stamp(folder: Path) -> tuple[int, int]:
    try:
        found = (folder / FILE).stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _run_info(name: str, run: Overview | Damaged) -> p.RunInfo:
    if isinstance(run, Damaged):
        return p.RunInfo(
            name=name,
            game="",
            state="damaged",
            step=0,
            progress=0.0,
            best=None,
            limit=None,
            algorithm="",
            is_environment=False,
            is_own=False,
            problem=run.error,
        )
    return p.RunInfo(
        name=name,
        game=run.run.config.game.name,
        state=run.state,
        step=run.step,
        progress=min(1.0, run.progress),
        best=run.best[0] if run.best else None,
        limit=None if (found := limit(run.columns)) is None else ": ".join(found),
        algorithm=run.run.config.run.algorithm,
        is_environment=run.run.config.game.spec.is_gymnasium,
        is_own=False,
        problem=None,
    )


def _figures(columns: Columns) -> dict[str, np.ndarray]:
    """The figures of a run and those derived from them, without empty ones."""
    figures = {name: values for name, values in columns.items() if name != "step"}
    for what in ("games", "simulations"):
        figures[f"per_second.{what}"] = per_second(columns, what)
    if "seconds.step" in columns:
        figures |= {f"share.{part}": share for part, share in time_shares(columns).items()}
    return {name: values for name, values in figures.items() if np.isfinite(values).any()}
