"""Batches on their way from the replay to the learner: drawn ahead, then sent to the device.

While one batch is trained on, a thread draws the next. It draws as many as the learner asked for,
in order, from one generator that nobody else uses meanwhile: the learner gets the batches that it
would have got without the thread. Only where what a batch teaches decides about the next one, as
with priorities, nothing is drawn ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from sylvan.errors import TrainingError
from sylvan.learning.losses import Targets
from sylvan.networks.header import NetworkHeader
from sylvan.networks.planes import PackedPlanes

__all__ = ["Examples", "Sender", "Sent", "TrainingBatch", "batches"]

Prepared = TypeVar("Prepared")


class TrainingBatch(Protocol):
    """The arrays of B positions, as `sylvan.replay.batches.Batch` has them."""

    @property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` as the game gives them, packed planes packed."""

    @property
    def policy(self) -> NDArray[np.float32]:
        """`[B, num_logits]` probabilities."""

    @property
    def legal(self) -> NDArray[np.bool_]:
        """`[B, num_logits]`."""

    @property
    def policy_weight(self) -> NDArray[np.float32]:
        """`[B]`."""

    @property
    def value(self) -> NDArray[np.float32]:
        """`[B, 3 | 1 | seats]`."""

    @property
    def weight(self) -> NDArray[np.float32]:
        """`[B]`."""

    @property
    def moves_left(self) -> NDArray[np.float32] | None:
        """`[B, 1]` plies."""

    @property
    def auxiliary(self) -> Mapping[str, NDArray[np.float32]]:
        """Name to `[B, ...]`."""

    @property
    def places(self) -> NDArray[np.int64]:
        """`[B, 2]` where each comes from, for `update_priorities`."""


class Examples(Protocol):
    """What the learner draws from: the replay, or a file of labelled positions."""

    def sample(self, count: int, rng: np.random.Generator) -> Any:
        """`count` positions, chosen by nothing but `rng`: a `TrainingBatch`, or what else the
        learner takes.
        """


def batches(
    examples: Examples,
    size: int,
    count: int,
    rng: np.random.Generator,
    prepare: Callable[[Any], Prepared],
    *,
    ahead: bool = True,
) -> Iterator[Prepared]:
    """`count` batches of `size`, prepared; `ahead`: each while the one before it is used."""

    def drawn() -> Prepared:
        return prepare(examples.sample(size, rng))

    if not ahead:
        for _ in range(count):
            yield drawn()
        return
    with ThreadPoolExecutor(1, thread_name_prefix="sylvan-batches") as pool:
        coming = pool.submit(drawn) if count else None
        for number in range(count):
            assert coming is not None
            batch = coming.result()
            coming = pool.submit(drawn) if number + 1 < count else None
            yield batch


@dataclass(frozen=True)
class Sent:
    """A batch, and its tensors on the learner's device."""

    batch: Any
    observations: torch.Tensor
    """`[B, *observation_shape]` fp32."""
    targets: Any
    """`Targets`, or those of another kind of learner."""


class Sender:
    """Makes tensors on a device of a batch's arrays."""

    def __init__(self, header: NetworkHeader, device: torch.device) -> None:
        self.header, self.device = header, device
        self.planes = PackedPlanes(header.encoding).to(device) if header.encoding else None

    def __call__(self, batch: Any) -> Sent:
        """The batch, on its way.

        :raises TrainingError: it is of another game or encoding.
        """
        return Sent(batch, self.observations(batch.observations), self.targets(batch))

    def observations(self, array: NDArray[Any]) -> torch.Tensor:
        """`[B, *observation_shape]` fp32; packed planes and bytes are expanded over there.

        :raises TrainingError: they are of another game or encoding.
        """
        observations: torch.Tensor
        if self.planes is not None and array.dtype == np.uint64:
            observations = self.planes(self.sent(array.view(np.int64)))
        elif array.dtype == np.uint8:
            observations = self.sent(array).float()
        else:
            observations = self.sent(np.asarray(array, np.float32))
        if tuple(observations.shape[1:]) != self.header.observation_shape:
            raise TrainingError(
                f"The replay has observations of shape {tuple(observations.shape[1:])}, but the "
                f"network sees {self.header.observation_shape}: train it on games of "
                f"{self.header.game} in its own encoding."
            )
        if observations.dim() == 4:  # convolutions are quicker so, on processors too
            return observations.contiguous(memory_format=torch.channels_last)
        return observations

    def targets(self, batch: Any) -> Any:
        """Everything else of the batch."""
        wanted = (len(batch.policy), self.header.num_logits), self.header.value_outputs
        if batch.policy.shape != wanted[0] or batch.value.shape[1] != wanted[1]:
            raise TrainingError(
                f"The replay has policies of shape {batch.policy.shape} and {batch.value.shape[1]} "
                f"numbers per value, but the network gives {wanted[0]} and {wanted[1]}: train it "
                f"on games of {self.header.game} in its own encoding."
            )
        return Targets(
            policy=self.sent(batch.policy),
            legal=self.sent(batch.legal),
            policy_weight=self.sent(batch.policy_weight),
            value=self.sent(batch.value),
            weight=self.sent(batch.weight),
            moves_left=None if batch.moves_left is None else self.sent(batch.moves_left),
            auxiliary={name: self.sent(array) for name, array in (batch.auxiliary or {}).items()},
        )

    def sent(self, array: NDArray[Any]) -> torch.Tensor:
        """An array on the device; through pinned memory, so that the copy waits for nobody."""
        if self.device.type != "cuda":
            return torch.from_numpy(np.require(array, requirements=["C", "W"]))
        tensor = torch.from_numpy(np.require(array, requirements=["C", "W"])).pin_memory()
        return tensor.to(self.device, non_blocking=True)
