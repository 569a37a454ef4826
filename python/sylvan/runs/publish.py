"""Publish a run's networks: `networks/best` and `networks/last`.

Both are averaged networks, as `.onnx`, to play without PyTorch, and as `.safetensors`, to train
further. The `.safetensors` file is written last: if it exists, the `.onnx` file exists too and is
of the same step.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Generic, TypeVar

from torch import nn

from sylvan.evaluators import Evaluator
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.learning.inference import SwappableModel
from sylvan.networks.checkpoint import load_tensors, write_checkpoint
from sylvan.networks.onnx_file import write_model
from sylvan.runs.checkpoints import NetworkState

__all__ = ["BasePublisher", "Publisher"]

log = logging.getLogger(__name__)


EvaluatorT_co = TypeVar("EvaluatorT_co", covariant=True)


class BasePublisher(ABC, Generic[EvaluatorT_co]):
    """Writes networks of one architecture.

    :param folder: the `networks` folder of a run.
    :param module: of that architecture; its weights are overwritten.
    """

    def __init__(self, folder: Path, module: nn.Module) -> None:
        self.folder = folder
        self._module = module

    def filled(self, network: NetworkState) -> nn.Module:
        """The module with a network's weights; the next call overwrites them."""
        load_tensors(self._module, network.tensors, f"the network of {self.folder}")
        self._module.header = network.header  # type: ignore[assignment]
        return self._module

    @abstractmethod
    def publish(self, name: str, network: NetworkState) -> None:
        """Write the files of a network."""

    @abstractmethod
    def evaluator(self, network: NetworkState, device: str, threads: int | None) -> EvaluatorT_co:
        """Load a network to search with."""


class Publisher(BasePublisher[Evaluator]):
    """Writes networks that search with the game's rules.

    :param model: the module's ONNX model, if one exists already: an export takes seconds.
    """

    def __init__(
        self, folder: Path, module: nn.Module, model: SwappableModel | None = None
    ) -> None:
        super().__init__(folder, module)
        self._model = model
        self._exports = True

    def publish(self, name: str, network: NetworkState) -> None:
        """Write `name.onnx` and `name.safetensors`."""
        self.filled(network)
        model = self._onnx()
        if model is not None:
            write_model(self.folder / f"{name}.onnx", model)
        write_checkpoint(self.folder / f"{name}.safetensors", network.header, network.tensors)

    def evaluator(self, network: NetworkState, device: str, threads: int | None) -> Evaluator:
        """An evaluator of a network, without a new export."""
        module = self.filled(network)
        if device == "cpu" and (model := self._onnx()) is not None:
            return OnnxEvaluator(model, threads=threads)
        return TorchEvaluator(module, device=device)

    def _onnx(self) -> bytes | None:
        """The module as an ONNX model; None if it cannot be exported."""
        if not self._exports:
            return None
        try:
            if self._model is None:
                self._model = SwappableModel(self._module)
            return self._model.filled(self._module)
        except Exception as error:  # the exporter raises many types
            self._exports = False
            log.warning(
                "%s cannot be exported to ONNX (%s): it is saved only as .safetensors",
                type(self._module).__name__,
                str(error).partition("\n")[0],
            )
            return None
