"""MuZero: learning a model of what is played, and planning with it.

| name | what |
|---|---|
| `build_muzero` | a new learned model by the name of its size: `mlp2x128`, `6x64` |
| `TorchModel` | a PyTorch network as a model to plan with |
| `MuZeroLearner` | trains one on sequences |
| `OnnxModel` | the same from ONNX files, without PyTorch |
| `export_muzero` | writes them |
| `MuZeroConfig` | the settings that are particular to it |
| `Actor` | plays many games or episodes at once, planning with a model |
| `SequenceReplay`, `SequenceBatch` | what was played, in segments to unroll a model over |
| `Reanalyse` | a share of those targets, made anew by the newest model |

Modules that need PyTorch load when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sylvan.networks import torch_missing

if TYPE_CHECKING:
    from sylvan.muzero.actor import Actor
    from sylvan.muzero.build import build_muzero
    from sylvan.muzero.config import MuZeroConfig
    from sylvan.muzero.learner import MuZeroLearner
    from sylvan.muzero.model import TorchModel, export_muzero
    from sylvan.muzero.onnx_model import OnnxModel
    from sylvan.muzero.reanalyse import Reanalyse
    from sylvan.muzero.sequences import SequenceBatch, SequenceReplay

# Name -> the module of this package that defines it.
_HOMES = {
    "Actor": "actor",
    "MuZeroConfig": "config",
    "MuZeroLearner": "learner",
    "OnnxModel": "onnx_model",
    "Reanalyse": "reanalyse",
    "SequenceBatch": "sequences",
    "SequenceReplay": "sequences",
    "TorchModel": "model",
    "build_muzero": "build",
    "export_muzero": "model",
}

__all__ = [
    "Actor",
    "MuZeroConfig",
    "MuZeroLearner",
    "OnnxModel",
    "Reanalyse",
    "SequenceBatch",
    "SequenceReplay",
    "TorchModel",
    "build_muzero",
    "export_muzero",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "onnxscript"):
            raise
        raise torch_missing() from None
