"""Inspect an ONNX model: its constants, and the values of its tensors on positions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import NetworkError
from sylvan.networks.header import HEADER_KEY, NetworkHeader

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["OpenModel", "Ranges", "Steps"]

CHUNK = 64
"""Positions per run."""

MARGIN = 1.1
"""Factor by which ranges are wider than in the calibration."""

FLOOR = 0.3
"""Minimum range of a plane, as a fraction of its tensor's widest: it may be wider on positions
outside the calibration."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Steps:
    """Quantization of a tensor: a plane's value is `size * (integer - zero)`."""

    size: Floats
    """Step size per plane."""
    zero: NDArray[np.uint8]
    """Zero point per plane."""


@dataclass
class Ranges:
    """Ranges of tensors on some positions."""

    low: dict[str, Floats] = field(default_factory=dict)
    """Minimum per tensor and plane, at most 0."""
    high: dict[str, Floats] = field(default_factory=dict)
    """Maximum per tensor and plane, at least 0."""

    def note(self, tensor: str, values: Floats) -> None:
        """Extend a tensor's range by its values on more positions."""
        axes = (0, *range(2, values.ndim))
        low, high = np.minimum(values.min(axes), 0), np.maximum(values.max(axes), 0)
        self.low[tensor] = np.minimum(self.low.get(tensor, low), low)
        self.high[tensor] = np.maximum(self.high.get(tensor, high), high)

    def steps(self, tensor: str, *, one_zero: bool) -> Steps:
        """The quantization of a tensor.

        With `one_zero` all planes share a zero point: 0 if no value is negative, else 128.
        Otherwise each plane has its own, so that the integers cover exactly its range.
        """
        low, high = self.low[tensor] * MARGIN, self.high[tensor] * MARGIN
        if not low.any():
            high = np.maximum(high, max(FLOOR * float(high.max()), 1e-6))
            return Steps(high / 255, np.zeros(len(high), np.uint8))
        if one_zero:
            most = np.maximum(high, -low)
            most = np.maximum(most, FLOOR * float(most.max()))
            return Steps(most / 127, np.full(len(most), 128, np.uint8))
        least = FLOOR * float((high - low).max()) / 2
        low, high = np.minimum(low, -least), np.maximum(high, least)
        size = (high - low) / np.float32(255)
        return Steps(size, np.clip(np.rint(-low / size), 0, 255).astype(np.uint8))

    def input_steps(self, tensor: str) -> Steps:
        """The quantization of a model's input: most planes are 0 or 1, some count to a hundred.

        Planes up to the median width get its step without a margin, so that 0 and 1 stay exact;
        a wider one gets 1.5 times its width.
        """
        width = np.maximum(self.high[tensor], -self.low[tensor])
        seen = width[width > 0]
        common = float(np.median(seen)) if len(seen) else 1.0
        signed = bool(self.low[tensor].any())
        most = np.where(width > common, 1.5 * width, common) / (127 if signed else 255)
        zero = np.full(len(width), 128 if signed else 0, np.uint8)
        return Steps(most.astype(np.float32), zero)


class OpenModel:
    """An ONNX model with a Sylvan header and editable constants.

    `arrays` holds the constants; each is used by one node only, so that it can be changed.
    """

    def __init__(self, data: bytes, name: str) -> None:
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
        from onnx import numpy_helper

        try:
            self.model = onnx.load_from_string(data)
        except (DecodeError, ValueError):
            raise NetworkError(
                f"{name} is not an ONNX model: give a complete .onnx file."
            ) from None
        text = {entry.key: entry.value for entry in self.model.metadata_props}.get(HEADER_KEY)
        if text is None:
            raise NetworkError(f"{name} has no header with its game: export it with Sylvan.")
        self.header = NetworkHeader.from_json(text, name)
        stored = {each.name: numpy_helper.to_array(each) for each in self.model.graph.initializer}
        self.arrays: dict[str, NDArray[Any]] = {}
        for number, node in enumerate(self.model.graph.node):
            node.name = f"{node.op_type}_{number}"
            for index, constant in enumerate(node.input):
                if constant in stored:
                    node.input[index] = f"{node.name}/{index}"
                    self.arrays[node.input[index]] = stored[constant]
            if node.op_type == "Conv" and len(node.input) == 2 and node.input[1] in self.arrays:
                # Exporters omit a bias of zeros.
                node.input.append(f"{node.name}/2")
                self.arrays[f"{node.name}/2"] = np.zeros(
                    len(self.arrays[node.input[1]]), np.float32
                )

    @property
    def nodes(self) -> list[NodeProto]:
        """The nodes, in topological order."""
        return list(self.model.graph.node)

    def replace_nodes(self, nodes: Iterable[NodeProto]) -> None:
        """Replace all nodes."""
        new = list(nodes)
        del self.model.graph.node[:]
        self.model.graph.node.extend(new)

    def users(self) -> dict[str, list[NodeProto]]:
        """The nodes that read each tensor."""
        users: dict[str, list[NodeProto]] = {}
        for node in self.model.graph.node:
            for tensor in node.input:
                users.setdefault(tensor, []).append(node)
        return users

    def run(self, tensors: list[str], observations: Floats) -> Iterator[dict[str, Floats]]:
        """Iterate over the values of some tensors, in chunks of positions."""
        import onnx
        import onnxruntime

        model = onnx.load_from_string(self.to_bytes())
        inner = [tensor for tensor in tensors if tensor != "observations"]
        if inner:
            del model.graph.output[:]
            model.graph.output.extend(onnx.ValueInfoProto(name=tensor) for tensor in inner)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        affinity = getattr(os, "sched_getaffinity", None)
        options.intra_op_num_threads = len(affinity(0)) if affinity else os.cpu_count() or 1
        data, providers = model.SerializeToString(), ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(data, options, providers=providers)
        for start in range(0, len(observations), CHUNK):
            part = observations[start : start + CHUNK]
            values = session.run(inner or None, {"observations": part})
            yield {"observations": part} | dict(zip(inner, values, strict=bool(inner)))

    def ranges(self, observations: Floats, tensors: set[str]) -> Ranges:
        """The ranges of some tensors on these positions."""
        ranges = Ranges()
        for values in self.run(sorted(tensors), observations):
            for tensor in tensors:
                ranges.note(tensor, values[tensor])
        return ranges

    def shapes(self, observations: Floats) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor on these positions."""
        made = [output for node in self.model.graph.node for output in node.output]
        values = next(self.run(made, observations))
        return {tensor: tuple(value.shape) for tensor, value in values.items()}

    def to_bytes(self) -> bytes:
        """The bytes of the model, with the current constants."""
        from onnx import numpy_helper

        graph = self.model.graph
        used = {tensor for node in graph.node for tensor in node.input}
        del graph.initializer[:]
        graph.initializer.extend(
            numpy_helper.from_array(array, name)
            for name, array in self.arrays.items()
            if name in used
        )
        del graph.value_info[:]
        for entry in self.model.metadata_props:
            if entry.key == HEADER_KEY:
                entry.value = self.header.to_json()
        data: bytes = self.model.SerializeToString()
        return data
