"""Forward and backward pass as a CUDA graph.

A model unrolled over a few steps has thousands of small kernels: launching them one by one takes
longer than running them. A CUDA graph launches them together and computes the same numbers.
Compiling such a network instead would take minutes.

The graph reads and writes the same memory each time: inputs are copied in and outputs copied out;
gradients stay in the parameters until the next replay overwrites them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

import torch

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["GradientGraph", "Gradients"]

Gradients = tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]
"""Parts of the loss, the error of each example, and the total loss; its gradients are in the
parameters."""

TargetsT = TypeVar("TargetsT", bound="DataclassInstance")

WARM_UP = 3
"""Runs before the capture, in which kernels are chosen and memory is allocated."""


class GradientGraph(Generic[TargetsT]):
    """Computes gradients by replaying a CUDA graph; captures a new one if a shape changes.

    :param compute: computes gradients from observations and targets (a dataclass of tensors).
    :param parameters: parameters with gradients.
    :param statistics: buffers that the pass changes, such as running means; the warm-up does not
        change them.
    """

    def __init__(
        self,
        compute: Callable[[torch.Tensor, TargetsT], Gradients],
        parameters: Iterable[torch.Tensor],
        statistics: Iterable[torch.Tensor],
    ) -> None:
        self._compute = compute
        self._parameters, self._statistics = list(parameters), list(statistics)
        self._shapes: list[torch.Size] = []
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: list[torch.Tensor] = []
        self._outputs: Gradients

    def __call__(self, observations: torch.Tensor, targets: TargetsT) -> Gradients:
        """The loss of a batch; its gradients are in the parameters."""
        given = [observations, *_tensors(targets)]
        if self._shapes != [each.shape for each in given]:
            self._record(given, targets)
        for own, each in zip(self._inputs, given, strict=True):
            own.copy_(each)
        assert self._graph is not None
        self._graph.replay()
        parts, errors, total = self._outputs
        copied = {name: part.detach().clone() for name, part in parts.items()}
        return copied, errors.clone(), total.detach().clone()

    def _record(self, given: list[torch.Tensor], targets: TargetsT) -> None:
        self._inputs = [each.clone() for each in given]
        self._shapes = [each.shape for each in given]
        own = _refilled(targets, self._inputs[1:])
        before = [each.clone() for each in self._statistics]
        self._graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self._drop_gradients()
                self._compute(self._inputs[0], own)
            self._drop_gradients()
        side.synchronize()
        # Another thread may copy the next batch meanwhile, so check this thread only.
        with torch.cuda.graph(self._graph, stream=side, capture_error_mode="thread_local"):
            self._outputs = self._compute(self._inputs[0], own)
        for each, kept in zip(self._statistics, before, strict=True):
            each.copy_(kept)

    def _drop_gradients(self) -> None:
        """Drop gradients, so that the next pass overwrites instead of accumulating."""
        for each in self._parameters:
            each.grad = None


def _tensors(targets: DataclassInstance) -> list[torch.Tensor]:
    """The tensors of a dataclass, in the order of its fields."""
    values = (getattr(targets, field.name) for field in dataclasses.fields(targets))
    return [value for value in values if isinstance(value, torch.Tensor)]


def _refilled(targets: TargetsT, tensors: list[torch.Tensor]) -> TargetsT:
    """A copy of the dataclass with these tensors."""
    coming = iter(tensors)
    changes = {
        field.name: next(coming)
        for field in dataclasses.fields(targets)
        if isinstance(getattr(targets, field.name), torch.Tensor)
    }
    return dataclasses.replace(targets, **changes)
