"""The learner: trains a network on search policies and game results.

One update:

    batch ← replay                          prefetched, see `feed`
    parts ← losses(network(observations))   see `losses`; logged separately
    total ← Σ weight · part
    gradient ← clipped to a norm
    weights ← optimizer step at the schedule's rate
    average ← moving average of the weights see `average`; this network plays

A loss or gradient that is not finite stops the training before the step: the weights are unchanged,
and the error names the file in which the batch is saved.

On a CPU everything is fp32, and the same batches and number of threads give the same bits. On a GPU
matrix products are in bfloat16 (or float16 with loss scaling) and the network is compiled.
"""

from __future__ import annotations

from os import PathLike

import torch
from torch import nn

from sylvan.learning.base_learner import BaseLearner, Losses
from sylvan.learning.config import LearnerConfig
from sylvan.learning.feed import PositionSender, TrainingBatch
from sylvan.learning.losses import (
    SOURCES,
    Targets,
    losses,
    losses_by_source,
    priorities,
    target_entropy,
)
from sylvan.learning.plugins import Loss, loss_named

__all__ = ["Learner", "LearnerConfig", "Losses"]


class Learner(BaseLearner[TrainingBatch, Targets]):
    """Trains a network on positions with a policy and a value."""

    def __init__(
        self,
        network: nn.Module,
        config: LearnerConfig,
        device: str = "auto",
        threads: int | None = None,
        folder: str | PathLike[str] = ".",
    ) -> None:
        """See `BaseLearner`."""
        self._loss: Loss = loss_named(config.loss) if config.loss else losses
        super().__init__(network, config, device, threads, folder)

    def _make_sender(self) -> PositionSender:
        return PositionSender(self.header, self.device)

    def _losses(
        self, observations: torch.Tensor, targets: Targets
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The parts of the loss, and each position's priority, `[B]`."""
        with self._precision():
            output = self.network(observations)
        errors = priorities(output, targets, self.header)
        logged = losses_by_source(output, targets, self.header)
        return dict(self._loss(output, targets, self.header)) | logged, errors

    def _weight(self, part: str) -> float:
        """The weight of a part in the total loss; parts by source are only logged."""
        return 0.0 if part.startswith(SOURCES) else super()._weight(part)

    def _entropy(self, targets: Targets) -> torch.Tensor:
        return target_entropy(targets)
