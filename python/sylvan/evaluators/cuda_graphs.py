"""Lanes to an NVIDIA GPU: a CUDA stream each, with a CUDA graph per batch size.

*Streams.* A lane's work is done in order, and two lanes work side by side: one transfers data while
the other runs its network. The CPU waits only when somebody asks for an evaluation.

*Graphs.* A network of 10 blocks launches about 150 kernels, each of which costs the CPU 5 µs. A
graph is recorded once per batch size and launches all kernels with one call. It always uses the
same memory: observations are copied to its input, and its outputs are read, in stream order, before
the next batch overwrites them. New weights are written in place (`DeviceModule.refresh`), so graphs
stay valid.

*Kernels.* cuDNN and cuBLAS choose kernels by flags of the whole process, which are set while a
graph is recorded. Sums are never accumulated in half precision. Split K stays allowed: PyTorch can
only forbid it with the cuBLASLt backend. Whether the answers of the chosen kernels depend on the
rest of a batch is tested (`batch_independence`), and other kernels are tried if they do.

*New weights.* They are converted and copied in a third stream, which waits for no other: two
evaluators of one GPU, for two leases, do not disturb each other.

*Memory.* Transfers use pinned memory: that of the batches of self-play (`pinned`), or buffers,
which PyTorch reuses once they are freed and the device has finished with them. The graphs of a lane
never run at the same time, so they share memory for activations.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sylvan.evaluators.device_module import Outputs
from sylvan.evaluators.lanes import Fence, Kernels, Lane, fill_rows, first_rows

__all__ = ["BusyMeter", "CudaLane", "pinned", "rounding_flags"]

WARM_UP = 3
"""Runs before a graph is recorded: they compile and select kernels and allocate memory."""


def pinned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of pinned memory, which a GPU reads and writes without the CPU; its contents are
    undefined.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    return memory.numpy().view(dtype).reshape(shape)


@contextmanager
def rounding_flags(kernels: Kernels) -> Iterator[None]:
    """Set the flags of the process that decide how a network is rounded; at the end they are as
    before.
    """
    matmul = torch.backends.cuda.matmul
    names = "allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction"
    before = [(name, (getattr(matmul, name), getattr(matmul, f"{name}_split_k"))) for name in names]
    tf32 = matmul.allow_tf32
    with torch.backends.cudnn.flags(
        enabled=True,
        benchmark=kernels == "benchmark",
        deterministic=kernels == "deterministic",
        allow_tf32=kernels != "deterministic",
    ):
        try:
            for name in names:
                setattr(matmul, name, False)
            matmul.allow_tf32 = False
            yield
        finally:
            matmul.allow_tf32 = tf32
            for name, value in before:
                setattr(matmul, name, value)


@dataclass(frozen=True)
class Recorded:
    """The graph for one batch size, and the memory that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    observations: torch.Tensor
    outputs: Outputs


class CudaLane(Lane):
    """A CUDA stream and its graphs."""

    def __init__(
        self,
        module: Callable[[torch.Tensor], Outputs],
        size: Callable[[int], int],
        device: torch.device,
        *,
        kernels: Kernels = "benchmark",
    ) -> None:
        super().__init__(module, size, device)
        self.kernels = kernels
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._lock = Lock()
        self._pool = torch.cuda.graph_pool_handle()
        self._recorded: dict[tuple[int, torch.dtype], Recorded] = {}

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make this stream PyTorch's current one. Other threads wait: the graphs share memory."""
        with self._lock, torch.inference_mode(), torch.cuda.stream(self.stream):
            self._began = self._event()
            yield

    def _event(self) -> torch.cuda.Event:
        """Mark this moment in the stream's work."""
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(self.stream)
        return event

    @property
    def busy_seconds(self) -> float:
        """Seconds in which the device had work of any lane."""
        return _METERS[str(self.device)].seconds

    def buffer(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Allocate pinned memory; its contents are undefined."""
        return torch.empty(shape, dtype=dtype, pin_memory=True)

    def to_device(self, numbers: torch.Tensor) -> torch.Tensor:
        """Start a copy of pinned memory to the device."""
        return numbers.to(self.device, non_blocking=True)

    def run(self, observations: torch.Tensor) -> Outputs:
        """Start a run of the network on observations in pinned memory."""
        count = len(observations)
        key = (self.size(count), observations.dtype)
        if key not in self._recorded:
            self._recorded[key] = self._record(key[0], observations)
        recorded = self._recorded[key]
        fill_rows(recorded.observations, observations)
        recorded.graph.replay()
        return first_rows(recorded.outputs, count)

    def _record(self, size: int, like: torch.Tensor) -> Recorded:
        """Record the graph for a batch size."""
        shape = (size, *like.shape[1:])
        observations = torch.zeros(shape, dtype=like.dtype, device=self.device)
        graph = torch.cuda.CUDAGraph()
        with rounding_flags(self.kernels):
            for _ in range(WARM_UP):
                self.module(observations)
            with torch.cuda.graph(
                graph, pool=self._pool, stream=self.stream, capture_error_mode="thread_local"
            ):
                outputs = self.module(observations)
        return Recorded(graph, observations, outputs)

    def to_host(self, numbers: torch.Tensor, buffer: torch.Tensor) -> None:
        """Start a copy of outputs to pinned memory; it is valid behind the `fence()`."""
        # Convert on the device: copies between different dtypes block.
        buffer.copy_(numbers.to(buffer.dtype), non_blocking=True)

    def fence(self) -> Fence:
        """The end of all work given to this lane since it was opened."""
        return EventFence(self._began, self._event(), _METERS[str(self.device)])

    def synchronize(self) -> None:
        """Wait until this lane has finished all work; other streams go on."""
        self.stream.synchronize()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Do the work inside in a stream of its own, after that of the current stream and beside
        all batches; at the end it is done.
        """
        self._aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._aside):
            yield
        self._aside.synchronize()


class BusyMeter:
    """Counts the seconds in which a device works; work of two lanes at once counts once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last: torch.cuda.Event | None = None
        self._lock = Lock()

    def add(self, began: torch.cuda.Event, ended: torch.cuda.Event) -> None:
        """Count work that is done; in the order in which it ended, or it counts too little."""
        with self._lock:
            start, end = 0.0, began.elapsed_time(ended)
            if self._last is not None:
                start, end = (
                    max(0.0, self._last.elapsed_time(began)),
                    self._last.elapsed_time(ended),
                )
            if end > start:
                self.seconds += (end - start) / 1000
                self._last = ended


_METERS: defaultdict[str, BusyMeter] = defaultdict(BusyMeter)
"""By device, because all lanes of a device share its time."""


@dataclass(frozen=True)
class EventFence:
    """The fence of work on a GPU."""

    began: torch.cuda.Event
    ended: torch.cuda.Event
    meter: BusyMeter

    def ready(self) -> bool:
        """Whether the work is done."""
        return bool(self.ended.query())  # type: ignore[no-untyped-call]

    def wait(self) -> None:
        """Wait, without the GIL, until it is done."""
        self.ended.synchronize()
        self.meter.add(self.began, self.ended)
