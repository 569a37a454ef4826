"""Forward and backward pass as one recorded piece of work on a GPU (a CUDA graph).

Unrolled a few steps, a network is thousands of small kernels: starting them one by one takes longer
than their work. Recorded once, they are started together. What is computed stays the same, and
nothing is compiled, which for such a network takes minutes of a run.

The recording reads and writes the same memory every time: inputs are copied in, outputs copied out,
and gradients stay where the optimizer finds them, overwritten by the next replay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import torch

__all__ = ["GradientGraph", "Gradients"]

Gradients = tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]
"""Parts of the loss, what is left to learn from each example, and the total loss; the gradients of
the total are in the parameters."""

WARM_UP = 3
"""Runs before recording, in which kernels are chosen and get their memory."""


class GradientGraph:
    """Computes gradients of a loss by replaying a recording, one per shape of batch.

    :param compute: makes gradients where there are none, from observations and targets (a dataclass
        of tensors).
    :param parameters: that get gradients.
    :param statistics: buffers that the pass changes, such as running means: warming up leaves them
        as they were.
    """

    def __init__(
        self,
        compute: Callable[[torch.Tensor, Any], Gradients],
        parameters: Iterable[torch.Tensor],
        statistics: Iterable[torch.Tensor],
    ) -> None:
        self._compute = compute
        self._parameters, self._statistics = list(parameters), list(statistics)
        self._shapes: list[torch.Size] = []
        self._graph: Any = None
        self._inputs: list[torch.Tensor] = []
        self._outputs: Gradients

    def __call__(self, observations: torch.Tensor, targets: Any) -> Gradients:
        """The loss of a batch; its gradients are where they were recorded."""
        given = [observations, *_tensors(targets)]
        if self._shapes != [each.shape for each in given]:
            self._record(given, targets)
        for own, each in zip(self._inputs, given, strict=True):
            own.copy_(each)
        self._graph.replay()
        parts, errors, total = self._outputs
        copied = {name: part.detach().clone() for name, part in parts.items()}
        return copied, errors.clone(), total.detach().clone()

    def _record(self, given: list[torch.Tensor], targets: Any) -> None:
        self._inputs = [each.clone() for each in given]
        self._shapes = [each.shape for each in given]
        own = _refilled(targets, self._inputs[1:])
        before = [each.clone() for each in self._statistics]
        self._graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self._forget()
                self._compute(self._inputs[0], own)
            self._forget()
        side.synchronize()
        # Another thread may be sending the next batch: only this one must not disturb.
        with torch.cuda.graph(self._graph, stream=side, capture_error_mode="thread_local"):
            self._outputs = self._compute(self._inputs[0], own)
        for each, kept in zip(self._statistics, before, strict=True):
            each.copy_(kept)

    def _forget(self) -> None:
        """Drop gradients, so that the next pass writes new ones instead of adding to them."""
        for each in self._parameters:
            each.grad = None


def _tensors(targets: Any) -> list[torch.Tensor]:
    """The tensors of a dataclass, in the order of its fields."""
    values = (getattr(targets, field.name) for field in dataclasses.fields(targets))
    return [value for value in values if isinstance(value, torch.Tensor)]


def _refilled(targets: Any, tensors: list[torch.Tensor]) -> Any:
    """The same dataclass with other tensors."""
    coming = iter(tensors)
    changes = {
        field.name: next(coming)
        for field in dataclasses.fields(targets)
        if isinstance(getattr(targets, field.name), torch.Tensor)
    }
    return dataclasses.replace(targets, **changes)
