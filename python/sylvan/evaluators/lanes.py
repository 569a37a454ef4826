"""Lanes: how batches get to a device and back. The lane in this file works synchronously.

A lane copies a batch to its device, runs the network and copies the outputs back. Two lanes of a
GPU (`cuda_graphs`) work at the same time.

*Batch sizes.* On a device that prepares for each batch size, few sizes are used, and batches are
padded to the next one. The contents of the padding do not matter: positions of a batch do not
affect each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

import torch

from sylvan.evaluators.device_module import Outputs

__all__ = ["KERNELS", "Fence", "Kernels", "Lane", "fill_rows", "first_rows", "padded_size"]


Kernels = Literal["benchmark", "deterministic", "eager"]
"""How kernels are chosen on a GPU: the fastest by a measurement; those that cuDNN calls
deterministic; or cuDNN's own choice, without `torch.compile`."""

KERNELS: tuple[Kernels, ...] = ("benchmark", "deterministic", "eager")


class Fence(Protocol):
    """The end of the work that a lane had been given."""

    def ready(self) -> bool:
        """Whether the work is done."""

    def wait(self) -> None:
        """Wait, without the GIL, until it is done."""


class Done:
    """The fence of work that is done already."""

    def ready(self) -> bool:
        """Yes."""
        return True

    def wait(self) -> None:
        """Return at once."""


class Lane:
    """Runs batches synchronously. Make all calls for a batch within `with lane.open():`.

    :param module: a `DeviceModule`, perhaps compiled: observations to `Outputs`.
    :param size: the padded batch size for a number of positions.
    :param device: the module's device.
    """

    def __init__(
        self,
        module: Callable[[torch.Tensor], Outputs],
        size: Callable[[int], int],
        device: torch.device,
    ) -> None:
        self.module, self.size, self.device = module, size, device

    @contextmanager
    def open(self) -> Iterator[None]:
        """Send the work inside to this lane. On a GPU, one thread at a time may do so."""
        with torch.inference_mode():
            yield

    def buffer(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Allocate memory for transfers to or from the device; its contents are undefined."""
        return torch.empty(shape, dtype=dtype)

    def to_device(self, numbers: torch.Tensor) -> torch.Tensor:
        """Copy a `buffer` to the device."""
        return numbers.to(self.device)

    def run(self, observations: torch.Tensor) -> Outputs:
        """Run the network on observations in a `buffer`; the outputs stay on the device.

        The next batch of this lane may overwrite them.
        """
        count = len(observations)
        missing = self.size(count) - count
        if missing:
            padding = observations.new_zeros((missing, *observations.shape[1:]))
            observations = torch.cat([observations, padding])
        return first_rows(self.module(self.to_device(observations)), count)

    def to_host(self, numbers: torch.Tensor, buffer: torch.Tensor) -> None:
        """Copy outputs from the device to a `buffer`; it is valid behind the `fence()`."""
        buffer.copy_(numbers)

    def fence(self) -> Fence:
        """The end of all work given to this lane so far."""
        return Done()

    @property
    def busy_seconds(self) -> float:
        """Seconds in which the device had work of any lane; 0 where nobody measures it."""
        return 0.0

    def synchronize(self) -> None:
        """Wait until this lane has finished all work."""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Do the work inside beside the batches of all lanes; at the end it is done."""
        yield


def first_rows(outputs: Outputs, count: int) -> Outputs:
    """Remove the padding from outputs."""
    policy, value, moves_left = outputs
    return policy[:count], value[:count], None if moves_left is None else moves_left[:count]


def padded_size(count: int, batch: int, *, compiled: bool) -> int:
    """The smallest batch size used for `count` positions; `batch` is the largest.

    Sizes are powers of two and, from 256 on, 1.5 times those. If full batches are compiled, they
    are so much faster that batches of more than a quarter are padded to a full one.

    >>> [padded_size(count, 2000, compiled=False) for count in (5, 257, 385, 1025, 1700)]
    [8, 384, 512, 1536, 2000]
    >>> [padded_size(count, 2000, compiled=True) for count in (5, 257, 501, 1025, 1700)]
    [8, 384, 2000, 2000, 2000]
    """
    size = 1 << (count - 1).bit_length()
    if size >= 512 and count <= size // 4 * 3:
        size = size // 4 * 3
    return batch if size > (batch // 4 if compiled else batch) else size


def fill_rows(padded: torch.Tensor, rows: torch.Tensor) -> None:
    """Start a copy of `rows` to the beginning of a larger batch; the other rows become zero, so
    that nothing depends on an earlier batch.
    """
    padded[: len(rows)].copy_(rows, non_blocking=True)
    padded[len(rows) :].zero_()
