"""The log of an imitation: lines of JSON in a file, and messages for the user."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sylvan.learning.imitation import PARTS, Imitation, TestScores
from sylvan.learning.schedule import learning_rate

__all__ = ["ImitationLog"]

LOG_SECONDS = 30.0
"""Seconds between two lines with losses."""


class ImitationLog:
    """Writes lines of JSON to a file, and messages through `tell`."""

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self._path, self._tell = path, tell
        self._since, self._samples = time.monotonic(), 0

    def begin(self, training: Imitation) -> None:
        """Restart the measurement of speed and of mean losses."""
        self._since, self._samples = time.monotonic(), training.samples
        training.sums.zero_()

    def due(self, now: float) -> bool:
        return now - self._since >= LOG_SECONDS

    def losses(self, training: Imitation) -> None:
        """Write the mean losses since the last line."""
        *sums, updates = training.sums.tolist()
        if not updates:
            return
        means = [number / updates for number in sums]
        now = time.monotonic()
        names = (*PARTS, "top1", "gradient_norm")
        speed = (training.samples - self._samples) / max(now - self._since, 1e-9)
        line = dict(zip(names, means, strict=True)) | {
            "samples_per_second": speed,
            "learning_rate": learning_rate(training.config.learner, training.progress),
        }
        self._write(training, line)
        self._tell(
            f"{training.samples / 1e6:.1f} M samples ({100 * training.progress:.1f} %), "
            f"{speed / 1000:.1f} k/s: policy {line['policy']:.4f}, value {line['value']:.4f}, "
            f"moves left {line['moves_left']:.4f}, top-1 {100 * line['top1']:.2f} %, gradient "
            f"{line['gradient_norm']:.2f}, rate {line['learning_rate']:.2e}"
        )
        self.begin(training)

    def test(self, training: Imitation, scores: dict[str, TestScores]) -> None:
        """Write the scores on the held-out games."""
        begun = time.monotonic()
        for name, each in scores.items():
            self._write(training, {"file": name} | asdict(each))
            self._tell(f"held out, {name}: {each}")
        self._since += time.monotonic() - begun

    def _write(self, training: Imitation, line: dict[str, Any]) -> None:
        head = {"time": time.time(), "samples": training.samples, "updates": training.updates}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(head | line) + "\n")
