"""The events of a run, from the learner's process to the driver's.

The learner's `Relay` keeps events until the driver takes them; newer progress replaces older, so
that a driver that does not ask costs no memory. It also carries the driver's wish to stop.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sylvan.replay.record import GameRecord
from sylvan.runs.config import TrainingConfig
from sylvan.runs.watcher import Numbers, Watcher

__all__ = ["Relay", "replay_events"]

MOST = 10_000
"""Maximum number of events that wait."""

PROGRESS = ("selfplay_progress", "learner_progress", "arena_progress")
"""Events of which only the newest matters."""

Event = tuple[str, tuple[Any, ...]]


class Relay(Watcher):
    """Keeps the events of a run."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=MOST)
        self._lock = threading.Lock()
        self._stop = 0

    def take(self) -> list[Event]:
        """The events since the last call."""
        with self._lock:
            events = list(self._events)
            self._events.clear()
        return events

    def stop(self) -> None:
        """Once: end the run at the end of its step. Twice: now."""
        self._stop += 1

    def _add(self, name: str, *arguments: Any) -> None:
        with self._lock:
            if name in PROGRESS and self._events and self._events[-1][0] == name:
                self._events.pop()
            self._events.append((name, arguments))
        self.check(at_end=name == "step_end")

    def check(self, *, at_end: bool = False) -> None:
        """End the run if it was asked to.

        :param at_end: a step has ended.
        :raises KeyboardInterrupt: the run is to end here.
        """
        if self._stop > 1 or (self._stop and at_end):
            self._stop = 0  # the run's own end is not disturbed
            raise KeyboardInterrupt

    def run_begin(self, config: TrainingConfig, folder: Path, step: int, elapsed: float) -> None:
        self._add("run_begin", config, folder, step, elapsed)

    def step_begin(self, step: int, progress: float) -> None:
        self._add("step_begin", step, progress)

    def selfplay_progress(self, positions: int, total: int, games: int = 0) -> None:
        self._add("selfplay_progress", positions, total, games)

    def game_ended(self, record: GameRecord) -> None:
        self._add("game_ended", record)

    def learner_progress(self, update: int, updates: int, losses: Numbers) -> None:
        self._add("learner_progress", update, updates, dict(losses))

    def arena_progress(self, opponent: str, games: int, total: int) -> None:
        self._add("arena_progress", opponent, games, total)

    def rated(self, step: int, rating: Numbers) -> None:
        self._add("rated", step, dict(rating))

    def step_end(self, step: int, numbers: Numbers, progress: float) -> None:
        self._add("step_end", step, dict(numbers), progress)

    def message(self, text: str) -> None:
        self._add("message", text)

    def run_end(self, step: int, reason: str) -> None:
        self._add("run_end", step, reason)


def replay_events(events: Iterable[Event], watch: Watcher) -> None:
    """Call a watcher with events that were taken."""
    for name, arguments in events:
        getattr(watch, name)(*arguments)
