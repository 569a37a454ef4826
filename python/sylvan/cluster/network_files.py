"""Networks as files: what travels to the workers, and what evaluates there.

| evaluator | file |
|---|---|
| a network, in ONNX Runtime | its model, with the very constants that the learner has |
| a learned model, in ONNX Runtime | the models of its parts, in one safetensors file |
| either, in PyTorch (on a GPU) | the network of a checkpoint |
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sylvan.errors import ClusterError
from sylvan.evaluators import Evaluator
from sylvan.evaluators.cached import network_of
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.games.game import Game
from sylvan.muzero.onnx_model import OnnxModel
from sylvan.planning import LatentModel

__all__ = [
    "model_of",
    "models_packed",
    "network_in",
    "onnx_model",
    "torch_evaluator",
    "torch_model",
]

IN_TORCH = ("TorchEvaluator", "TorchModel")


def network_in(evaluator: Any) -> Any:
    """The evaluator behind a cache or in a learned model."""
    inner = getattr(evaluator, "inner", None)
    if isinstance(inner, OnnxModel):
        return inner
    return evaluator if hasattr(evaluator, "recurrent_inference") else network_of(evaluator)


def model_of(evaluator: Any) -> bytes | None:
    """The file of what an evaluator or a learned model runs in ONNX Runtime; None if it runs in
    PyTorch.

    :raises ClusterError: it runs something else.
    """
    network = network_in(evaluator)
    running = getattr(network, "running", None)
    if isinstance(network, OnnxEvaluator) and running is not None:
        return bytes(running)
    if isinstance(network, OnnxModel) and running is not None:
        return models_packed(running)
    if type(network).__name__ not in IN_TORCH:
        raise ClusterError(
            f"A {type(evaluator).__name__} cannot be sent to other machines: train this run "
            "without --cluster."
        )
    return None


def models_packed(models: Mapping[str, bytes]) -> bytes:
    """Several ONNX models as one file."""
    from safetensors.numpy import save

    return save({name: np.frombuffer(model, np.uint8) for name, model in models.items()})


def onnx_model(file: bytes, threads: int) -> LatentModel:
    """The learned model in such a file."""
    from safetensors.numpy import load

    parts = {name: model.tobytes() for name, model in load(file).items()}
    return OnnxModel.from_parts(parts, threads=threads)


def torch_model(file: bytes, device: str, threads: int) -> LatentModel:
    """The learned model in the file of a checkpoint, in PyTorch."""
    from sylvan.muzero.model import TorchModel
    from sylvan.networks.checkpoint import load_network

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.safetensors"
        path.write_bytes(file)
        network = load_network(path)
    return TorchModel(network, device=device, threads=threads)


def torch_evaluator(
    file: bytes, first: Game, settings: Mapping[str, Any], device: str, batch: int
) -> Evaluator:
    """The evaluator of the network in the file of a checkpoint, in PyTorch.

    :param settings: those of the run's network.
    :param batch: positions of a batch on a GPU.
    """
    from sylvan.evaluators.pytorch import TorchEvaluator
    from sylvan.learning.plugins import network_named
    from sylvan.networks.checkpoint import load_tensors, read_checkpoint

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.safetensors"
        path.write_bytes(file)
        header, tensors = read_checkpoint(path)
    own = dict(settings)
    extra = own.pop("settings")
    module = network_named(own.pop("size"), game=first, **own, **extra)
    load_tensors(module, tensors, "the network of a lease")
    module.header = header  # type: ignore[assignment]
    sized = {"batch": batch, "one_size": True} if device == "cuda" else {}
    return TorchEvaluator(module, device=device, **sized)  # type: ignore[arg-type]
