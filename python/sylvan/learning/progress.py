"""Callback for the progress of a learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["LearnerWatcher"]


class LearnerWatcher(Protocol):
    """Receives a learner's progress; `sylvan.runs.watcher.Watcher` is one."""

    def learner_progress(self, update: int, updates: int, losses: Mapping[str, float]) -> None:
        """Called after `update` of `updates` updates, with the newest losses by name."""
