"""Run networks in PyTorch: on the CPU, or on a GPU in half precision.

*Transfers.* A GPU receives packed planes (896 bytes for a chess position instead of 28 kB) and the
indices of legal logits; it returns the logits of legal actions (about 35 of 4672) and the value.
Bits are expanded and logits gathered on the device.

The leaves of self-play are in pinned memory (`pinned`): they are copied from it to the device, and
their logits back into it, without work of the CPU. Logits travel as float32: 140 MB/s at a million
chess positions a second, and the conversion from half precision on the device is exact.

*Asynchronous use.* `submit` starts an evaluation, `ready` says whether it is done, `collect` waits
for it. With two forests, one selects while the other is evaluated:

    one, two = submit(first.select()), submit(second.select())
    first.update(*collect(one)); one = submit(first.select())
    second.update(*collect(two)); ...

*Batch shapes.* A GPU uses few batch sizes (`lanes.padded_size`); a CUDA graph is recorded for each
at its first use (`cuda_graphs`). With `compile=True` full batches are compiled; smaller ones, which
are rare in self-play, are not.

*Reproducibility.* Batch norms are folded, so positions of a batch do not affect each other. But
another batch size may add sums in another order, which changes the last digits (about 1e-6 in fp32,
1e-2 in half precision). With `deterministic=True` every position is a batch of its own, in fp32,
with reproducible algorithms: its evaluation then depends only on the position, the machine and its
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators.network import Floats, Inference, NetworkEvaluator
from sylvan.evaluators.protocol import memory_of
from sylvan.networks import load_network, torch_missing
from sylvan.networks.header import NetworkHeader, header_of

try:
    import torch

    from sylvan.evaluators.device_module import DeviceModule, Outputs
    from sylvan.evaluators.lanes import KERNELS, Fence, Kernels, Lane, padded_size
    from sylvan.networks.device import device_named
except ModuleNotFoundError:
    raise torch_missing() from None

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves, LeavesForest

__all__ = ["Ticket", "TorchEvaluator"]

Precision = Literal["auto", "float32", "float16", "bfloat16"]

LANES = 2
"""Batches on a GPU at the same time: one is computed, one is transferred."""


@dataclass(frozen=True, eq=False)
class Staged:
    """A batch in memory that the device can read and write."""

    observations: torch.Tensor
    """`[B, *header.observation_shape]`, or packed planes `[B, planes]` as int64."""
    offsets: torch.Tensor
    """`[B + 1]` int64: the legal actions of row i are `offsets[i]:offsets[i + 1]`."""
    indices: torch.Tensor
    """`[L]` int32: the logits of the legal actions."""
    logits: torch.Tensor
    """`[L]` float32, for the answer."""


@dataclass(frozen=True, eq=False)
class Ticket:
    """An evaluation in progress; `TorchEvaluator.collect` waits for it."""

    batch: Staged
    """Kept, because the device uses its memory."""
    value: torch.Tensor
    """`[B, header.value_outputs]` buffer for values."""
    seats: NDArray[np.int64]
    """`[B]` the seats to move."""
    forest: LeavesForest
    """The forest of the leaves."""
    fences: list[Fence] = field(default_factory=list)
    """Pass all of them before reading a buffer."""


class TorchEvaluator(NetworkEvaluator):
    """An evaluator from a PyTorch module or a `.safetensors` file.

    The module is copied, folded and converted: training the original does not change the evaluator
    until `refresh`.

    :param network: a module with the signature of `NetworkOutput`, or a file.
    :param device: `auto`: a GPU if there is one, else `cpu`.
    :param dtype: of the weights; `auto`: float16 on a GPU, else float32.
    :param compile: compile the network for full batches, which takes a minute and pays off in long
        runs; or a mode of `torch.compile`, such as `max-autotune-no-cudagraphs`.
    :param batch: maximum positions evaluated at once.
    :param one_size: on a GPU, pad every batch to `batch`: other sizes run other kernels, which
        round differently.
    :param deterministic: evaluate every position alone, with reproducible algorithms; slow on a
        GPU.
    :param header: for a module without one.
    :raises NetworkError: the file is damaged, or the module has no header.
    :raises ConfigError: the device does not exist, or does not support the dtype.
    """

    def __init__(
        self,
        network: torch.nn.Module | str | PathLike[str],
        *,
        device: str = "auto",
        dtype: Precision = "auto",
        compile: bool | str = False,  # noqa: A002 (as PyTorch calls it)
        batch: int = 1024,
        one_size: bool = False,
        deterministic: bool = False,
        header: NetworkHeader | None = None,
        name: str | None = None,
    ) -> None:
        if batch < 1:
            raise ConfigError(f"batch is {batch}: it must be at least 1.")
        if isinstance(network, str | PathLike):
            name = name or Path(network).name
            module: torch.nn.Module = load_network(network)
        else:
            module = network
        header = header or header_of(module)
        if header is None:
            raise NetworkError(
                f"{type(module).__name__} has no header: give header=NetworkHeader.for_game(game)."
            )
        name = name or type(module).__name__
        super().__init__(header, name=name)
        self.device = device_named(device)
        self.dtype = _dtype(dtype, self.device, deterministic)
        self.deterministic = deterministic
        self.batch = 1 if deterministic else batch
        self.one_size = one_size
        self.kernels: Kernels = "deterministic" if deterministic else "benchmark"
        """How kernels are chosen on a GPU."""
        self._on_gpu = self.device.type == "cuda"
        self._module = DeviceModule(module, header, self.device, self.dtype)
        self._compile = compile
        self._lanes = self._built_lanes()
        self._next_lane = cycle(self._lanes)

    def resize(self, batch: int) -> None:
        """Evaluate at most `batch` positions at once, and free the memory of larger batches."""
        if batch < self.batch:
            self.batch = batch
            self._rebuild_lanes()

    @property
    def busy_seconds(self) -> float:
        """Seconds in which the GPU evaluated for this process; 0 on a CPU."""
        return self._lanes[0].busy_seconds

    @property
    def num_lanes(self) -> int:
        """Batches are evaluated by these lanes in turn."""
        return len(self._lanes)

    @property
    def other_kernels(self) -> list[Kernels]:
        """Other ways to choose kernels, the fastest first."""
        return [each for each in KERNELS if each != self.kernels] if self._on_gpu else []

    def use_kernels(self, kernels: Kernels) -> None:
        """Choose kernels in another way."""
        if kernels != self.kernels:
            self.kernels = kernels
            self._rebuild_lanes()

    def _rebuild_lanes(self) -> None:
        for lane in self._lanes:
            lane.synchronize()
        self._lanes = self._built_lanes()
        self._next_lane = cycle(self._lanes)
        if self._on_gpu:
            torch.cuda.empty_cache()

    def _built_lanes(self) -> list[Lane]:
        """Two lanes to a GPU, one to the CPU."""
        mode = self._compile if self.kernels != "eager" else False
        module: Callable[[torch.Tensor], Outputs] = self._module
        if mode:
            mode = mode if isinstance(mode, str) else "default"
            compiled: Callable[[torch.Tensor], Outputs]
            compiled = torch.compile(self._module, dynamic=False, mode=mode)

            def module(observations: torch.Tensor) -> Outputs:
                full = len(observations) == self.batch
                outputs: Outputs = (compiled if full else self._module)(observations)
                return outputs

        def size(count: int) -> int:
            prepared = self._on_gpu or bool(mode)
            if self.one_size and self._on_gpu:
                return self.batch
            return padded_size(count, self.batch, compiled=bool(mode)) if prepared else count

        if not self._on_gpu:
            return [Lane(module, size, self.device)]
        from sylvan.evaluators.cuda_graphs import CudaLane

        return [CudaLane(module, size, self.device, kernels=self.kernels) for _ in range(LANES)]

    def refresh(self, network: torch.nn.Module) -> None:
        """Copy a module's current weights; evaluations in progress finish with the old ones.

        Another thread may evaluate with other evaluators meanwhile.
        """
        with self._lanes[0].aside():
            weights = self._module.converted(network)
            for lane in self._lanes:
                lane.synchronize()
            self._module.load(weights)

    @property
    def preferred_batch(self) -> int:
        """Leaves in flight that keep the device busy; more would make the search less exact."""
        return min(self.batch, 256 if self._on_gpu else 32)

    def forward(self, observations: Floats) -> Inference:
        """Run the network on `[B, *header.observation_shape]`."""
        return self.infer(observations)

    def infer(self, observations: NDArray[Any]) -> Inference:
        """Run the network on observations as the game gives them, one per row."""
        packed = observations.dtype == np.uint64 and self.encoding is not None
        rows = observations.view(np.int64) if packed else self.expanded(observations)
        buffer = self._lanes[0].buffer
        inputs = buffer(rows.shape, torch.int64 if packed else torch.float32)
        inputs.numpy()[...] = rows
        outputs = [
            buffer((len(rows), width), torch.float32)
            for width in (self.header.num_logits, self.header.value_outputs, 1)
        ]
        fences = []
        for first, last, lane in self._parts(len(rows)):
            with lane.open():
                for found, output in zip(lane.run(inputs[first:last]), outputs, strict=True):
                    if found is not None:
                        lane.to_host(found, output[first:last])
                fences.append(lane.fence())
        for fence in fences:
            fence.wait()
        policy, value, moves_left = (output.numpy() for output in outputs)
        return Inference(policy, value, moves_left if self.header.moves_left else None)

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Return logits of the legal actions `[len(leaves.actions)]`, values `[B]` or `[B, S]`."""
        return self.collect(self.submit(leaves))

    def submit(self, leaves: Leaves) -> Ticket:
        """Start an evaluation; on a CPU it is complete when this returns.

        The leaves of self-play are read in their own memory, and their logits are written there.
        """
        self.need_same_outputs(leaves)
        batch = self._in_place(leaves) or self._copied(leaves)
        value = self._lanes[0].buffer((len(leaves), self.header.value_outputs), torch.float32)
        ticket = Ticket(batch, value, leaves.seats, leaves.forest)
        for first, last, lane in self._parts(len(leaves)):
            legal = slice(int(leaves.offsets[first]), int(leaves.offsets[last]))
            with lane.open():
                policy, worth, _ = lane.run(batch.observations[first:last])
                logits = _gathered(
                    policy,
                    lane.to_device(batch.indices[legal]),
                    lane.to_device(batch.offsets[first : last + 1]),
                )
                lane.to_host(logits, batch.logits[legal])
                lane.to_host(worth, value[first:last])
                ticket.fences.append(lane.fence())
        return ticket

    def ready(self, ticket: Ticket) -> bool:
        """Whether `collect` would return without waiting."""
        return all(fence.ready() for fence in ticket.fences)

    def collect(self, ticket: Ticket) -> tuple[Floats, Floats]:
        """Wait for an evaluation; return what `__call__` returns."""
        for fence in ticket.fences:
            fence.wait()
        logits: Floats = ticket.batch.logits.numpy()
        return logits, self.values(ticket.value.numpy(), ticket.seats, ticket.forest)

    def _parts(self, count: int) -> Iterator[tuple[int, int, Lane]]:
        """Split `count` rows into parts of at most `batch`: first row, end and lane of each."""
        for first in range(0, count, self.batch):
            yield first, min(first + self.batch, count), next(self._next_lane)

    def _in_place(self, leaves: Leaves) -> Staged | None:
        """The leaves' own memory; None if they have none, or observations of another kind."""
        memory = memory_of(leaves)
        if memory is None:
            return None
        shape = self.header.observation_shape
        seen = memory.observations
        if self.encoding is not None:
            shape = shape[:1]
            # Signed: PyTorch cannot shift unsigned 64-bit integers.
            seen = seen.view(np.int64) if seen.dtype == np.uint64 else seen
        if seen.shape[1:] != shape or seen.dtype != self._seen_dtype:
            return None
        arrays = seen, memory.offsets, memory.indices, memory.logits
        return Staged(*map(torch.from_numpy, arrays))

    def _copied(self, leaves: Leaves) -> Staged:
        """Copy leaves into buffers; planes stay packed."""
        buffer, shape, count = self._lanes[0].buffer, self.header.observation_shape, len(leaves)
        if self.encoding is None:
            observations = buffer((count, *shape), torch.float32)
            leaves.observe(observations.numpy())
        else:
            observations = buffer((count, shape[0]), torch.int64)
            leaves.observe(observations.numpy().view(np.uint64))
        offsets = buffer((count + 1,), torch.int64)
        offsets.numpy()[...] = leaves.offsets
        indices = buffer((len(leaves.actions),), torch.int32)
        indices.numpy()[...] = leaves.logit_indices
        logits = buffer((len(indices),), torch.float32)
        return Staged(observations, offsets, indices, logits)

    @property
    def _seen_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.encoding is None else np.int64)


def _gathered(policy: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Gather the logits of legal actions from a policy `[B, num_logits]`: row i has those from
    `offsets[i]` to `offsets[i + 1]`, counted from the first.
    """
    rows = torch.arange(len(policy), dtype=torch.int32, device=policy.device)
    rows = torch.repeat_interleave(rows, offsets.diff(), output_size=len(indices))
    return policy.flatten().index_select(0, rows * policy.shape[1] + indices)


def _dtype(name: str, device: torch.device, deterministic: bool) -> torch.dtype:
    if name == "auto":
        name = "float16" if device.type == "cuda" and not deterministic else "float32"
    if name not in ("float32", "float16", "bfloat16"):
        raise ConfigError(f"dtype is {name!r}: use 'auto', 'float32', 'float16' or 'bfloat16'.")
    if name != "float32" and (device.type == "cpu" or deterministic):
        raise ConfigError(
            f"dtype is {name!r}, which needs a GPU and deterministic=False: use 'float32'."
        )
    kind: torch.dtype = getattr(torch, name)
    return kind
