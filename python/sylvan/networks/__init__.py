"""Networks: modules, their files, and what those say about themselves.

| name | what |
|---|---|
| `build_network` | a new network by the name of its size: `6x64`, `t4x128`, `mlp2x256` |
| `MuZeroNetwork` | a learned model; `sylvan.muzero.build_muzero` makes new ones |
| `NetworkHeader` | game, shapes and encoding, as every file carries them |
| `NetworkOutput` | what a module's `forward` gives |
| `save_network`, `load_network` | safetensors files |
| `export_onnx` | for ONNX Runtime, verified against the module |
| `quantize_onnx`, `measure_loss` | eight-bit models, and what that costs |
| `sample_positions` | positions of real games to calibrate and measure on |

Headers and files can be read without PyTorch; modules need it and load when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sylvan.errors import MissingExtra
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        return forward_name(__name__, name)
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "onnxscript"):
            raise
        raise torch_missing() from None


def torch_missing() -> MissingExtra:
    """What to say where PyTorch is needed: the base install has none."""
    return MissingExtra(
        "PyTorch is not installed, which building, training and exporting networks need: pip "
        "install 'sylvan[torch]'; files in .onnx and in lc0's formats play without it."
    )
