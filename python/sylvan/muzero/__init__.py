"""MuZero: learn a model of a game or an environment, and plan with it.

| file | contents |
|---|---|
| `config` | `MuZeroConfig`, the settings of the model, its targets and its losses |
| `presets` | default settings per game, environment and machine |
| `build` | `build_muzero`, a new network by its size: `mlp2x128`, `6x64` |
| `onnx_model` | `OnnxModel`, a model from ONNX files, without PyTorch |
| `device_model` | a model on a GPU, with CUDA graphs |
| `model` | `TorchModel`, a PyTorch network as a model to plan with |
| `search` | a `LatentSearch` for a game |
| `turns` | whose turn it is, and which games fit a model |
| `starts` | how games start: with random moves, at a position, where an episode was cut |
| `game_keeper` | Python games and environments: begin, move, show |
| `game_worker` | a process that steps such games |
| `game_processes` | such games in several processes |
| `game_slots` | N real games that are played in parallel |
| `resignation` | resignation in parallel games |
| `ply_log` | the plies of a lease's games as columns |
| `lease_book` | what the games of a lease share |
| `game_group` | a group of games: plan, step, settle |
| `model_player` | `ModelPlayer`, plays leases with a model |
| `policies` | sparse policy targets |
| `segments` | the replay window in segments of K steps |
| `reanalyse` | `Reanalyse`, recompute targets with the newest model |
| `sequences` | `SequenceReplay`, batches of segments |
| `losses` | the losses of an unrolled model |
| `learner` | `MuZeroLearner`, trains a network on sequences |
| `evaluation` | rate a model in games and on solved positions |
| `model_answers` | answers to fixed observations, to compare machines |
| `quality` | prediction errors of a model on real games |
| `episodes` | rate a model by episodes of an environment |

Modules that need PyTorch are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sylvan.networks import torch_missing

if TYPE_CHECKING:
    from sylvan.muzero.build import build_muzero
    from sylvan.muzero.config import MuZeroConfig
    from sylvan.muzero.learner import MuZeroLearner
    from sylvan.muzero.model import TorchModel, export_muzero
    from sylvan.muzero.model_player import ModelPlayer
    from sylvan.muzero.onnx_model import OnnxModel
    from sylvan.muzero.reanalyse import Reanalyse
    from sylvan.muzero.sequences import SequenceBatch, SequenceReplay

# Name -> the module of this package that defines it.
_MODULES = {
    "ModelPlayer": "model_player",
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
    "ModelPlayer",
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
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "onnxscript"):
            raise
        raise torch_missing() from None


def __dir__() -> list[str]:
    return sorted(__all__)
