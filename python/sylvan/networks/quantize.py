"""Quantize models: int8 convolutions, twice as fast on CPUs with VNNI or similar instructions.

1. *Calibration*: run the model on real positions, and measure the range of every plane that a 3 × 3
   convolution reads or writes.
2. *Scales*: every plane gets its own step size. `QLinearConv` has only one step for all planes, so
   the ratios are multiplied into its weights; conversions between fp32 and int8 have a step per
   plane at no cost.
3. *Rounding* (`rounding`): round weights to int8 with one scale per output plane, so that the
   layer's outputs on those positions change least.

Everything else stays in fp32: residual sums, squeeze-excitation, dense layers, 1 × 1 convolutions,
and the last two convolutions before an output (the logits of the best moves often differ by less
than an int8 step). This costs little time and keeps most of the accuracy.

`measure_loss` measures the difference. On a CPU without VNNI, sums of int8 products may saturate in
some kernels; measure there before use.

Paper: Nagel 2021 (a white paper on quantization; scales per plane are its "equalization").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import NetworkError
from sylvan.networks.calibration import Floats, OpenModel, Steps
from sylvan.networks.onnx_file import read_model, write_model
from sylvan.networks.rounding import round_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from onnx import NodeProto

    from sylvan.networks.positions import Positions

__all__ = ["quantize_onnx", "quantized_model"]

SAMPLES = 64
"""Sampled squares per weight of an output plane: enough for the inputs' correlations."""

LAYERS_AT_ONCE = 8
"""Layers whose inputs are in memory at once."""

Progress = Callable[[int, int], None]


def quantize_onnx(
    source: str | PathLike[str],
    target: str | PathLike[str],
    positions: Positions,
    *,
    progress: Progress | None = None,
) -> None:
    """Write an int8 version of an `.onnx` file.

    Args:
        source: an fp32 model.
        target: the new file.
        positions: positions for calibration, from `sample_positions`; five hundred or more.
        progress: called with the number of layers done and of all layers.

    :raises NetworkError: the model has no convolution to quantize, or no Sylvan header.
    """
    data = read_model(source)
    write_model(target, quantized_model(data, positions, progress=progress, name=str(source)))


def quantized_model(
    data: bytes,
    positions: Positions,
    *,
    progress: Progress | None = None,
    name: str = "the model",
    nearest: bool = False,
) -> bytes:
    """The bytes of an int8 version of an fp32 model: see `quantize_onnx`.

    :param nearest: round every weight to the nearest step: much faster and less exact.
    """
    model = OpenModel(data, name)
    layers = _layers(model)
    if not layers:
        raise NetworkError(
            f"{name} has no 3 × 3 convolution inside, so int8 gains nothing: use it as it is."
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
    """A convolution to quantize."""

    node: NodeProto
    reads: str
    writes: str
    """Its output, or the output of the ReLU after it, which unsigned integers include."""
    relu: str | None
    """The name of the ReLU node."""
    weights: NDArray[np.int8] | None = None
    scales: NDArray[np.float32] | None = None


def _layers(model: OpenModel) -> list[_Layer]:
    """The 3 × 3 (or larger) convolutions, except the last two before an output."""
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
    tensor: str, users: dict[str, list[NodeProto]], outputs: set[str], convolutions: int
) -> bool:
    """Whether only reordering and at most `convolutions` convolutions follow a tensor."""
    reordering = {"Flatten", "Reshape", "Gather", "Transpose", "Identity"}
    if tensor in outputs:
        return True
    after = users.get(tensor, [])
    if len(after) != 1 or after[0].op_type not in reordering | {"Conv"}:
        return False
    left = convolutions - (after[0].op_type == "Conv")
    return left >= 0 and _near_the_end(after[0].output[0], users, outputs, left)


def _expanded(model: OpenModel, observations: NDArray[Any]) -> Floats:
    """Observations in the model's input format."""
    if observations.dtype == np.uint64 and model.header.encoding is not None:
        from sylvan.games.chess import expand_planes

        observations = expand_planes(observations, model.header.encoding.encoder)
    return np.ascontiguousarray(observations, np.float32)


def _steps(model: OpenModel, layers: list[_Layer], observations: Floats) -> dict[str, Steps]:
    """The quantization of every tensor that a layer reads or writes."""
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
    """Round all weights, using each layer's inputs on the positions."""
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
    """Round each weight to the nearest step."""
    for layer in layers:
        rows, layer.scales = _rows(model, layer, steps)
        shape = model.arrays[layer.node.input[1]].shape
        layer.weights = np.rint(rows / layer.scales[:, None]).astype(np.int8).reshape(shape)


def _rows(
    model: OpenModel, layer: _Layer, steps: dict[str, Steps]
) -> tuple[Floats, NDArray[np.float32]]:
    """Weights `[outputs, inputs]` in units of the inputs' steps, and the scale of each output."""
    weights = model.arrays[layer.node.input[1]] * _planes(steps[layer.reads].size)
    rows = weights.reshape(len(weights), -1)
    return rows, (np.maximum(np.abs(rows).max(1), 1e-12) / 127).astype(np.float32)


class _Writer:
    """Writes the nodes of the new model in order; the int8 version of tensor x is `x/int8`."""

    def __init__(
        self, model: OpenModel, steps: dict[str, Steps], shapes: dict[str, tuple[int, ...]]
    ) -> None:
        self.model, self.steps, self.shapes = model, steps, shapes
        self.nodes: list[NodeProto] = []
        self.narrow: set[str] = set()
        """Tensors that exist in int8."""
        self.wide: set[str] = {"observations"}
        """Tensors that exist in fp32."""
        self.pending: dict[str, str] = {}
        """Tensors that are still without an offset, and the offset's name."""
        self.one = self._constant("one", np.float32(1))
        self.zeros = [self._constant(f"zero/{zero}", np.uint8(zero)) for zero in (0, 128)]

    def write(self, layers: list[_Layer]) -> None:
        """Replace layers by integer convolutions."""
        replaced = {layer.node.name: layer for layer in layers}
        dropped = {layer.relu for layer in layers}
        for node in self.model.nodes:
            if node.name in replaced:
                self._convolve(replaced[node.name])
            elif node.name not in dropped:
                self._keep(node)
        self.model.replace_nodes(self.nodes)

    def _constant(self, name: str, value: ArrayLike) -> str:
        self.model.arrays[name] = np.asarray(value)
        return name

    def _node(self, kind: str, inputs: list[str], output: str, **options: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **options))

    def _keep(self, node: NodeProto) -> None:
        """Write a node that stays in fp32."""
        for index, tensor in enumerate(node.input):
            if tensor in self.narrow and tensor not in self.wide:
                if node.op_type in ("GlobalAveragePool", "ReduceMean") and index == 0:
                    self._average(node, tensor)
                    return
                if node.op_type == "Mul" and self._is_small(node.input[1 - index]):
                    self._gate(node, tensor, node.input[1 - index])
                    return
                self._widen(tensor)
            if tensor in self.pending:
                self._add_pending(node, index)
        self.nodes.append(node)
        self.wide.update(node.output)

    def _is_small(self, tensor: str) -> bool:
        """Whether a tensor has the shape `[B, C, 1, 1]`."""
        return len(self.shapes.get(tensor, ())) == 4 and self.shapes[tensor][2:] == (1, 1)

    def _counted(self, tensor: str) -> str:
        """The integers of a tensor as fp32."""
        name = f"{tensor}/counted"
        if name not in self.wide:
            self._node("Cast", [f"{tensor}/int8"], name, to=1)  # 1: float32
            self.wide.add(name)
        return name

    def _widen(self, tensor: str) -> None:
        """Convert to fp32: size · integer + offset, per plane."""
        size, offset = self._line(tensor, 4)
        whole = tensor if offset is None else f"{tensor}/sized"
        self._node("Mul", [self._counted(tensor), size], whole)
        if offset is not None:
            self._node("Add", [whole, offset], tensor)
        self.wide.add(tensor)

    def _line(self, tensor: str, dimensions: int) -> tuple[str, str | None]:
        """Size and offset of a tensor's planes as constants; None if all offsets are 0."""
        steps, name = self.steps[tensor], f"{tensor}/{dimensions}"
        shape = (1, -1, *[1] * (dimensions - 2))
        size = self._constant(f"{name}/size", steps.size.reshape(shape))
        offset = -steps.size * steps.zero
        if not offset.any():
            return size, None
        return size, self._constant(f"{name}/offset", offset.astype(np.float32).reshape(shape))

    def _average(self, node: NodeProto, tensor: str) -> None:
        """Means over planes: average the integers, then convert to fp32."""
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

    def _gate(self, node: NodeProto, tensor: str, gate: str) -> None:
        """Planes times a gate: the gate includes the planes' size, and gate times offset stays
        pending until a later sum, which is less work than adding it to all squares.
        """
        (output,) = node.output
        size, offset = self._line(tensor, 4)
        self._node("Mul", [gate, size], f"{output}/gate")
        self._node("Mul", [self._counted(tensor), f"{output}/gate"], output)
        self.wide.add(output)
        if offset is not None:
            self._node("Mul", [gate, offset], f"{output}/offset")
            self.pending[output] = f"{output}/offset"

    def _add_pending(self, node: NodeProto, index: int) -> None:
        """Add the pending offset of a node's input: to the other summand if small, else to it."""
        tensor = node.input[index]
        other = node.input[1 - index] if node.op_type == "Add" else ""
        if other and self._is_small(other):
            whole = f"{other}/{tensor}"
            self._node("Add", [other, self.pending[tensor]], whole)
            node.input[1 - index] = whole
        else:
            whole = f"{tensor}/whole"
            if whole not in self.wide:
                self._node("Add", [tensor, self.pending[tensor]], whole)
                self.wide.add(whole)
            node.input[index] = whole

    def _narrow(self, tensor: str) -> None:
        """Convert a tensor to int8."""
        steps = self.steps[tensor]
        inverse = self._constant(f"{tensor}/inverse", _planes((1 / steps.size).astype(np.float32)))
        self._node("Mul", [tensor, inverse], f"{tensor}/in_steps")
        zero = self.zeros[int(steps.zero[0] > 0)]
        self._node("QuantizeLinear", [f"{tensor}/in_steps", self.one, zero], f"{tensor}/int8")
        self.narrow.add(tensor)

    def _convolve(self, layer: _Layer) -> None:
        """Write an integer convolution; inputs and outputs are in steps.

        outputs = scales / size · (weights · (inputs - zero) + bias); the bias includes the zero
        point of each output plane.
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
    """One number per plane, to multiply with `[B, C, H, W]` or weights `[O, C, k, k]`."""
    return numbers.reshape(1, -1, 1, 1)


def _patches(planes: Floats, size: tuple[int, ...]) -> Floats:
    """The inputs of each square (im2col), `[B * H * W, C * size]`; zeros beyond the edge."""
    edges = [(length // 2, length // 2) for length in size]
    padded = np.pad(planes, [(0, 0), (0, 0), *edges])
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(size), axis=(2, 3))
    count = planes.shape[1] * int(np.prod(size))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, count)
