"""Show a run in the terminal: a live view, or one line per step if the output is not a terminal.

A separate thread draws the view, so a report costs the training loop only an assignment. Drawing
also needs the interpreter lock: after each frame the thread waits a hundred times as long as the
frame took, so that drawing never takes more than 1% of the run.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sylvan.runs.figures import (
    RATINGS,
    last,
    per_second,
    rating_name,
    rating_text,
    time_span,
    time_used,
)
from sylvan.runs.metrics import Columns, Metrics, to_columns
from sylvan.runs.panel import Facts, Phase, panel
from sylvan.runs.watcher import Numbers, Watcher
from sylvan.views.text import clean, percent, seat_name, short_count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from sylvan.games.naming import GameSpec
    from sylvan.replay.record import GameRecord
    from sylvan.runs.config import RunConfig, TrainingConfig

__all__ = ["LiveView", "PlainLines", "terminal_watcher"]

MIN_INTERVAL = 0.25
"""Minimum seconds between two frames."""
WAIT_FACTOR = 100
"""The thread waits this many times as long as a frame took."""
HISTORY_STEPS = 512
"""Number of last steps that the terminal's curves show."""


def terminal_watcher(quiet: bool = False, console: Console | None = None) -> Watcher:
    """Choose the output: none if `quiet`, else the live view or plain lines."""
    if quiet:
        return Watcher()
    from rich.console import Console

    console = console or Console(file=sys.stdout)
    return LiveView(console) if console.is_terminal else PlainLines(console)


class History:
    """The newest lines of a run's metrics, its best network, and its expected end."""

    def __init__(self) -> None:
        self.best: tuple[float, int] | None = None
        """The best network's rating by all games until now, and its step, as in ratings.json."""
        self._lines: deque[dict[str, Any]] = deque(maxlen=HISTORY_STEPS)
        self._columns: Columns | None = None

    def add(self, step: int, numbers: Mapping[str, Any]) -> None:
        self._lines.append({**numbers, "step": step})
        self._columns = None
        if math.isfinite(best := numbers.get("rating.best", math.nan)):
            self.best = (best, int(numbers["rating.best_step"]))
            return
        rating = next((numbers[name] for name in RATINGS if name in numbers), math.nan)
        if math.isfinite(rating) and (self.best is None or rating > self.best[0]):
            self.best = (rating, step)  # metrics of an earlier version

    @property
    def columns(self) -> Columns:
        if self._columns is None:
            self._columns = to_columns(list(self._lines))
        return self._columns

    def remaining(self, budget: RunConfig, progress: float, elapsed: float) -> float:
        """Expected seconds to the end; NaN while unknown.

        The minimum of the time left and the time that the remaining steps need at the pace of the
        last ten.
        """
        spans = [60 * budget.minutes - elapsed] if budget.minutes is not None else []
        if budget.steps is not None:
            lines = [line for line in list(self._lines)[-10:] if "run.elapsed" in line]
            done, took = progress * budget.steps, elapsed
            if len(lines) >= 2:
                done = lines[-1]["step"] - lines[0]["step"]
                took = lines[-1]["run.elapsed"] - lines[0]["run.elapsed"]
            if done > 0:
                spans.append((1 - progress) * budget.steps * took / done)
        return max(0.0, min(spans)) if spans else math.nan


class PlainLines(Watcher):
    """One line per step, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history = History()
        self._began = (0.0, time.monotonic())
        self._budget: RunConfig

    def run_begin(self, config: TrainingConfig, folder: Path, step: int, elapsed: float) -> None:
        self._began, self._budget = (elapsed, time.monotonic()), config.run
        state = f"resumes after step {step}" if step else "starts"
        self._print(f"{title(config, folder)} {state}")

    def step_end(self, step: int, numbers: Numbers, progress: float) -> None:
        self._history.add(step, numbers)
        elapsed = self._began[0] + time.monotonic() - self._began[1]
        remaining = self._history.remaining(self._budget, progress, elapsed)
        used = time_used(elapsed, seconds_of(self._budget))
        self._print(_plain_line(step, self._history, progress, used, remaining))

    def message(self, text: str) -> None:
        self._print(text)

    def run_end(self, step: int, reason: str) -> None:
        self._print(f"{reason} after step {step}")

    def _print(self, text: str) -> None:
        self._console.print(clean(text), markup=False, highlight=False, soft_wrap=True)


def _plain_line(step: int, history: History, progress: float, used: str, remaining: float) -> str:
    columns = history.columns
    words = [f"step {step}", f"{100 * progress:.0f}%", used]
    for name, label, form in (
        ("loss.policy", "policy", ".3f"),
        ("loss.value", "value", ".3f"),
        ("selfplay.length", "length", ".1f"),
    ):
        if math.isfinite(value := last(columns, name)):
            words.append(f"{label} {value:{form}}")
    for what in ("games", "simulations"):
        speed = per_second(columns, what)[-1]
        if math.isfinite(speed):
            words.append(f"{what}/s {speed:.1f}" if speed < 100 else _many(what, speed))
    newest = {name: values[-1] for name, values in columns.items()}
    name = rating_name(columns)
    if math.isfinite(rating := newest.get(name, math.nan)) and history.best is not None:
        best = rating_text(history.best[0], name)
        words.append(f"rating {rating_text(rating, name)} (best {best} at {history.best[1]})")
    words += [
        f"{name.removeprefix('rating.')} {percent(value)}"
        for name, value in newest.items()
        if name.startswith("rating.mistakes") and math.isfinite(value)
    ]
    if math.isfinite(remaining) and progress < 1:
        words.append(f"{time_span(remaining)} to go")
    return "  ".join(words)


def _many(what: str, speed: float) -> str:
    return f"{what}/s {short_count(round(speed))}"


class LiveView(Watcher):
    """A view of the run that is redrawn up to four times a second."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history = History()
        self._title = ""
        self._spec: GameSpec | None = None
        self._budget: RunConfig
        self._step = 0
        self._progress = 0.0
        self._began = (0.0, time.monotonic())
        self._phase: Phase | None = None
        self._record: GameRecord | None = None
        self._live: Live | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def run_begin(self, config: TrainingConfig, folder: Path, step: int, elapsed: float) -> None:
        from rich.live import Live

        self._title, self._spec = title(config, folder), config.game.spec
        self._budget, self._step = config.run, step
        self._began = (elapsed, time.monotonic())
        for line in Metrics(folder).lines():
            self._history.add(line["step"], line)
        self._live = Live(console=self._console, auto_refresh=False, transient=False)
        self._live.start()
        self._thread = threading.Thread(target=self._draw_frames, name="sylvan-live", daemon=True)
        self._thread.start()

    def step_begin(self, step: int, progress: float) -> None:
        self._step, self._progress = step, progress
        self._phase = Phase("self-play")

    def selfplay_progress(self, positions: int, total: int, games: int = 0) -> None:
        detail = f"positions, {games:,} games" if games else "positions"
        self._phase = Phase("self-play", positions, total, detail)

    def learner_progress(self, update: int, updates: int, losses: Numbers) -> None:
        total = losses.get("loss.total", math.nan)
        detail = f"updates, loss {total:.3f}" if math.isfinite(total) else "updates"
        self._phase = Phase("learning", update, updates, detail)

    def arena_progress(self, opponent: str, games: int, total: int) -> None:
        detail = f"games against {opponent}" if opponent else "episodes"
        self._phase = Phase("rating", games, total, detail)

    def game_ended(self, record: GameRecord) -> None:
        self._record = record

    def step_end(self, step: int, numbers: Numbers, progress: float) -> None:
        self._history.add(step, numbers)
        self._progress, self._phase = progress, Phase("saved")

    def message(self, text: str) -> None:
        console = self._console if self._live is None else self._live.console
        console.print(clean(text), markup=False, highlight=False)

    def run_end(self, step: int, reason: str) -> None:
        self._step, self._phase = step, Phase(reason)
        self.close()

    def close(self) -> None:
        """Draw the last frame and release the terminal; further calls do nothing."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._live is not None:
            self._draw()
            self._live.stop()
            self._live = None

    def facts(self) -> Facts:
        """The data of the current frame."""
        elapsed = self._began[0] + time.monotonic() - self._began[1]
        remaining = self._history.remaining(self._budget, self._progress, elapsed)
        spec, record, ends = self._spec, self._record, ""
        if math.isfinite(remaining):
            end = datetime.now() + timedelta(seconds=remaining)
            ends = f"{end:%H:%M}" if remaining < 12 * 3600 else f"{end:%a %H:%M}"
        return Facts(
            title=self._title,
            step=self._step,
            budget=f"of {self._budget.steps:,}" if self._budget.steps else "",
            progress=self._progress,
            elapsed=elapsed,
            limit=seconds_of(self._budget),
            remaining=remaining,
            ends=ends,
            phase=self._phase,
            columns=self._history.columns,
            best=self._history.best,
            game="" if spec is None or record is None else game_summary(spec, record),
        )

    def _draw_frames(self) -> None:
        wait = 0.0
        while not self._ended.wait(wait):
            began = time.thread_time()
            self._draw()
            wait = max(MIN_INTERVAL, WAIT_FACTOR * (time.thread_time() - began))

    def _draw(self) -> None:
        if self._live is not None:
            self._live.update(panel(self.facts(), self._console.width), refresh=True)


def seconds_of(budget: RunConfig) -> float:
    """The budget in seconds; NaN if it is in steps only."""
    return math.nan if budget.minutes is None else 60 * budget.minutes


def title(config: TrainingConfig, folder: Path) -> str:
    """A run's name and game in one line."""
    return f"{config.game.spec.short_name} · {folder}"


def game_summary(spec: GameSpec, record: GameRecord, moves: int = 12) -> str:
    """A game's length, result and first moves on one line."""
    returns = record.returns.tolist()
    if max(returns) == min(returns):
        result = "draw" if len(returns) > 1 else f"return {returns[0]:g}"
    elif len(returns) == 2:
        result = f"{seat_name(spec.first(), returns.index(max(returns)))} wins"
    else:
        result = "returns " + " ".join(f"{value:g}" for value in returns)
    if record.ending != "end":
        result += f" ({record.ending})"
    return f"{len(record)} plies, {result}: {_moves(spec, record, moves)}"


def _moves(spec: GameSpec, record: GameRecord, most: int) -> str:
    state = spec.first(record.start)
    words = []
    for action in record.actions[:most].tolist():
        words.append(state.action_to_string(action))
        state.apply(action)
    return " ".join(words) + (" …" if len(record) > most else "")
