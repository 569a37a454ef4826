"""The PyTorch network behind an int8 model of a residual tower, to run or train it on a GPU.

    python -m benchmarks.float_network chess.onnx chess.safetensors

`sylvan.networks.quantize` writes a convolution as

    y / s_out + z = round(clip(sum of w8 * (x / s_in) * scale + bias8 * scale))

so the float weights are w8 * scale * s_out / s_in and the bias is bias8 * scale * s_out + offset.
The step `s_in` of a sum of two layers and `s_out`, `offset` of a block's last convolution are
constants of the model. The step between the two convolutions of a block is not stored and cancels,
so it is chosen for training: each hidden channel gets the same weight norm on both of its sides.
All other layers have their weights as they are, some in half precision.

The command writes a network with batch norms again, which is trained at higher rates than one
without: `with_batch_norms` measures means and variances on positions of the network's own games.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import NetworkError, SylvanError
from sylvan.evaluators.onnx import onnx_session, session_header
from sylvan.networks.onnx_file import read_model

if TYPE_CHECKING:
    import torch

    from sylvan.networks.network import Network

__all__ = ["float_network", "with_batch_norms"]

MEASURED = 2048
"""Positions for means and variances."""

Floats = NDArray[np.floating[Any]]


def float_network(path: Path) -> Network:
    """The network of an int8 file as a PyTorch module.

    :raises NetworkError: the file holds another kind of network.
    """
    import onnx
    from onnx import numpy_helper

    from sylvan.networks import build_network
    from sylvan.networks.checkpoint import load_tensors

    header = session_header(onnx_session(path, path.name), path.name)
    shape = {**header.architecture, "norm": "folded"}
    if shape.get("name") != "tower" or shape.pop("weights", None) != "int8":
        raise NetworkError(f"{path.name} is not a residual tower in int8: give .safetensors.")
    module = build_network(header.model_copy(update={"architecture": shape}))
    graph = onnx.load_from_string(read_model(path)).graph
    constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    names = sorted(module.state_dict(), key=_place)
    arrays = dict(zip(names, _parameters(graph, constants), strict=False))
    expected = {name: tensor.shape for name, tensor in module.state_dict().items()}
    if {name: array.shape for name, array in arrays.items()} != expected:
        raise NetworkError(f"{path.name} has other layers than its header says: give .safetensors.")
    _balance(arrays, header.architecture["blocks"])
    load_tensors(module, arrays)
    return module.eval()


def _balance(arrays: dict[str, Floats], blocks: int) -> None:
    """Give each hidden channel of a block the same weight norm in both convolutions.

    A factor passes through the ReLU between them, so the outputs stay. AdamW changes all weights
    by about the same amount: without this, the tiny ones would be overwritten in a few updates.
    """
    for block in range(blocks):
        first, bias, second = (
            f"body.blocks.{block}.{name}.0.{kind}"
            for name, kind in (("conv1", "weight"), ("conv1", "bias"), ("conv2", "weight"))
        )
        before = np.sqrt((arrays[first] ** 2).sum(axis=(1, 2, 3)))
        after = np.sqrt((arrays[second] ** 2).sum(axis=(0, 2, 3)))
        used = (before > 0) & (after > 0)
        factor = np.sqrt(np.divide(after, before, out=np.ones_like(before), where=used))
        factor[~used] = 1.0
        arrays[first] = arrays[first] * factor[:, None, None, None]
        arrays[bias] = arrays[bias] * factor
        arrays[second] = arrays[second] / factor[:, None, None]


def _place(name: str) -> int:
    """Sort the module's parameters as the model has them; stable for all others."""
    order = ("body", "moves_left", "policy.embed", "policy.key", "policy.query", "policy", "value")
    return next(place for place, part in enumerate(order) if name.startswith(part))


def _parameters(graph: Any, constants: dict[str, NDArray[Any]]) -> Iterator[Floats]:
    """Weights and biases in the order of the model, in the layout of PyTorch."""
    halves = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Cast"}
    for node in graph.node:
        if node.op_type == "QLinearConv":
            yield from _convolution(node, constants)
            continue
        for name in node.input:
            array = constants.get(halves.get(name, name))
            if array is None or array.dtype not in (np.float16, np.float32) or not array.ndim:
                continue
            array = array.astype(np.float32)
            if node.op_type in ("Gemm", "Conv", "MatMul"):
                yield array.T if node.op_type == "MatMul" else array
            elif node.op_type == "Add" and array.ndim == 1:
                yield array


def _convolution(node: Any, constants: dict[str, NDArray[Any]]) -> Iterator[Floats]:
    """Weights and bias of a convolution in integers."""
    weights, scales, zeros, bias = (
        constants[node.input[at]].astype(np.float32) for at in (3, 4, 5, 8)
    )
    source, result = (name.removesuffix("/int8") for name in (node.input[0], node.output[0]))
    step_in = _step(source, constants)
    step_out, offset = (
        constants.get(f"{result}/4/{part}", np.float32(default)).reshape(-1)
        for part, default in (("size", 1), ("offset", 0))
    )
    scale = scales * step_out
    yield (
        (weights - zeros[:, None, None, None]) * scale[:, None, None, None] / step_in[:, None, None]
    )
    yield bias * scale + offset


def _step(name: str, constants: dict[str, NDArray[Any]]) -> Floats:
    """The step of a convolution's input, per channel or one for all."""
    if f"{name}/inverse" in constants:
        return 1 / constants[f"{name}/inverse"].reshape(-1)
    return constants.get(f"{name}/4/size", np.float32(1)).reshape(-1)


def with_batch_norms(network: Network, observations: torch.Tensor) -> Network:
    """The same network with batch norms after its convolutions.

    A convolution's weights get the norm of a new one; the batch norm takes mean and variance of its
    output on `observations`, and scales and shifts it back.
    """
    import torch

    from sylvan.networks import build_network

    shape = {**network.header.architecture, "norm": "batch"}
    made = build_network(network.header.replace(architecture=shape))
    found: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def keep(name: str, output: torch.Tensor) -> None:
        found[name] = output.mean(dim=(0, 2, 3)), output.var(dim=(0, 2, 3))

    norms = [name for name, each in made.named_modules() if isinstance(each, torch.nn.BatchNorm2d)]
    convolutions = [name.removesuffix("1") + "0" for name in norms]
    hooks = [
        network.get_submodule(name).register_forward_hook(
            lambda module, given, output, name=name: keep(name, output)
        )
        for name in convolutions
    ]
    with torch.no_grad():
        network(observations)
    for hook in hooks:
        hook.remove()
    tensors = made.state_dict() | network.state_dict()
    for norm, name in zip(norms, convolutions, strict=True):
        (mean, variance), weight = found[name], tensors[f"{name}.weight"]
        size = weight.square().mean(dim=(1, 2, 3), keepdim=True).sqrt().clamp(min=1e-12)
        factor = (2 / weight[0].numel()) ** 0.5 / size
        tensors[f"{name}.weight"] = factor * weight
        factor = factor.flatten()
        variance = factor.square() * variance
        tensors[f"{norm}.running_mean"] = factor * (mean - tensors.pop(f"{name}.bias"))
        tensors[f"{norm}.running_var"] = variance
        tensors[f"{norm}.weight"] = (variance + 1e-5).sqrt() / factor
        tensors[f"{norm}.bias"] = mean
    made.load_state_dict(tensors)
    return made.eval()


def main(arguments: Sequence[str]) -> None:
    """Convert a file."""
    import torch

    from sylvan.games import Chess
    from sylvan.learning.positions import sample_positions
    from sylvan.networks.checkpoint import save_network
    from sylvan.networks.planes import PackedPlanes

    parser = argparse.ArgumentParser(description="Convert an int8 model to float weights.")
    parser.add_argument("source", type=Path, help="an int8 .onnx of a residual tower")
    parser.add_argument("target", type=Path, help="the .safetensors to write")
    given = parser.parse_args(arguments)
    network = float_network(given.source)
    encoding = network.header.encoding
    assert encoding is not None
    positions = sample_positions(Chess().encoded(encoding), MEASURED).observations
    planes = PackedPlanes(encoding)(torch.from_numpy(positions.view(np.int64)))
    network = with_batch_norms(network, planes)
    save_network(network, given.target, training_step=network.header.training_step or 0)
    print(f"{given.target}: {network.parameter_count:,} parameters, with batch norms.")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SylvanError as error:
        sys.exit(f"error: {error}")
