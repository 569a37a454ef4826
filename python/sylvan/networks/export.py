"""Export a module to ONNX, which runs without PyTorch.

The input is `observations` `[batch, *observation_shape]`, the outputs are `policy` (logits),
`value` and optionally `moves_left`, for any batch size. A `wdl` value is given as probabilities.
Batch norms are folded into the convolutions before them. The header is in the model's metadata.

The model is compared with the module. Sums in fp32 depend on their order, so a relative difference
of up to `TOLERANCE` is accepted; otherwise the export fails.
"""

from __future__ import annotations

import copy
import io
import logging
import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_conv_bn_weights

from sylvan.errors import NetworkError
from sylvan.networks.header import HEADER_KEY, NetworkHeader, header_of
from sylvan.networks.onnx_file import write_model
from sylvan.networks.output import NetworkOutput

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = [
    "TOLERANCE",
    "export_onnx",
    "folded",
    "folded_state",
    "graph_bytes",
    "max_difference",
    "onnx_bytes",
]

M = TypeVar("M", bound=nn.Module)

TOLERANCE = 1e-4
"""Maximum difference to PyTorch, relative to the largest output, or to 1 if that is larger."""


def export_onnx(
    network: nn.Module,
    path: str | PathLike[str],
    *,
    header: NetworkHeader | None = None,
    observations: NDArray[np.float32] | None = None,
) -> float:
    """Write a module to an `.onnx` file; return its maximum difference to PyTorch.

    Args:
        network: a `Network`, or any module with the signature of `NetworkOutput`.
        path: the file; its folder must exist.
        header: for a module without a header.
        observations: `[N, *observation_shape]` to compare on; None: random bits.

    :raises NetworkError: the model's outputs differ from the module's.
    """
    header = header or header_of(network)
    if header is None:
        raise NetworkError(
            f"{type(network).__name__} has no header: give header=NetworkHeader.for_game(game)."
        )
    model = onnx_bytes(network, header)
    if observations is None:
        shape = (32, *header.observation_shape)
        observations = np.random.default_rng(0).integers(0, 2, shape).astype(np.float32)
    difference = max_difference(network, model, observations, header)
    if not difference <= TOLERANCE:
        raise NetworkError(
            f"The exported model differs from {type(network).__name__} by {difference:.2g}, more "
            f"than {TOLERANCE:g}: {Path(path).name} is not written."
        )
    write_model(path, model)
    return difference


def onnx_bytes(network: nn.Module, header: NetworkHeader, *, traced: bool = False) -> bytes:
    """The bytes of an `.onnx` file, not compared with the module.

    :param traced: use PyTorch's tracing exporter, which takes a tenth of the time but cannot follow
        branches on data. PyTorch calls it deprecated.
    """
    # Two: the exporter would treat a batch of one as constant.
    example = torch.zeros(2, *header.observation_shape)
    names = ["policy", "value"] + ["moves_left"] * header.moves_left
    exported = _Exported(folded(network), header)
    return graph_bytes(exported, {"observations": example}, names, header, traced=traced)


def graph_bytes(
    module: nn.Module,
    inputs: Mapping[str, torch.Tensor],
    names: list[str],
    header: NetworkHeader,
    *,
    traced: bool = False,
) -> bytes:
    """The bytes of an `.onnx` file of a module whose `forward` takes tensors and returns a tuple.

    :param inputs: name and example of each input, with a batch of two; the batch size is dynamic.
    :param names: names of the outputs.
    """
    module = module.cpu().float().eval()
    # The exporter warns about itself, and about a missing torchvision.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        model = (_traced if traced else _read)(module, inputs, names)
    entry = model.metadata_props.add()
    entry.key, entry.value = HEADER_KEY, header.to_json()
    model.producer_name = "sylvan"
    del model.graph.value_info[:]  # intermediate shapes, which readers infer
    for node in model.graph.node:
        del node.metadata_props[:]  # source locations with file names
        node.doc_string = ""
    for value in (*model.graph.input, *model.graph.output):
        del value.metadata_props[:]
    del model.graph.metadata_props[:]
    data: bytes = model.SerializeToString()
    return data


def _read(module: nn.Module, inputs: Mapping[str, torch.Tensor], names: list[str]) -> ModelProto:
    batch = torch.export.Dim("batch")
    program: Any = torch.onnx.export(
        module,
        tuple(inputs.values()),
        dynamo=True,
        dynamic_shapes=tuple({0: batch} for _ in inputs),
        input_names=list(inputs),
        output_names=names,
        verbose=False,
    )
    model: ModelProto = program.model_proto
    return model


def _traced(module: nn.Module, inputs: Mapping[str, torch.Tensor], names: list[str]) -> ModelProto:
    import onnx

    # Raise if the trace depends on the data: it would be wrong for other batches.
    warnings.simplefilter("error", torch.jit._trace.TracerWarning)
    file: Any = io.BytesIO()  # accepted like a path
    torch.onnx.export(
        module,
        tuple(inputs.values()),
        file,
        dynamo=False,
        dynamic_axes={name: {0: "batch"} for name in (*inputs, *names)},
        input_names=list(inputs),
        output_names=names,
        opset_version=18,
    )
    return onnx.load_from_string(file.getvalue())


def max_difference(
    network: nn.Module,
    model: bytes,
    observations: NDArray[np.float32],
    header: NetworkHeader | None = None,
) -> float:
    """The maximum difference between a module and a model, over all outputs.

    Relative to the largest absolute value of an output, or to 1 if that is larger.
    """
    import onnxruntime

    header = header or header_of(network)
    assert header is not None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = ["policy", "value"] + ["moves_left"] * header.moves_left
    found = session.run(names, {"observations": observations})
    training = network.training
    device = next((p.device for p in network.parameters()), torch.device("cpu"))
    with torch.no_grad():
        network.eval()
        wanted = probabilities(network(torch.from_numpy(observations).to(device)), header)
        network.train(training)
    differences = [
        float(np.abs(output - tensor.cpu().numpy()).max() / max(1.0, float(tensor.abs().max())))
        for output, tensor in zip(found, wanted, strict=True)
    ]
    return max(differences)


def folded(network: M) -> M:
    """A copy in evaluation mode whose batch norms are part of the convolutions before them."""
    copied = copy.deepcopy(network).eval()
    for module in copied.modules():
        if isinstance(module, nn.Sequential) and len(module) == 2:
            conv, norm = module
            if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                module[0], module[1] = fuse_conv_bn_eval(conv, norm), nn.Identity()
    return copied


def folded_state(network: nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of `folded(network)` by name, and also the unused batch-norm tensors.

    Faster than `folded`, because only changed tensors are copied.
    """
    state = dict(network.state_dict())
    for name, module in network.named_modules():
        if isinstance(module, nn.Sequential) and len(module) == 2:
            conv, norm = module
            if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                assert norm.running_mean is not None and norm.running_var is not None
                weight, bias = fuse_conv_bn_weights(
                    conv.weight,
                    conv.bias,
                    norm.running_mean,
                    norm.running_var,
                    norm.eps,
                    norm.weight,
                    norm.bias,
                )
                state[f"{name}.0.weight"], state[f"{name}.0.bias"] = weight, bias
    return state


def probabilities(output: NetworkOutput, header: NetworkHeader) -> tuple[torch.Tensor, ...]:
    """A module's outputs in the model's format: `wdl` as probabilities."""
    value = torch.softmax(output.value, dim=1) if header.value == "wdl" else output.value
    rest = (output.moves_left,) if header.moves_left and output.moves_left is not None else ()
    return output.policy, value, *rest


class _Exported(nn.Module):
    """A network with a tuple of outputs, in the model's format."""

    def __init__(self, network: nn.Module, header: NetworkHeader) -> None:
        super().__init__()
        self.network = network
        self.header = header

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return probabilities(self.network(observations), self.header)
