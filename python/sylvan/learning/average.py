"""Averaged weights: an exponential moving average of a network over its updates.

    average ← average + (1 − d) · (weights − average),   d = min(decay, n / (n + 9))

after update n, counted from 0. The average of a noisy walk lies nearer to its middle, so it plays
better than any single point of it, as if the learning rate had been lowered.

The second term of the minimum is the warm-up: the first update is taken over as it is, and later
the average reaches back over about the last tenth of the updates made, so that it never drags along
the network's first, random weights. Statistics of batch norms are averaged like weights: they
belong to them. Whole numbers (a count of batches) are copied.

Papers: Polyak and Juditsky 1992; Izmailov 2018 (averaged weights generalise better).
"""

from __future__ import annotations

import copy

import torch
from torch import nn

__all__ = ["Average"]

WARM_UP = 9
"""Updates after which half of a new average is old: it then spans a tenth of all updates."""


class Average:
    """The average of a network's weights, as a network in evaluation mode."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.updates = 0
        """Updates that went in."""
        self.network = copy.deepcopy(network).eval()
        for parameter in self.network.parameters():
            parameter.requires_grad_(False)

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Take in the weights that the network has after one more update."""
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
