"""A learned model on a GPU: half precision, CUDA graphs, hidden states kept in GPU memory.

*Transfers.* Observations (packed planes of chess stay packed, images stay bytes) and actions go to
the device; values and rewards in one array, and policies, are copied back asynchronously to pinned
memory. Hidden states never leave the device.

*Graphs.* A call launches hundreds of kernels; a CUDA graph, recorded once per kind of call and
batch size (`lanes.padded_size`), launches them together. A graph always uses the same memory:
inputs are copied in, and outputs are copied out before the lock is released, in the order of the
caller's stream, so several threads may call at once. Weights are refreshed in place.

On a CPU the same code runs without graphs, for tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import nn

from sylvan.errors import ConfigError
from sylvan.evaluators.lanes import padded_size
from sylvan.muzero.onnx_model import check_hidden, check_observations
from sylvan.networks.export import folded
from sylvan.networks.muzero import Inference, MuZeroNetwork, learned
from sylvan.networks.planes import PackedPlanes
from sylvan.planning.latent import ModelOutput
from sylvan.planning.model_arrays import Array

__all__ = ["DeviceModel"]

WARM_UP = 3
"""Runs before a graph is recorded: they compile and select kernels and allocate memory."""

LARGEST = 2**20
"""Maximum batch size."""

Answer = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Values and rewards `[B, 2 * outputs]` and policies `[B, A]` in float32, and hidden states."""


@dataclass(frozen=True)
class _Recorded:
    """The graph of a call for one batch size, and the memory that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    inputs: list[torch.Tensor]
    answer: Answer


class DeviceModel:
    """A network on a device."""

    def __init__(self, network: MuZeroNetwork, device: torch.device, dtype: str = "auto") -> None:
        self.header, self.device = network.header, device
        self.on_gpu = device.type == "cuda"
        self.dtype = _dtype(dtype, on_gpu=self.on_gpu)
        self.network = self._converted(network).requires_grad_(False)
        encoding = self.header.encoding
        self._planes = PackedPlanes(encoding).to(device) if encoding else None
        self._lock = Lock()
        # Graphs never run at the same time, so they share memory for activations.
        self._pool = torch.cuda.graph_pool_handle() if self.on_gpu else None
        self._recorded: dict[tuple[Any, ...], _Recorded] = {}

    def _converted(self, network: nn.Module) -> MuZeroNetwork:
        copied = folded(learned(network)).to(self.device, self.dtype)
        return copied.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]

    def refresh(self, network: nn.Module) -> None:
        """Copy a network's weights in place, at the addresses that the graphs use."""
        self.network.load_state_dict(self._converted(network).state_dict())

    def initial_inference(self, observations: Array) -> ModelOutput:
        """Evaluate observations `[B, ...]` as the game gives them."""
        array = np.ascontiguousarray(observations)
        packed = self._planes is not None and array.dtype == np.uint64
        check_observations(self.header, (*array.shape, 8, 8) if packed else array.shape)
        if packed:
            array = array.view(np.int64)
        elif array.dtype != np.uint8:
            array = array.astype(np.float32, copy=False)
        return self._run(self._initial, torch.from_numpy(array))

    def recurrent_inference(self, hidden: Array, actions: Array) -> ModelOutput:
        """Evaluate the steps `actions` `[B]` from hidden states `[B, ...]`."""
        states = torch.as_tensor(hidden)
        steps = torch.as_tensor(actions)
        check_hidden(tuple(states.shape), tuple(steps.shape), self.network.hidden_shape)
        return self._run(self._recurrent, states, steps)

    def _initial(self, seen: torch.Tensor) -> Answer:
        if self._planes is not None and seen.dtype == torch.int64:
            planes = self._planes(seen, self.dtype)
        else:
            planes = seen.to(self.dtype)
        return _packed(self.network.initial_inference(_fast(planes)))

    def _recurrent(self, hidden: torch.Tensor, actions: torch.Tensor) -> Answer:
        return _packed(self.network.recurrent_inference(_fast(hidden), actions))

    def _run(self, call: Callable[..., Answer], *inputs: torch.Tensor) -> ModelOutput:
        count = len(inputs[0])
        with torch.inference_mode():
            if not self.on_gpu:
                return self._output(*call(*(each.to(self.device) for each in inputs)))
            with self._lock:
                recorded = self._recording(call, inputs)
                for own, given in zip(recorded.inputs, inputs, strict=True):
                    pinned = given if given.is_cuda else given.pin_memory()
                    own[:count].copy_(pinned, non_blocking=True)
                recorded.graph.replay()
                numbers, policy, hidden = (each[:count] for each in recorded.answer)
                fetched = _fetched(numbers), _fetched(policy)
                hidden = hidden.clone()
                done = torch.cuda.Event()  # type: ignore[no-untyped-call]
                done.record()
            done.synchronize()
            return self._output(*fetched, hidden)

    def _output(
        self, numbers: torch.Tensor, policy: torch.Tensor, hidden: torch.Tensor
    ) -> ModelOutput:
        """The outputs as NumPy arrays, in the form that a search takes."""
        value, reward = np.split(numbers.numpy(), 2, axis=1)
        if self.network.outputs == 1:
            value, reward = value[:, 0], reward[:, 0]
        return ModelOutput(value, reward, policy.numpy(), hidden)

    def _recording(
        self, call: Callable[..., Answer], inputs: tuple[torch.Tensor, ...]
    ) -> _Recorded:
        """The graph of a call, for the smallest batch size that fits these inputs."""
        size = padded_size(len(inputs[0]), LARGEST, compiled=False)
        key = (call.__name__, size, *(each.dtype for each in inputs))
        if key in self._recorded:
            return self._recorded[key]
        own = [
            torch.zeros((size, *each.shape[1:]), dtype=each.dtype, device=self.device)
            for each in inputs
        ]
        graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=True):
            with torch.cuda.stream(side):
                for _ in range(WARM_UP):
                    call(*own)
            side.synchronize()
            with torch.cuda.graph(
                graph, pool=self._pool, stream=side, capture_error_mode="thread_local"
            ):
                answer = call(*own)
        self._recorded[key] = _Recorded(graph, own, answer)
        return self._recorded[key]


def _packed(answer: Inference) -> Answer:
    """Concatenate values and rewards."""
    value, reward, policy, hidden = answer
    count = len(policy)
    numbers = torch.cat([value.view(count, -1), reward.view(count, -1)], dim=1)
    return numbers.float(), policy.float(), hidden


def _fetched(numbers: torch.Tensor) -> torch.Tensor:
    """Start a copy to pinned memory; it is complete once the device is synchronised."""
    buffer = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
    return buffer.copy_(numbers, non_blocking=True)


def _fast(planes: torch.Tensor) -> torch.Tensor:
    """Planes in the memory format that is fastest for convolutions."""
    if planes.dim() == 4:
        return planes.contiguous(memory_format=torch.channels_last)
    return planes


def _dtype(name: str, *, on_gpu: bool) -> torch.dtype:
    if name == "auto":
        name = "float16" if on_gpu else "float32"
    if name not in ("float32", "float16", "bfloat16"):
        raise ConfigError(f"dtype is {name!r}: use 'auto', 'float32', 'float16' or 'bfloat16'.")
    kind: torch.dtype = getattr(torch, name)
    return kind
