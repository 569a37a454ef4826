"""What the loop tells whoever watches: a live view, a log, a test, a notebook of your own.

A watcher hears of everything as it happens and decides nothing: a run ends with the same weights
whoever watches it. Calls come from one thread, between batches, so a slow watcher slows the run.
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
"""Figures by name, as the metrics have them: `selfplay.games`, `loss.policy`, `rating.elo`."""


class Watcher:
    """Hears of a run and does nothing with it; subclasses show it, and override what they want.

    In order: `run_begin`, then for each step `step_begin`, `selfplay_progress` many times,
    `game_ended`, `learner_progress` many times, perhaps `arena_progress` and `rated`, `step_end`;
    at last `run_end`. A `message` may come at any time.
    """

    def run_begin(self, config: TrainingConfig, folder: Path, step: int, elapsed: float) -> None:
        """A run begins, or goes on: `step` steps and `elapsed` seconds of it are done."""

    def step_begin(self, step: int, progress: float) -> None:
        """Step `step`, counted from 1, begins when a share `progress` of the budget is spent."""

    def selfplay_progress(self, positions: int, total: int, games: int = 0) -> None:
        """So many positions of this step's `total` were searched, and so many games ended."""

    def game_ended(self, record: GameRecord) -> None:
        """A game of self-play is over; of each step at least the last one is told."""

    def learner_progress(self, update: int, updates: int, losses: Numbers) -> None:
        """So many of this step's updates are made; `losses` are the newest, by name."""

    def arena_progress(self, opponent: str, games: int, total: int) -> None:
        """So many of `total` games against an opponent are over; of episodes, where there is none,
        `opponent` is empty.
        """

    def rated(self, step: int, rating: Numbers) -> None:
        """The arena has measured the network of this step: `rating.elo` and others."""

    def step_end(self, step: int, numbers: Numbers, progress: float) -> None:
        """A step is done and safe on disk; `numbers` is its line of the metrics."""

    def message(self, text: str) -> None:
        """One sentence that a person should read: a fallback, a promotion, why a run ended."""

    def run_end(self, step: int, reason: str) -> None:
        """The run stops after `step` steps: `done`, `interrupted` or `failed`."""


class Watchers(Watcher):
    """Several that hear the same, in their order."""

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
