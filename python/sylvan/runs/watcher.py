"""Callbacks of the training loop: for a live view, a log, a test, your own notebook.

A watcher receives all events and cannot affect the run: the weights are the same with any watcher.
Calls come from one thread, between batches, so a slow watcher slows the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sylvan.replay.record import GameRecord
    from sylvan.runs.config import TrainingConfig

__all__ = ["Numbers", "Watcher", "Watchers"]

Numbers = Mapping[str, float]
"""Figures by their names in the metrics: `selfplay.games`, `loss.policy`, `rating.elo`."""


class Watcher:
    """The base class of watchers, which ignores all events; override the methods you need.

    Order of calls: `run_begin`; for each step `step_begin`, `selfplay_progress` many times,
    `game_ended`, `learner_progress` many times, in some steps `arena_progress` and `rated`,
    `step_end`; at the end `run_end`. `message` can come at any time.
    """

    def run_begin(self, config: TrainingConfig, folder: Path, step: int, elapsed: float) -> None:
        """The run starts or resumes, with `step` steps and `elapsed` seconds done."""

    def step_begin(self, step: int, progress: float) -> None:
        """Step `step`, counted from 1, starts; a share `progress` of the budget is spent."""

    def selfplay_progress(self, positions: int, total: int, games: int = 0) -> None:
        """`positions` of this step's `total` are searched, and `games` games ended."""

    def game_ended(self, record: GameRecord) -> None:
        """A game of self-play ended; called at least for the last game of each step."""

    def learner_progress(self, update: int, updates: int, losses: Numbers) -> None:
        """`update` of this step's `updates` are done; `losses` are the newest, by name."""

    def arena_progress(self, opponent: str, games: int, total: int) -> None:
        """`games` of `total` games against an opponent are over; it is empty for episodes."""

    def rated(self, step: int, rating: Numbers) -> None:
        """The arena has rated the network of this step: `rating.elo` and others."""

    def step_end(self, step: int, numbers: Numbers, progress: float) -> None:
        """A step is done and saved on disk; `numbers` is its line of the metrics."""

    def message(self, text: str) -> None:
        """One sentence for the user: a fallback, a promotion, why a run ended."""

    def run_end(self, step: int, reason: str) -> None:
        """The run stops after `step` steps: `done`, `interrupted` or `failed`."""


class Watchers(Watcher):
    """Forwards every event to several watchers, in order."""

    def __init__(self, *watchers: Watcher) -> None:
        self.watchers = watchers

    def run_begin(self, config: TrainingConfig, folder: Path, step: int, elapsed: float) -> None:
        for each in self.watchers:
            each.run_begin(config, folder, step, elapsed)

    def step_begin(self, step: int, progress: float) -> None:
        for each in self.watchers:
            each.step_begin(step, progress)

    def selfplay_progress(self, positions: int, total: int, games: int = 0) -> None:
        for each in self.watchers:
            each.selfplay_progress(positions, total, games)

    def game_ended(self, record: GameRecord) -> None:
        for each in self.watchers:
            each.game_ended(record)

    def learner_progress(self, update: int, updates: int, losses: Numbers) -> None:
        for each in self.watchers:
            each.learner_progress(update, updates, losses)

    def arena_progress(self, opponent: str, games: int, total: int) -> None:
        for each in self.watchers:
            each.arena_progress(opponent, games, total)

    def rated(self, step: int, rating: Numbers) -> None:
        for each in self.watchers:
            each.rated(step, rating)

    def step_end(self, step: int, numbers: Numbers, progress: float) -> None:
        for each in self.watchers:
            each.step_end(step, numbers, progress)

    def message(self, text: str) -> None:
        for each in self.watchers:
            each.message(text)

    def run_end(self, step: int, reason: str) -> None:
        for each in self.watchers:
            each.run_end(step, reason)
