"""Data-parallel learning: several processes share each batch.

    process 0   batch ← replay, weights → parts and weights ─┐
    each        gradient of its part                          ├─ Σ → process 0: clip, optimizer step
    process 0   checkpoint, average, metrics                  ┘

The sum of the gradients is the gradient of the joint batch, up to the rounding of sums: each part's
weighted mean is divided by the sum of weights over all processes (`joint_sum`), and batch norms use
the mean and variance of the joint batch. Only process 0 has an optimizer in use, so the weights of
all processes are the same bits, and a run goes on from its checkpoint with any number of them.

Messages go through `torch.distributed` with gloo, on CPUs and GPUs.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import distributed, nn

from sylvan.errors import ConfigError, TrainingError

__all__ = [
    "Group",
    "JointBatchNorm",
    "LearnerLost",
    "joint_sum",
    "need_shareable",
    "parts_of",
    "with_joint_norms",
]

PATIENCE = timedelta(days=1)
"""Time for an answer: processes wait while games are played. A process that dies closes its
connections, which ends the wait at once."""

BatchT = TypeVar("BatchT")

_sharing = False
"""Whether this process computes its part of a batch."""


class LearnerLost(TrainingError):
    """A process that shares the batches does not answer: it has died."""


@contextmanager
def _answered() -> Iterator[None]:
    """Wait for other processes.

    :raises LearnerLost: one has died.
    """
    try:
        yield
    except RuntimeError as error:  # gloo has no type of its own
        reason = str(error).partition("\n")[0]
        raise LearnerLost(
            f"Another learner does not answer ({reason}): run the same command again."
        ) from error


class Group:
    """The processes that share a batch; each makes one.

    :param meeting: a file that all of them reach and that does not exist yet; they find each other
        there. It can be removed afterwards.
    """

    def __init__(self, meeting: Path, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        store = distributed.FileStore(str(meeting), size)  # type: ignore[attr-defined]
        store.set_timeout(PATIENCE)
        distributed.init_process_group(
            "gloo",
            store=store,
            rank=rank,
            world_size=size,
            timeout=PATIENCE,
        )

    def close(self) -> None:
        """Leave the group."""
        distributed.destroy_process_group()

    def broadcast(self, message: Any = None) -> Any:
        """Send a message of process 0 to all."""
        box = [message]
        with _answered():
            distributed.broadcast_object_list(box)
        return box[0]

    def scatter(self, messages: Sequence[Any] | None = None) -> Any:
        """Send each process its message of process 0."""
        box: list[Any] = [None]
        with _answered():
            distributed.scatter_object_list(box, None if messages is None else list(messages))
        return box[0]

    def gather(self, message: Any) -> list[Any]:
        """Send the messages of all processes to process 0; the others get an empty list."""
        found: list[Any] | None = [None] * self.size if self.rank == 0 else None
        with _answered():
            distributed.gather_object(message, found)
        return found or []

    def copy(self, tensors: Sequence[torch.Tensor]) -> None:
        """Copy the tensors of process 0 to all."""
        for kind in _kinds(tensors):
            flat = torch.cat([each.detach().reshape(-1) for each in kind])
            with _answered():
                distributed.broadcast(flat, 0)
            if self.rank:
                _fill(kind, flat)

    def add(self, tensors: Sequence[torch.Tensor]) -> None:
        """Add the tensors of all processes, in place, for process 0."""
        for kind in _kinds(tensors):
            flat = torch.cat([each.detach().reshape(-1) for each in kind])
            with _answered():
                distributed.reduce(flat, 0)
            _fill(kind, flat)

    @contextmanager
    def sharing(self) -> Iterator[None]:
        """Compute a part of a batch."""
        global _sharing
        _sharing = True
        try:
            yield
        finally:
            _sharing = False


def _kinds(tensors: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    """The tensors by their types."""
    kinds: dict[torch.dtype, list[torch.Tensor]] = {}
    for tensor in tensors:
        kinds.setdefault(tensor.dtype, []).append(tensor)
    return list(kinds.values())


@torch.no_grad()
def _fill(tensors: Sequence[torch.Tensor], flat: torch.Tensor) -> None:
    start = 0
    for tensor in tensors:
        tensor.copy_(flat[start : start + tensor.numel()].view(tensor.shape))
        start += tensor.numel()


def joint_sum(numbers: torch.Tensor) -> torch.Tensor:
    """The sum over all processes that share a batch; else the numbers themselves."""
    if not _sharing:
        return numbers
    total = numbers.detach().clone()
    with _answered():
        distributed.all_reduce(total)
    return total


class JointBatchNorm(nn.BatchNorm2d):
    """Batch norm over the joint batch of all processes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise `[B, C, H, W]`."""
        if not (self.training and _sharing):
            normed: torch.Tensor = super().forward(x)
            return normed
        numbers = x.float()
        here = numbers.new_tensor([numbers.numel() / numbers.shape[1]])
        count = joint_sum(here)
        mean = _Sum.apply(numbers.sum(dim=(0, 2, 3))) / count  # type: ignore[no-untyped-call]
        centred = numbers - mean[:, None, None]
        squares = centred.square().sum(dim=(0, 2, 3))
        variance = _Sum.apply(squares) / count  # type: ignore[no-untyped-call]
        self._remember(mean.detach(), (variance * count / (count - 1).clamp(min=1)).detach())
        scale = (variance + self.eps).rsqrt() * self.weight.float()
        found: torch.Tensor = centred * scale[:, None, None] + self.bias.float()[:, None, None]
        return found.to(x.dtype)

    def _remember(self, mean: torch.Tensor, variance: torch.Tensor) -> None:
        assert self.running_mean is not None and self.running_var is not None
        assert self.num_batches_tracked is not None and self.momentum is not None
        with torch.no_grad():
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
            self.running_var.lerp_(variance.to(self.running_var.dtype), self.momentum)


class _Sum(torch.autograd.Function):
    """The sum over all processes, whose gradient is the sum of their gradients."""

    @staticmethod
    def forward(context: Any, numbers: torch.Tensor) -> torch.Tensor:  # noqa: ARG004
        return joint_sum(numbers)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:  # noqa: ARG004
        return joint_sum(gradient.contiguous())


def with_joint_norms(network: nn.Module) -> None:
    """Make a network's batch norms joint ones, in place; its tensors and their names stay."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = JointBatchNorm


def parts_of(batch: BatchT, count: int) -> list[BatchT]:
    """Parts of a batch of B examples, of nearly equal sizes and in order.

    :param batch: a dataclass of arrays `[B, ...]`, and of dictionaries of such arrays.
    """
    names = [each.name for each in fields(batch)]  # type: ignore[arg-type]
    total = len(batch.observations)  # type: ignore[attr-defined]
    ends = np.linspace(0, total, count + 1).astype(int)
    return [
        replace(batch, **{name: _rows(getattr(batch, name), slice(*rows)) for name in names})  # type: ignore[type-var]
        for rows in pairwise(ends)
    ]


def _rows(values: Any, rows: slice) -> Any:
    if values is None:
        return None
    if isinstance(values, dict):
        return {name: each[rows] for name, each in values.items()}
    return values[rows]


def need_shareable(network: nn.Module, size: int, batch: int) -> None:
    """Check that the gradient of a joint batch is the sum over its parts.

    :raises ConfigError: it is not, or the network cannot be sent.
    """
    if batch < size:
        raise ConfigError(
            f"learner.batch is {batch}, but --learners is {size}: give at least one example to "
            "each learner."
        )
    for module in network.modules():
        norm = isinstance(module, nn.modules.batchnorm._BatchNorm)
        if (norm and not isinstance(module, nn.BatchNorm2d)) or isinstance(
            module, nn.modules.dropout._DropoutNd
        ):
            raise ConfigError(
                f"{type(network).__name__} has a {type(module).__name__}, which several learners "
                "cannot share: omit --learners."
            )
    try:
        pickle.dumps(network)
    except Exception as error:
        raise ConfigError(
            f"{type(network).__name__} cannot be copied to other learners ({error}): omit "
            "--learners."
        ) from None
