"""Copy a run's figures to TensorBoard: `tensorboard --logdir runs/name/tensorboard`.

A resumed run purges the events that an earlier session wrote after its last checkpoint, so that no
step appears twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from sylvan.errors import MissingExtra
from sylvan.runs.logger import Logger
from sylvan.runs.watcher import Numbers

__all__ = ["FOLDER", "TensorBoard"]

FOLDER = "tensorboard"
"""The name of its folder in a run's folder."""


class TensorBoard(Logger):
    """Writes every figure of a step as a scalar.

    :raises MissingExtra: TensorBoard is not installed.
    """

    def __init__(self) -> None:
        self._make = _summary_writer()
        self._writer: Any = None

    @override
    def open(self, folder: Path, settings: Mapping[str, object], step: int) -> None:
        self._writer = self._make(
            log_dir=str(folder / FOLDER), purge_step=step + 1 if step else None
        )

    @override
    def log(self, step: int, numbers: Numbers) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    @override
    def text(self, text: str) -> None:
        if self._writer is not None:
            self._writer.add_text("message", text)

    @override
    def close(self, reason: str) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _summary_writer() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TensorBoard's own warnings
            from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtra.named(
            "TensorBoard is not installed (omit --tensorboard, or install it)", "train"
        ) from None
    return SummaryWriter
