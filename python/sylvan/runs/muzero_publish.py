"""Publish a run's learned models: `networks/best` and `networks/last`.

Each is a folder of `.onnx` files, to plan without PyTorch, and a `.safetensors` file, to train
further. The `.safetensors` file is written last: if it exists, the folder exists too and is of the
same step.
"""

from __future__ import annotations

from sylvan.muzero.model import TorchModel
from sylvan.networks.checkpoint import write_checkpoint
from sylvan.networks.muzero import learned
from sylvan.networks.muzero_export import export_muzero
from sylvan.runs.checkpoints import NetworkState
from sylvan.runs.publish import BasePublisher

__all__ = ["ModelPublisher"]


class ModelPublisher(BasePublisher[TorchModel]):
    """Writes learned models of one architecture."""

    def publish(self, name: str, network: NetworkState) -> None:
        """Write the folder `name` and `name.safetensors`."""
        export_muzero(learned(self.filled(network)), self.folder / name)
        write_checkpoint(self.folder / f"{name}.safetensors", network.header, network.tensors)

    def evaluator(self, network: NetworkState, device: str, threads: int | None) -> TorchModel:  # noqa: ARG002
        """The model of an earlier network, for a search."""
        return TorchModel(self.filled(network), device=device)
