"""Networks: modules, their headers and files.

| name | meaning |
|---|---|
| `build_network` | a new network by the name of its size: `6x64`, `t4x128`, `mlp2x256` |
| `MuZeroNetwork` | a learned model; `sylvan.muzero.build_muzero` makes new ones |
| `NetworkHeader` | game, shapes and encoding, stored in every file |
| `NetworkOutput` | the output of a module's `forward` |
| `save_network`, `load_network` | safetensors files |
| `export_onnx` | for ONNX Runtime, verified against the module |
| `quantize_onnx`, `measure_loss` | int8 models, and their loss |
| `sample_positions` | positions of games, to calibrate and measure int8 models |

Headers and files can be read without PyTorch; modules need it and are imported on first use.

Files, in the order in which data flows.

| file | idea |
|---|---|
| `header` | game, shapes and encoding of a network |
| `settings` | settings that all architectures share |
| `output` | the outputs of a network |
| `device` | PyTorch devices by name |
| `planes` | expands packed planes on the device |
| `layers` | convolutions, dense layers, activations |
| `mlp` | body: a multi-layer perceptron |
| `tower` | body: a residual tower |
| `transformer` | body: a transformer over squares |
| `suits` | body: for cards, equivariant under suits |
| `attention_policy` | the attention policy head for chess |
| `heads` | policy, value, moves left, auxiliary outputs |
| `network` | a body with its heads |
| `support` | values and rewards as distributions |
| `action_planes` | actions as planes |
| `muzero_settings` | settings of learned models |
| `muzero_mlp` | representation, dynamics and prediction of dense layers |
| `muzero_tower` | the same of residual towers |
| `muzero` | a learned model |
| `build` | networks by name |
| `checkpoint` | safetensors files |
| `protobuf` | the wire format of protocol buffers |
| `onnx_file` | ONNX files with a checksum |
| `export` | modules as ONNX models |
| `muzero_export` | learned models as ONNX models |
| `positions` | positions to calibrate and measure int8 models |
| `calibration` | ranges of an ONNX model's tensors |
| `rounding` | weights to int8 with the least error of outputs |
| `quantize` | int8 models |
| `half` | ONNX models stored in fp16 |
| `onnx_graph` | writes ONNX models without the `onnx` package |
| `lc0/` | reads lc0's files |
"""

from typing import TYPE_CHECKING, Any

from sylvan.errors import MissingExtra
from sylvan.lazy import on_first_use
from sylvan.moved import forward_name
from sylvan.networks.header import NetworkHeader
from sylvan.networks.output import NetworkOutput

if TYPE_CHECKING:
    from sylvan.networks.build import build_module, build_network
    from sylvan.networks.checkpoint import (
        load_network,
        read_checkpoint,
        save_network,
        write_checkpoint,
    )
    from sylvan.networks.export import export_onnx
    from sylvan.networks.muzero import MuZeroNetwork
    from sylvan.networks.network import Network
    from sylvan.networks.quantize import quantize_onnx

# Name -> the module of this package that defines it.
_HOMES = {
    "Network": "network",
    "MuZeroNetwork": "muzero",
    "build_module": "build",
    "build_network": "build",
    "export_onnx": "export",
    "load_network": "checkpoint",
    "quantize_onnx": "quantize",
    "read_checkpoint": "checkpoint",
    "save_network": "checkpoint",
    "write_checkpoint": "checkpoint",
}

__all__ = [
    "MuZeroNetwork",
    "Network",
    "NetworkHeader",
    "NetworkOutput",
    "build_module",
    "build_network",
    "export_onnx",
    "load_network",
    "quantize_onnx",
    "read_checkpoint",
    "save_network",
    "write_checkpoint",
]

_find = on_first_use(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        return forward_name(__name__, name)
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "onnxscript"):
            raise
        raise torch_missing() from None


def torch_missing() -> MissingExtra:
    """The error for a missing PyTorch, which the base install does not include."""
    return MissingExtra.named(
        "PyTorch is not installed, but building, training and exporting networks need it (files in "
        ".onnx and in lc0's formats play without it)",
        "torch",
    )


def __dir__() -> list[str]:
    return sorted(__all__)
