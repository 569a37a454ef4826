"""What a learner tells whoever watches it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["LearnerWatcher"]


class LearnerWatcher(Protocol):
    """Hears how far a learner is; `sylvan.runs.watcher.Watcher` is one."""

    def learner_progress(self, update: int, updates: int, losses: Mapping[str, float]) -> None:
        """So many of this step's updates are made; `losses` are the newest, by name."""
