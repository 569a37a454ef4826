"""Copy a run's metrics to TensorBoard: `tensorboard --logdir runs/name/tensorboard`.

The metrics file remains the source. A resumed run purges the events that an earlier session wrote
after its last checkpoint, so that no step appears twice.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from sylvan.errors import MissingExtra
from sylvan.runs.watcher import Numbers, Watcher

if TYPE_CHECKING:
    from sylvan.runs.config import TrainingConfig

__all__ = ["FOLDER", "TensorBoard"]

FOLDER = "tensorboard"
"""The name of its folder in a run's folder."""


class TensorBoard(Watcher):
    """Writes every number of a step as a scalar: `loss.policy` becomes `loss/policy`.

    :raises MissingExtra: TensorBoard is not installed.
    """

    def __init__(self) -> None:
        self._make = _summary_writer()
        self._writer: Any = None

    @override
    def run_begin(self, config: TrainingConfig, folder: Path, step: int, elapsed: float) -> None:
        self._writer = self._make(
            log_dir=str(folder / FOLDER), purge_step=step + 1 if step else None
        )

    @override
    def step_end(self, step: int, numbers: Numbers, progress: float) -> None:
        for name, value in numbers.items():
            if name != "step" and not math.isnan(value):
                self._writer.add_scalar(name.replace(".", "/", 1), value, step)
        self._writer.flush()

    @override
    def message(self, text: str) -> None:
        if self._writer is not None:
            self._writer.add_text("message", text)

    @override
    def run_end(self, step: int, reason: str) -> None:
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
