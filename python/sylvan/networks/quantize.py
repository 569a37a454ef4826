"""Eight-bit models: convolutions in integers, twice as fast on processors with VNNI or the like.

1. *Calibration*: the model runs on real positions, and the range of every plane that a 3 × 3
   convolution reads or writes is noted.
2. *Scales*: every plane gets steps of its own, as wide as it needs. `QLinearConv` knows only one
   step for all planes, so the others are multiplied into its weights; where fp32 becomes integer or
   the reverse, steps per plane cost nothing.
3. *Rounding* (`rounding`): weights become integers, with one scale per output plane, so that the
   layer's outputs on those positions change least.

Everything else stays in fp32: sums of the residual stream, squeeze-excitation, dense layers, 1 × 1
convolutions, and the last two convolutions before an output of the model (a policy's best moves are
often less than a step of eight bits apart). That costs little time and saves most of the accuracy.

`measure_loss` says what was lost. On a processor without VNNI sums of eight-bit products may
saturate in some kernels; measure there before use.

Paper: Nagel 2021 (a white paper on quantising networks; scales per plane are its "equalisation").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import NetworkError
from sylvan.files import write_bytes
from sylvan.networks.calibration import Floats, OpenModel, Steps
from sylvan.networks.rounding import round_weights

if TYPE_CHECKING:
    from sylvan.networks.positions import Positions

__all__ = ["quantize_onnx", "quantized_model"]

SAMPLES = 64
"""Squares to look at per weight of an output plane: enough to know how inputs go together."""

LAYERS_AT_ONCE = 8
"""Whose inputs are kept in memory together."""

Progress = Callable[[int, int], None]


def quantize_onnx(
    source: str | PathLike[str],
    target: str | PathLike[str],
    positions: Positions,
    *,
    progress: Progress | None = None,
) -> None:
    """Write an eight-bit version of an `.onnx` file.

    Args:
        source: an fp32 model.
        target: the new file.
        positions: to calibrate on, from `sample_positions`; five hundred or more.
        progress: called with the layers done and all layers.

    :raises NetworkError: there is no convolution to gain by, or the file is no model of Sylvan's.
    """
    try:
        data = Path(source).read_bytes()
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise NetworkError(f"{source} cannot be opened: {reason}.") from None
    write_bytes(target, quantized_model(data, positions, progress=progress, name=str(source)))


def quantized_model(
    data: bytes,
    positions: Positions,
    *,
    progress: Progress | None = None,
    name: str = "the model",
    nearest: bool = False,
) -> bytes:
    """The bytes of an eight-bit version of an fp32 model: see `quantize_onnx`.

    :param nearest: round every weight to the nearest step, which takes a fraction of the time and
        is less exact.
    """
    model = OpenModel(data, name)
    layers = _layers(model)
    if not layers:
        raise NetworkError(
            f"{name} has no 3 × 3 convolution inside, so eight bits gain nothing: keep it as it is."
        )
    observations = _expanded(model, positions.observations)
    steps = _steps(model, layers, observations)
    if nearest:
        _round_to_nearest(model, layers, steps)
    else:
        _round(model, layers, steps, observations, progress)
    _Writer(model, steps, model.shapes(observations[:2])).write(layers)
    architecture = model.header.architecture | {"weights": "int8"}
    model.header = model.header.replace(architecture=architecture)
    return model.to_bytes()


@dataclass
class _Layer:
    """A convolution that becomes one in integers."""

    node: Any
    reads: str
    writes: str
    """Its own output, or that of the ReLU after it, which integers without sign do for free."""
    relu: str | None
    """The name of that node."""
    weights: NDArray[np.int8] | None = None
    scales: NDArray[np.float32] | None = None


def _layers(model: OpenModel) -> list[_Layer]:
    """The 3 × 3 (or larger) convolutions that are not among the last two before an output."""
    users = model.users()
    outputs = {value.name for value in model.model.graph.output}
    layers = []
    for node in model.nodes:
        weights = model.arrays.get(node.input[1]) if node.op_type == "Conv" else None
        if weights is None or weights.ndim != 4 or min(weights.shape[2:]) < 3:
            continue
        options = {attribute.name: attribute for attribute in node.attribute}
        if "group" in options and options["group"].i != 1:
            continue
        after = users.get(node.output[0], [])
        relu = after[0] if len(after) == 1 and after[0].op_type == "Relu" else None
        writes = node.output[0] if relu is None else relu.output[0]
        if not _near_the_end(writes, users, outputs, convolutions=1):
            layers.append(_Layer(node, node.input[0], writes, relu.name if relu else None))
    return layers


def _near_the_end(
    tensor: str, users: dict[str, list[Any]], outputs: set[str], convolutions: int
) -> bool:
    """Whether all that follows a tensor is at most so many convolutions and an order of numbers."""
    order = {"Flatten", "Reshape", "Gather", "Transpose", "Identity"}
    if tensor in outputs:
        return True
    after = users.get(tensor, [])
    if len(after) != 1 or after[0].op_type not in order | {"Conv"}:
        return False
    left = convolutions - (after[0].op_type == "Conv")
    return left >= 0 and _near_the_end(after[0].output[0], users, outputs, left)


def _expanded(model: OpenModel, observations: NDArray[Any]) -> Floats:
    """Observations as the model takes them."""
    if observations.dtype == np.uint64 and model.header.encoding is not None:
        from sylvan.games.chess import expand_planes

        observations = expand_planes(observations, model.header.encoding.encoder)
    return np.ascontiguousarray(observations, np.float32)


def _steps(model: OpenModel, layers: list[_Layer], observations: Floats) -> dict[str, Steps]:
    """Eight bits for every tensor that a layer reads or writes."""
    read = {layer.reads for layer in layers}
    ranges = model.ranges(observations, read | {layer.writes for layer in layers})
    steps = {
        tensor: ranges.steps(tensor, one_zero=tensor in read)
        for tensor in ranges.low
        if tensor != "observations"
    }
    if "observations" in read:
        steps["observations"] = ranges.input_steps("observations")
    return steps


def _round(
    model: OpenModel,
    layers: list[_Layer],
    steps: dict[str, Steps],
    observations: Floats,
    progress: Progress | None,
) -> None:
    """Choose the integers of all weights, by what each layer reads on the positions."""
    squares = int(np.prod(model.header.observation_shape[1:]))
    for start in range(0, len(layers), LAYERS_AT_ONCE):
        group = layers[start : start + LAYERS_AT_ONCE]
        sizes = [int(np.prod(model.arrays[layer.node.input[1]].shape[1:])) for layer in group]
        enough = observations[: max(1, -(-SAMPLES * max(sizes) // squares))]
        moments = [np.zeros((size, size)) for size in sizes]
        for values in model.run(sorted({layer.reads for layer in group}), enough):
            for layer, sums in zip(group, moments, strict=True):
                shape = model.arrays[layer.node.input[1]].shape
                planes = values[layer.reads] / _planes(steps[layer.reads].size)
                patches = _patches(planes, shape[2:])
                sums += patches.T @ patches
        for done, (layer, sums) in enumerate(zip(group, moments, strict=True)):
            if progress is not None:
                progress(start + done, len(layers))
            rows, layer.scales = _rows(model, layer, steps)
            shape = model.arrays[layer.node.input[1]].shape
            layer.weights = round_weights(rows, layer.scales, sums).reshape(shape)
    if progress is not None:
        progress(len(layers), len(layers))


def _round_to_nearest(model: OpenModel, layers: list[_Layer], steps: dict[str, Steps]) -> None:
    """Choose the integers of all weights one by one."""
    for layer in layers:
        rows, layer.scales = _rows(model, layer, steps)
        shape = model.arrays[layer.node.input[1]].shape
        layer.weights = np.rint(rows / layer.scales[:, None]).astype(np.int8).reshape(shape)


def _rows(
    model: OpenModel, layer: _Layer, steps: dict[str, Steps]
) -> tuple[Floats, NDArray[np.float32]]:
    """Weights `[outputs, inputs]` in units of the inputs' steps, and the step of each output."""
    weights = model.arrays[layer.node.input[1]] * _planes(steps[layer.reads].size)
    rows = weights.reshape(len(weights), -1)
    return rows, (np.maximum(np.abs(rows).max(1), 1e-12) / 127).astype(np.float32)


class _Writer:
    """The nodes of the new model, in order; a tensor x in integers is called `x/int8`."""

    def __init__(
        self, model: OpenModel, steps: dict[str, Steps], shapes: dict[str, tuple[int, ...]]
    ) -> None:
        self.model, self.steps, self.shapes = model, steps, shapes
        self.nodes: list[Any] = []
        self.narrow: set[str] = set()
        """Tensors that there are in integers."""
        self.wide: set[str] = {"observations"}
        """Tensors that there are in fp32."""
        self.pending: dict[str, str] = {}
        """Tensors that are not yet what they are called, and what is to be added to them."""
        self.one = self._constant("one", np.float32(1))
        self.zeros = [self._constant(f"zero/{zero}", np.uint8(zero)) for zero in (0, 128)]

    def write(self, layers: list[_Layer]) -> None:
        """Put integer convolutions in the place of layers."""
        replaced = {layer.node.name: layer for layer in layers}
        dropped = {layer.relu for layer in layers}
        for node in self.model.nodes:
            if node.name in replaced:
                self._convolve(replaced[node.name])
            elif node.name not in dropped:
                self._keep(node)
        self.model.replace_nodes(self.nodes)

    def _constant(self, name: str, value: Any) -> str:
        self.model.arrays[name] = np.asarray(value)
        return name

    def _node(self, kind: str, inputs: list[str], output: str, **options: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **options))

    def _keep(self, node: Any) -> None:
        """A node that stays in fp32."""
        for place, tensor in enumerate(node.input):
            if tensor in self.narrow and tensor not in self.wide:
                if node.op_type in ("GlobalAveragePool", "ReduceMean") and place == 0:
                    self._average(node, tensor)
                    return
                if node.op_type == "Mul" and self._is_small(node.input[1 - place]):
                    self._gate(node, tensor, node.input[1 - place])
                    return
                self._widen(tensor)
            if tensor in self.pending:
                self._add_pending(node, place)
        self.nodes.append(node)
        self.wide.update(node.output)

    def _is_small(self, tensor: str) -> bool:
        """Whether a tensor has one number per plane and position."""
        return len(self.shapes.get(tensor, ())) == 4 and self.shapes[tensor][2:] == (1, 1)

    def _counted(self, tensor: str) -> str:
        """The integers of a tensor as fp32."""
        name = f"{tensor}/counted"
        if name not in self.wide:
            self._node("Cast", [f"{tensor}/int8"], name, to=1)  # 1: float32
            self.wide.add(name)
        return name

    def _widen(self, tensor: str) -> None:
        """Make fp32 of integers: size · integer + offset, plane by plane."""
        size, offset = self._line(tensor, 4)
        whole = tensor if offset is None else f"{tensor}/sized"
        self._node("Mul", [self._counted(tensor), size], whole)
        if offset is not None:
            self._node("Add", [whole, offset], tensor)
        self.wide.add(tensor)

    def _line(self, tensor: str, dimensions: int) -> tuple[str, str | None]:
        """Size and offset of a tensor's planes as constants; no offset where zero is zero."""
        steps, name = self.steps[tensor], f"{tensor}/{dimensions}"
        shape = (1, -1, *[1] * (dimensions - 2))
        size = self._constant(f"{name}/size", steps.size.reshape(shape))
        offset = -steps.size * steps.zero
        if not offset.any():
            return size, None
        return size, self._constant(f"{name}/offset", offset.astype(np.float32).reshape(shape))

    def _average(self, node: Any, tensor: str) -> None:
        """Means over planes: of the integers, and only then in fp32's units."""
        from onnx import NodeProto

        (output,) = node.output
        mean = NodeProto()
        mean.CopyFrom(node)
        mean.input[0], mean.output[0] = self._counted(tensor), f"{output}/counted"
        self.nodes.append(mean)
        size, offset = self._line(tensor, len(self.shapes[output]))
        sized = output if offset is None else f"{output}/sized"
        self._node("Mul", [mean.output[0], size], sized)
        if offset is not None:
            self._node("Add", [sized, offset], output)
        self.wide.add(output)

    def _gate(self, node: Any, tensor: str, gate: str) -> None:
        """Planes times a gate: the gate takes in the planes' size, and what it makes of their
        offset waits for a sum to take it in: that is less work than changing all squares.
        """
        (output,) = node.output
        size, offset = self._line(tensor, 4)
        self._node("Mul", [gate, size], f"{output}/gate")
        self._node("Mul", [self._counted(tensor), f"{output}/gate"], output)
        self.wide.add(output)
        if offset is not None:
            self._node("Mul", [gate, offset], f"{output}/offset")
            self.pending[output] = f"{output}/offset"

    def _add_pending(self, node: Any, place: int) -> None:
        """Add what a tensor lacks before a node reads it: to another small summand, or to all."""
        tensor = node.input[place]
        other = node.input[1 - place] if node.op_type == "Add" else ""
        if other and self._is_small(other):
            whole = f"{other}/{tensor}"
            self._node("Add", [other, self.pending[tensor]], whole)
            node.input[1 - place] = whole
        else:
            whole = f"{tensor}/whole"
            if whole not in self.wide:
                self._node("Add", [tensor, self.pending[tensor]], whole)
                self.wide.add(whole)
            node.input[place] = whole

    def _narrow(self, tensor: str) -> None:
        """Make integers of fp32."""
        steps = self.steps[tensor]
        inverse = self._constant(f"{tensor}/inverse", _planes((1 / steps.size).astype(np.float32)))
        self._node("Mul", [tensor, inverse], f"{tensor}/in_steps")
        zero = self.zeros[int(steps.zero[0] > 0)]
        self._node("QuantizeLinear", [f"{tensor}/in_steps", self.one, zero], f"{tensor}/int8")
        self.narrow.add(tensor)

    def _convolve(self, layer: _Layer) -> None:
        """A convolution in integers, whose inputs and outputs are counted in steps.

        outputs = scales / size · (weights · (inputs - zero) + bias), and then the zero of each
        output plane, which is part of the bias.
        """
        from onnx import helper

        assert layer.weights is not None and layer.scales is not None
        if layer.reads not in self.narrow:
            self._narrow(layer.reads)
        name, written = layer.node.name, self.steps[layer.writes]
        scales = layer.scales.astype(np.float64)
        bias = self.model.arrays[layer.node.input[2]] + written.size * written.zero
        bias = np.clip(np.rint(bias / scales), -(2**31), 2**31 - 1).astype(np.int32)
        inputs = [
            f"{layer.reads}/int8",
            self.one,
            self.zeros[int(self.steps[layer.reads].zero[0] > 0)],
            self._constant(f"{name}/weights", layer.weights),
            self._constant(f"{name}/scales", (scales / written.size).astype(np.float32)),
            self._constant(f"{name}/zeros", np.zeros(len(scales), np.int8)),
            self.one,
            self.zeros[0],
            self._constant(f"{name}/bias", bias),
        ]
        options = {a.name: helper.get_attribute_value(a) for a in layer.node.attribute}
        self._node("QLinearConv", inputs, f"{layer.writes}/int8", **options)
        self.narrow.add(layer.writes)


def _planes(numbers: Floats) -> Floats:
    """One number per plane, to multiply `[B, C, H, W]` or weights `[O, C, k, k]` by."""
    return numbers.reshape(1, -1, 1, 1)


def _patches(planes: Floats, size: tuple[int, ...]) -> Floats:
    """What the weights of each square see, `[B * H * W, C * size]`; zeros beyond the edge."""
    edges = [(length // 2, length // 2) for length in size]
    padded = np.pad(planes, [(0, 0), (0, 0), *edges])
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(size), axis=(2, 3))
    count = planes.shape[1] * int(np.prod(size))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, count)
