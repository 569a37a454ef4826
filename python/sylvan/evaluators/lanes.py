"""Ways for batches to a device and back. This one does its work at once, as a processor does.

A lane takes a batch that lies in memory, answers it on its device and brings numbers back. Batches
that were given to two lanes of a GPU (`cuda_graphs`) are on their way at the same time.

*Batch sizes.* A device that prepares for a batch size is asked for few of them, and what is missing
to one is padding. Padding is left as it is: no position of a batch sees another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from sylvan.evaluators.device_module import Outputs

__all__ = ["Lane", "padded_size"]


class Lane:
    """The plain way. `with lane.open():` stands around all that a batch needs.

    :param module: from observations to `Outputs`; a `DeviceModule`, perhaps compiled.
    :param size: the batch size that is computed for so many positions.
    :param device: that the module is on.
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
        """What happens inside goes this way; on a GPU one thread's at a time."""
        with torch.inference_mode():
            yield

    def room(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Memory for what goes to the device or comes from it, not filled."""
        return torch.empty(shape, dtype=dtype)

    def sent(self, numbers: torch.Tensor) -> torch.Tensor:
        """Numbers that lie in `room`, on the device."""
        return numbers.to(self.device)

    def answer(self, observations: torch.Tensor) -> Outputs:
        """What the network says of observations that lie in `room`, on the device.

        The next batch of this lane may be written over it.
        """
        count = len(observations)
        missing = self.size(count) - count
        if missing:
            padding = observations.new_zeros((missing, *observations.shape[1:]))
            observations = torch.cat([observations, padding])
        return first_rows(self.module(self.sent(observations)), count)

    def bring(self, numbers: torch.Tensor, room: torch.Tensor) -> None:
        """Write what the device has found into `room`, as soon as it is found."""
        room.copy_(numbers)

    def mark(self) -> Callable[[], None]:
        """A function that waits for all that this lane was given until now."""
        return _nothing

    def idle(self) -> None:
        """Wait until nothing is under way on the device."""


def _nothing() -> None:
    """There is nothing to wait for."""


def first_rows(outputs: Outputs, count: int) -> Outputs:
    """The outputs without their padding."""
    policy, value, moves_left = outputs
    return policy[:count], value[:count], None if moves_left is None else moves_left[:count]


def padded_size(count: int, batch: int, *, compiled: bool) -> int:
    """The least prepared batch size that holds `count` positions; `batch` is the largest.

    Powers of two, from 256 on those times three quarters too. Where whole batches are compiled,
    they are so much faster that all of about a quarter or more are filled up to one.

    >>> [padded_size(count, 2000, compiled=False) for count in (5, 257, 385, 1025, 1700)]
    [8, 384, 512, 1536, 2000]
    >>> [padded_size(count, 2000, compiled=True) for count in (5, 257, 501, 1025, 1700)]
    [8, 384, 2000, 2000, 2000]
    """
    size = 1 << (count - 1).bit_length()
    if size >= 512 and count <= size // 4 * 3:
        size = size // 4 * 3
    return batch if size > (batch // 4 if compiled else batch) else size
