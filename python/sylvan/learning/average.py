"""Averaged weights: an exponential moving average of a network over its updates.

    average ← average + (1 − d) · (weights − average),   d = min(decay, n / (n + 9))

after update n, counted from 0. Averaging removes much of the noise of single updates, as a lower
learning rate would, so the averaged network plays better than the newest one.

The second term of the minimum is the warm-up: the first update is copied, and later the average
spans about the last tenth of the updates, so the initial random weights do not stay in it.
Batch-norm statistics are averaged like weights. Integers (a count of batches) are copied.

Papers: Polyak and Juditsky 1992; Izmailov 2018 (averaged weights generalise better).
"""

from __future__ import annotations

import copy

import torch
from torch import nn

__all__ = ["Average"]

WARM_UP = 9
"""Warm-up constant: the average spans about a tenth of all updates."""


class Average:
    """The average of a network's weights, as a network in evaluation mode."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.updates = 0
        """Number of updates averaged."""
        self.network = copy.deepcopy(network).eval()
        for parameter in self.network.parameters():
            parameter.requires_grad_(False)

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Include the network's weights after one more update."""
        decay = min(self.decay, self.updates / (self.updates + WARM_UP))
        averaged, weights = [], []
        for old, new in zip(_tensors(self.network), _tensors(network), strict=True):
            if old.is_floating_point():
                averaged.append(old)
                weights.append(new)
            else:
                old.copy_(new)
        torch._foreach_lerp_(averaged, weights, 1.0 - decay)
        self.updates += 1


def _tensors(network: nn.Module) -> list[torch.Tensor]:
    return [tensor.detach() for tensor in network.state_dict(keep_vars=True).values()]
