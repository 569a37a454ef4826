"""Ways for batches to an NVIDIA GPU: each a CUDA stream, and a CUDA graph per batch size.

*Streams.* What one lane is given happens in order; two lanes go side by side, so that one's numbers
cross the bus while the other's network runs. The processor waits for nothing until somebody asks
for the answer.

*Graphs.* A network of 10 blocks starts about 150 kernels, at 5 µs each on the processor's side. A
graph is all of them, recorded once for one batch size and started by one call. It reads and writes
the same memory every time: observations are copied into its input, and its outputs are read, in the
order of its stream, before the next batch changes them. New weights are written to where the old
ones were (`DeviceModule.refresh`), so graphs stay.

*Memory.* What goes over the bus lies in pinned memory, which PyTorch hands out again once nobody
holds it and the device is through with it. The graphs of a lane never run at the same time, so they
share their memory for what lies between layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import torch

from sylvan.evaluators.device_module import Outputs
from sylvan.evaluators.lanes import Lane, first_rows

__all__ = ["CudaLane"]

WARM_UP = 3
"""Runs before a graph is recorded, in which kernels are compiled, chosen and given memory."""


@dataclass(frozen=True)
class Recorded:
    """A network's run for one batch size, and the memory that it reads and writes."""

    graph: torch.cuda.CUDAGraph
    observations: torch.Tensor
    outputs: Outputs


class CudaLane(Lane):
    """One CUDA stream, and what was recorded for it."""

    def __init__(
        self,
        module: Callable[[torch.Tensor], Outputs],
        size: Callable[[int], int],
        device: torch.device,
        *,
        deterministic: bool = False,
    ) -> None:
        super().__init__(module, size, device)
        self.deterministic = deterministic
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._lock = Lock()
        self._pool = torch.cuda.graph_pool_handle()
        self._recorded: dict[tuple[int, torch.dtype], Recorded] = {}

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make this stream PyTorch's for a while; another thread waits, as the memory is one."""
        with self._lock, torch.inference_mode(), torch.cuda.stream(self.stream):
            yield

    def room(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Pinned memory."""
        return torch.empty(shape, dtype=dtype, pin_memory=True)

    def sent(self, numbers: torch.Tensor) -> torch.Tensor:
        """Numbers on their way to the device."""
        return numbers.to(self.device, non_blocking=True)

    def answer(self, observations: torch.Tensor) -> Outputs:
        """What the network will say of observations in pinned memory."""
        count = len(observations)
        key = (self.size(count), observations.dtype)
        if key not in self._recorded:
            self._recorded[key] = self._record(key[0], observations)
        recorded = self._recorded[key]
        recorded.observations[:count].copy_(observations, non_blocking=True)
        recorded.graph.replay()
        return first_rows(recorded.outputs, count)

    def _record(self, size: int, like: torch.Tensor) -> Recorded:
        """The network's run for a batch size, after which nothing of it is chosen any more."""
        shape = (size, *like.shape[1:])
        observations = torch.zeros(shape, dtype=like.dtype, device=self.device)
        graph = torch.cuda.CUDAGraph()
        with torch.backends.cudnn.flags(
            enabled=True,
            benchmark=not self.deterministic,
            deterministic=self.deterministic,
            allow_tf32=not self.deterministic,
        ):
            for _ in range(WARM_UP):
                self.module(observations)
            with torch.cuda.graph(
                graph, pool=self._pool, stream=self.stream, capture_error_mode="thread_local"
            ):
                outputs = self.module(observations)
        return Recorded(graph, observations, outputs)

    def bring(self, numbers: torch.Tensor, room: torch.Tensor) -> None:
        """Have numbers written into pinned memory; they are there after `mark()()`."""
        # Pinned memory takes the same kind of numbers without waiting, another kind not.
        room.copy_(numbers.to(room.dtype), non_blocking=True)

    def mark(self) -> Callable[[], None]:
        """A function that waits, without the interpreter's lock, for what was given until now."""
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record(self.stream)
        wait: Callable[[], None] = event.synchronize
        return wait

    def idle(self) -> None:
        """Wait until nothing is under way on the device."""
        torch.cuda.synchronize(self.device)
