"""Networks on PyTorch: on the processor, or on a GPU in half precision.

*What crosses the bus.* To a GPU go packed planes (896 bytes for a chess position instead of 28 kB)
and the places of legal logits; back come the logits of legal actions (about 35 of 4672) and the
value. Bits are expanded and logits gathered over there.

*Two halves.* `submit` starts an evaluation, `collect` waits for it. Whoever has two forests selects
in one while the other is evaluated:

    one, two = submit(first.select()), submit(second.select())
    first.update(*collect(one)); one = submit(first.select())
    second.update(*collect(two)); ...

*Batch shapes.* A GPU is asked for a few batch sizes only (`lanes.padded_size`); each is recorded as
a CUDA graph when it first comes (`cuda_graphs`). With `compile=True` whole batches are compiled
before that; small ones, which are rare in self-play, run as they are.

*Equal answers.* Batch norm is folded, so no position sees another; but sums may be added up in
another order in another batch size, which changes the last digits (about 1e-6 in fp32, 1e-2 in
half precision). With `deterministic=True` every position is a batch of its own, in fp32, with
algorithms that repeat: what is said of a position then depends on nothing but the position, the
machine and its number of threads.
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
from sylvan.networks import load_network, torch_missing
from sylvan.networks.header import NetworkHeader

try:
    import torch

    from sylvan.evaluators.device_module import DeviceModule, Outputs
    from sylvan.evaluators.lanes import Lane, padded_size
    from sylvan.networks.device import device_named
except ModuleNotFoundError:
    raise torch_missing() from None

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves, LeavesForest

__all__ = ["Ticket", "TorchEvaluator"]

Precision = Literal["auto", "float32", "float16", "bfloat16"]

LANES = 2
"""Batches that are on a GPU at the same time: one computed, one on its way."""


@dataclass(frozen=True, eq=False)
class Ticket:
    """An evaluation under way; `TorchEvaluator.collect` waits for it."""

    logits: torch.Tensor
    """`[len(leaves.actions)]` room for the logits of legal actions."""
    value: torch.Tensor
    """`[B, header.value_outputs]` room for values."""
    seats: NDArray[np.int64]
    """`[B]` to move."""
    forest: LeavesForest
    """Whose leaves these are."""
    waits: list[Callable[[], None]] = field(default_factory=list)
    """To be called before anything is read."""


class TorchEvaluator(NetworkEvaluator):
    """An evaluator from a PyTorch module, or from a `.safetensors` file.

    The module is copied, folded and converted: training the original further changes nothing here
    until `refresh`.

    :param network: a module with the signature of `NetworkOutput`, or a file.
    :param device: `auto` is a GPU where there is one, else `cpu`.
    :param dtype: of the weights; `auto` is float16 on a GPU, else float32.
    :param compile: compile the network for whole batches, which takes a minute and pays in long
        runs; or the mode of `torch.compile` to do it in, such as `max-autotune-no-cudagraphs`.
    :param batch: positions that are evaluated at once at most.
    :param deterministic: evaluate every position alone and repeatably; slow on a GPU.
    :param header: of a module that has none.
    :raises NetworkError: the file is damaged, or the module has no header.
    :raises ConfigError: there is no such device, or no such precision on it.
    """

    def __init__(
        self,
        network: torch.nn.Module | str | PathLike[str],
        *,
        device: str = "auto",
        dtype: Precision = "auto",
        compile: bool | str = False,  # noqa: A002 (as PyTorch calls it)
        batch: int = 1024,
        deterministic: bool = False,
        policy_temperature: float = 1.0,
        header: NetworkHeader | None = None,
        name: str | None = None,
    ) -> None:
        if batch < 1:
            raise ConfigError(f"batch is {batch}: it must be at least 1.")
        if isinstance(network, str | PathLike):
            name = name or Path(network).name
            module = load_network(network)
        else:
            module = network
        header = header or getattr(module, "header", None)
        if not isinstance(header, NetworkHeader):
            raise NetworkError(
                f"{type(module).__name__} has no header: give header=NetworkHeader.for_game(game)."
            )
        name = name or type(module).__name__
        super().__init__(header, name=name, policy_temperature=policy_temperature)
        self.device = device_named(device)
        self.dtype = _dtype(dtype, self.device, deterministic)
        self.deterministic = deterministic
        self.batch = 1 if deterministic else batch
        self._on_gpu = self.device.type == "cuda"
        self._module = DeviceModule(module, header, self.device, self.dtype)
        self._lanes = self._built_lanes(compile)
        self._turn = cycle(self._lanes)

    def _built_lanes(self, mode: bool | str) -> list[Lane]:
        """As many ways to the device as are worth it."""
        module: Callable[[torch.Tensor], Outputs] = self._module
        if mode:
            mode = mode if isinstance(mode, str) else "default"
            compiled: Any = torch.compile(self._module, dynamic=False, mode=mode)

            def module(observations: torch.Tensor) -> Outputs:
                whole = len(observations) == self.batch
                outputs: Outputs = (compiled if whole else self._module)(observations)
                return outputs

        def size(count: int) -> int:
            prepared = self._on_gpu or bool(mode)
            return padded_size(count, self.batch, compiled=bool(mode)) if prepared else count

        if not self._on_gpu:
            return [Lane(module, size, self.device)]
        from sylvan.evaluators.cuda_graphs import CudaLane

        options = {"deterministic": self.deterministic}
        return [CudaLane(module, size, self.device, **options) for _ in range(LANES)]

    def refresh(self, network: torch.nn.Module) -> None:
        """Take over the numbers that a module has now; what is under way ends with the old ones."""
        self._lanes[0].idle()
        self._module.refresh(network)
        self._lanes[0].idle()  # before another stream reads them

    @property
    def preferred_batch(self) -> int:
        """Leaves of one tree that keep the device busy; more in flight would mislead the search."""
        return min(self.batch, 256 if self._on_gpu else 32)

    def forward(self, observations: Floats) -> Inference:
        """The network's answer to `[B, *header.observation_shape]`."""
        return self.infer(observations)

    def infer(self, observations: NDArray[Any]) -> Inference:
        """The network's answer to observations as the game gives them, one per row."""
        packed = observations.dtype == np.uint64 and self.encoding is not None
        rows = observations.view(np.int64) if packed else self.expanded(observations)
        room = self._lanes[0].room
        seen = room(rows.shape, torch.int64 if packed else torch.float32)
        seen.numpy()[...] = rows
        outputs = [
            room((len(rows), width), torch.float32)
            for width in (self.header.num_logits, self.header.value_outputs, 1)
        ]
        waits = []
        for first, last, lane in self._parts(len(rows)):
            with lane.open():
                answers = lane.answer(seen[first:last])
                for answer, output in zip(answers, outputs, strict=True):
                    if answer is not None:
                        lane.bring(answer, output[first:last])
                waits.append(lane.mark())
        for wait in waits:
            wait()
        policy, value, moves_left = (output.numpy() for output in outputs)
        return Inference(policy, value, moves_left if self.header.moves_left else None)

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Logits of the legal actions `[len(leaves.actions)]` and values `[B]` or `[B, seats]`."""
        return self.collect(self.submit(leaves))

    def submit(self, leaves: Leaves) -> Ticket:
        """Start the evaluation of leaves; on a processor it is over when this returns."""
        self.need_same_outputs(leaves)
        room = self._lanes[0].room
        seen = self._seen(leaves, room)
        indices = room((len(leaves.actions),), torch.int32)
        indices.numpy()[...] = leaves.logit_indices
        counts = room((len(leaves),), torch.int64)
        np.subtract(leaves.offsets[1:], leaves.offsets[:-1], out=counts.numpy())
        ticket = Ticket(
            room((len(indices),), torch.float32),
            room((len(leaves), self.header.value_outputs), torch.float32),
            leaves.seats,
            leaves.forest,
        )
        for first, last, lane in self._parts(len(leaves)):
            legal = slice(int(leaves.offsets[first]), int(leaves.offsets[last]))
            with lane.open():
                policy, value, _ = lane.answer(seen[first:last])
                logits = _gathered(policy, lane.sent(indices[legal]), lane.sent(counts[first:last]))
                lane.bring(logits, ticket.logits[legal])
                lane.bring(value, ticket.value[first:last])
                ticket.waits.append(lane.mark())
        return ticket

    def collect(self, ticket: Ticket) -> tuple[Floats, Floats]:
        """Wait for an evaluation: logits of the legal actions and values, as `__call__` gives."""
        for wait in ticket.waits:
            wait()
        logits = self.tempered(ticket.logits.numpy())
        return logits, self.values(ticket.value.numpy(), ticket.seats, ticket.forest)

    def _parts(self, count: int) -> Iterator[tuple[int, int, Lane]]:
        """First and last row of every part of at most `batch`, and the lane whose turn it is."""
        for first in range(0, count, self.batch):
            yield first, min(first + self.batch, count), next(self._turn)

    def _seen(
        self, leaves: Leaves, room: Callable[[tuple[int, ...], torch.dtype], torch.Tensor]
    ) -> torch.Tensor:
        """Observations of leaves in memory that the device can read; bits stay packed."""
        shape = self.header.observation_shape
        if self.encoding is None:
            seen = room((len(leaves), *shape), torch.float32)
            leaves.observe(seen.numpy())
        else:
            seen = room((len(leaves), shape[0]), torch.int64)
            # Signed, because PyTorch shifts no unsigned numbers of 64 bits.
            leaves.observe(seen.numpy().view(np.uint64))
        return seen


def _gathered(policy: torch.Tensor, indices: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Logits of legal actions, flat, of a policy `[B, num_logits]`: `counts[i]` of row i."""
    rows = torch.arange(len(policy), dtype=torch.int32, device=policy.device)
    rows = torch.repeat_interleave(rows, counts, output_size=len(indices))
    return policy.flatten().index_select(0, rows * policy.shape[1] + indices)


def _dtype(name: str, device: torch.device, deterministic: bool) -> torch.dtype:
    if name == "auto":
        name = "float16" if device.type == "cuda" and not deterministic else "float32"
    if name not in ("float32", "float16", "bfloat16"):
        raise ConfigError(f"dtype is {name!r}: use 'auto', 'float32', 'float16' or 'bfloat16'.")
    if name != "float32" and (device.type == "cpu" or deterministic):
        raise ConfigError(
            f"dtype is {name!r}, which is for a GPU and without deterministic=True: use 'float32'."
        )
    kind: torch.dtype = getattr(torch, name)
    return kind
