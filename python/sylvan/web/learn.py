"""Runs that learn: their list, their curves as they grow, and their games.

Runs are only read, without their lock, so a run may be training meanwhile. A run's files are looked
at once a second, and read again only if they have changed.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sylvan.errors import ConfigError, RunError
from sylvan.replay.record import GameRecord
from sylvan.replay.shards import records_of
from sylvan.runs.figures import per_second, run_columns, time_shares
from sylvan.runs.metrics import FILE, Columns
from sylvan.runs.overview import Damaged, Overview
from sylvan.runs.run import Run
from sylvan.web import protocol as p
from sylvan.web.boards import board_of, mover
from sylvan.web.desk import Desk
from sylvan.web.rows import finite, labels_of
from sylvan.web.runs import listed_runs, run_folder
from sylvan.web.worker import Send, Worker

__all__ = ["Learn"]

BETWEEN = 1.0
"""Seconds between two looks at the files."""

PAUSE = 0.1
"""Seconds until a waiting request is noticed, at most."""

POINTS = 2000
"""Most points of a curve that are sent at once."""

GAMES = 100
"""Games in a list."""

MOVES = 8
"""Moves of a policy that are sent."""


class Learn(Worker[p.Request]):
    """The runs that a page watches."""

    def __init__(self, desk: Desk, send: Send) -> None:
        """Prepare; `send` is called with every message."""
        super().__init__(send)
        self._desk = desk
        self._followed: dict[str, _Followed] = {}
        self._looked = 0.0
        self._games: tuple[str, list[GameRecord]] = ("", [])

    @property
    def _has_work(self) -> bool:
        return bool(self._followed)

    def _work(self) -> None:
        if time.monotonic() - self._looked < BETWEEN:
            time.sleep(PAUSE)
            return
        self._looked = time.monotonic()
        changed = [self._send_new(followed) for followed in self._followed.values()]
        if any(changed):
            self._list()

    def _do(self, request: p.Request) -> None:
        match request:
            case p.Follow(runs=names):
                self._list()
                folders = {name: run_folder(self._desk, name) for name in names}
                self._followed = {name: _Followed(name, folders[name]) for name in names}
                self._looked = 0.0
            case p.ListGames(run=name):
                records = self._read_games(name)
                games = [_info(number, record) for number, record in enumerate(records)]
                self._send(p.Games(run=name, games=games))
            case p.Replay(run=name, number=number):
                self._replay(name, number)
            case _:
                pass

    def _fail(self, sentence: str) -> None:
        self._followed = {}
        super()._fail(sentence)

    def _list(self) -> None:
        runs = [_run_info(name, run) for name, run in listed_runs(self._desk).items()]
        self._send(p.Runs(runs=runs))

    def _send_new(self, followed: _Followed) -> bool:
        """Send the points that are new; returns whether there are any."""
        stamp = _stamp(followed.folder)
        if stamp == followed.stamp:
            return False
        followed.stamp = stamp
        columns = run_columns(followed.folder)
        steps = columns["step"]
        fresh = followed.sent == 0 or not (steps == followed.last).any()
        first = 0 if fresh else int(np.flatnonzero(steps == followed.last)[0]) + 1
        chosen = np.arange(first, len(steps))
        if len(chosen) > POINTS:
            chosen = chosen[np.linspace(0, len(chosen) - 1, POINTS).astype(int)]
        if not len(chosen):
            return False
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
        return True

    def _read_games(self, name: str) -> list[GameRecord]:
        """The newest games of a run, the newest first."""
        folder = run_folder(self._desk, name) / "replay"
        newest: deque[GameRecord] = deque(maxlen=GAMES)
        for path in sorted(folder.glob("*.shard"))[-2:]:  # the newest may have just begun
            newest.extend(records_of(path, lambda _: None))
        if not newest:
            raise RunError(
                f"{name} keeps no games that can be shown: learned models keep episodes."
            )
        self._games = name, list(newest)[::-1]
        return self._games[1]

    def _replay(self, name: str, number: int) -> None:
        known, records = self._games
        if known != name:
            records = self._read_games(name)
        if number >= len(records):
            raise ConfigError(f"number is {number}, but {name} lists {len(records)} games.")
        record = records[number]
        spec = Run.open(run_folder(self._desk, name)).config.game.spec
        state = spec.first(record.start)
        plies, last = [], None
        for ply, action in enumerate([*map(int, record.actions), None]):
            if hasattr(state, "set_root"):
                state.set_root()
            plies.append(
                p.ReplayPly(
                    board=_still(board_of(state, last)),
                    label=None if action is None else labels_of(state, [action])[0],
                    seat=mover(state),
                    values=_values(record, ply),
                    policy=_policy(record, ply, state),
                )
            )
            if action is not None:
                state.apply(action)
                last = action
        self._send(p.Replayed(run=name, info=_info(number, record), plies=plies))


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
            name=name, game="", state="damaged", step=0, progress=0.0, best=None, problem=run.error
        )
    return p.RunInfo(
        name=name,
        game=run.run.config.game.name,
        state=run.state,
        step=run.step,
        progress=min(1.0, run.progress),
        best=run.best[0] if run.best else None,
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


def _info(number: int, record: GameRecord) -> p.GameInfo:
    return p.GameInfo(
        number=number,
        step=int(record.step),
        plies=len(record),
        returns=[float(x) for x in record.returns],
        ending=record.ending,
    )


def _values(record: GameRecord, ply: int) -> list[float] | None:
    if ply >= len(record) or not len(record.legal(ply)):
        return None
    return [float(x) for x in record.values[ply]]


def _policy(record: GameRecord, ply: int, state: object) -> list[p.Considered]:
    """The search's policy at a ply, the best moves first."""
    from sylvan.games import Game

    assert isinstance(state, Game)
    if ply >= len(record):
        return []
    moves = sorted(
        zip(map(float, record.target(ply)), map(int, record.legal(ply)), strict=True), reverse=True
    )[:MOVES]
    return [
        p.Considered(
            action=action,
            label=labels_of(state, [action])[0],
            N=0,
            Q=None,
            P=share,
            U=None,
            urgency=None,
        )
        for share, action in moves
    ]


def _still(board: p.Board) -> p.Board:
    """A board that is only looked at: without its legal moves."""
    return board.model_copy(update={"moves": {}}) if isinstance(board, p.ChessBoard) else board
