"""Prefetch batches from the replay and copy them to the device.

While the learner trains on one batch, a thread draws the next, in order and from a generator used
by this thread alone: the batches are the same as without the thread. With prioritised sampling
nothing is prefetched, since each batch changes the priorities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from sylvan.errors import TrainingError
from sylvan.learning.losses import Targets
from sylvan.networks.header import NetworkHeader
from sylvan.networks.planes import PackedPlanes

__all__ = [
    "AnyBatch",
    "Examples",
    "PositionSender",
    "PrioritisedExamples",
    "Sender",
    "Sent",
    "TrainingBatch",
    "batches",
]


class AnyBatch(Protocol):
    """Arrays of B examples: all that a learner needs of every kind of batch."""

    @property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` in the game's own format; packed planes stay packed."""

    @property
    def positions(self) -> NDArray[np.int64]:
        """The index of each example in the replay, for `update_priorities`."""


class TrainingBatch(AnyBatch, Protocol):
    """Arrays of B positions; `sylvan.replay.batches.Batch` is one."""

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
    def from_file(self) -> NDArray[np.bool_] | None:
        """`[B]` whether an example is of `learner.games`; None if there are none."""


Drawn = TypeVar("Drawn", covariant=True)
BatchT = TypeVar("BatchT", bound=AnyBatch)
TargetsT = TypeVar("TargetsT")
Prepared = TypeVar("Prepared")


class Examples(Protocol[Drawn]):
    """Source of batches: the replay, or a file of labelled positions."""

    def sample(self, count: int, rng: np.random.Generator, /) -> Drawn:
        """Draw a batch of `count` examples with `rng` alone."""


@runtime_checkable
class EarlyExamples(Protocol):
    """Examples on whose batches other machines may work."""

    @property
    def early(self) -> int:
        """Batches to begin before the first of them is waited for; 0: none."""

    def begin(self, count: int, rng: np.random.Generator, /) -> Callable[[], Any]:
        """Draw as `sample`, and return a function that waits for the batch."""


class HasPrioritised(Protocol):
    """The settings of a replay, as far as the learner reads them."""

    @property
    def prioritised(self) -> bool:
        """Whether examples are sampled by priority."""


@runtime_checkable
class PrioritisedExamples(Protocol):
    """Examples that can be sampled by priority: the replay."""

    @property
    def config(self) -> HasPrioritised:
        """The settings."""

    def update_priorities(
        self, positions: NDArray[np.int64], priorities: NDArray[np.float32], /
    ) -> None:
        """Set the priorities of the examples at these positions."""


def batches(
    examples: Examples[BatchT],
    size: int,
    count: int,
    rng: np.random.Generator,
    prepare: Callable[[BatchT], Prepared],
    *,
    ahead: bool = True,
) -> Iterator[Prepared]:
    """Iterate over `count` prepared batches of `size`; `ahead`: prefetch one batch."""
    if not ahead:
        for _ in range(count):
            yield prepare(examples.sample(size, rng))
        return
    drawn = _begun_early(examples, size, count, rng)
    with ThreadPoolExecutor(1, thread_name_prefix="sylvan-batches") as pool:

        def draw() -> Prepared:
            return prepare(next(drawn))

        coming = pool.submit(draw) if count else None
        for number in range(count):
            assert coming is not None
            batch = coming.result()
            coming = pool.submit(draw) if number + 1 < count else None
            yield batch


def _begun_early(
    examples: Examples[BatchT], size: int, count: int, rng: np.random.Generator
) -> Iterator[BatchT]:
    """Draw batches; some begin early, if other machines work on them."""
    if not isinstance(examples, EarlyExamples) or not examples.early:
        for _ in range(count):
            yield examples.sample(size, rng)
        return
    begun: deque[Callable[[], BatchT]] = deque()
    for _ in range(count):
        begun.append(examples.begin(size, rng))
        if len(begun) > examples.early:
            yield begun.popleft()()
    while begun:
        yield begun.popleft()()


@dataclass(frozen=True)
class Sent(Generic[BatchT, TargetsT]):
    """A batch, and its tensors on the learner's device."""

    batch: BatchT
    observations: torch.Tensor
    """`[B, *observation_shape]` fp32."""
    targets: TargetsT


class Sender(ABC, Generic[BatchT, TargetsT]):
    """Copies a batch's arrays to a device."""

    def __init__(self, header: NetworkHeader, device: torch.device) -> None:
        self.header, self.device = header, device
        self.planes = PackedPlanes(header.encoding).to(device) if header.encoding else None

    def __call__(self, batch: BatchT) -> Sent[BatchT, TargetsT]:
        """Copy the batch to the device.

        :raises TrainingError: the batch has another game or encoding.
        """
        return Sent(batch, self.observations(batch.observations), self.targets(batch))

    def observations(self, array: NDArray[Any]) -> torch.Tensor:
        """`[B, *observation_shape]` fp32; packed planes and bytes are expanded on the device.

        :raises TrainingError: the shape is of another game or encoding.
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
                f"network takes {self.header.observation_shape}: train it on games of "
                f"{self.header.game} in its own encoding."
            )
        if observations.dim() == 4:  # convolutions are faster in this layout, on CPUs too
            return observations.contiguous(memory_format=torch.channels_last)
        return observations

    @abstractmethod
    def targets(self, batch: BatchT) -> TargetsT:
        """Copy everything but the observations.

        :raises TrainingError: the batch is of another game.
        """

    def sent(self, array: NDArray[Any]) -> torch.Tensor:
        """Copy an array to the device, through pinned memory so that the copy is asynchronous."""
        if self.device.type != "cuda":
            return torch.from_numpy(np.require(array, requirements=["C", "W"]))
        tensor = torch.from_numpy(np.require(array, requirements=["C", "W"])).pin_memory()
        return tensor.to(self.device, non_blocking=True)


class PositionSender(Sender[TrainingBatch, Targets]):
    """Copies batches of positions."""

    def targets(self, batch: TrainingBatch) -> Targets:
        """Copy everything but the observations.

        :raises TrainingError: the batch is of another game or encoding.
        """
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
            from_file=None if batch.from_file is None else self.sent(batch.from_file),
        )
