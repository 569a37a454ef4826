"""A PyTorch network as a model to plan with, whose weights can be refreshed between searches.

    model = TorchModel(network, device="auto")
    plan = LatentSearch(model, simulations=50).run(observation)
    model.refresh(network)                            # after training

*On a CPU* the network is exported once and runs on ONNX Runtime; new weights are written into the
exported models (`sylvan.learning.inference.SwappableModel`). A step of `mlp2x128` with 32 states
takes about a quarter of PyTorch's time, and half of NumPy's. A network that cannot be exported runs
on PyTorch. In both cases hidden states are NumPy arrays.

*On a GPU* it runs in half precision, with one CUDA graph per kind of call and batch size
(`sylvan.muzero.device_model`). Hidden states stay there; values, rewards and policies are copied
back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from sylvan.evaluators.onnx import OnnxSession, onnx_session
from sylvan.learning.inference import SwappableModel
from sylvan.muzero.onnx_model import OnnxModel, check_hidden, observations_of
from sylvan.networks.device import device_named
from sylvan.networks.export import folded
from sylvan.networks.header import needed_header
from sylvan.networks.muzero import MuZeroNetwork, learned
from sylvan.networks.muzero_export import export_muzero, part_bytes, part_difference
from sylvan.planning.latent import ModelOutput
from sylvan.planning.model_arrays import Array

if TYPE_CHECKING:
    from sylvan.muzero.device_model import DeviceModel

__all__ = ["EagerModel", "SwappedModel", "TorchModel", "export_muzero"]

log = logging.getLogger(__name__)


class TorchModel:
    """A model that evaluates a network in the fastest way on its device.

    The network is copied: training it further has no effect here until `refresh`.

    :param device: `auto` is a GPU if there is one, else `cpu`.
    :param threads: CPU threads that share a batch; None: all available ones.
    :param dtype: of the weights on a GPU, `float16` or `bfloat16`; `auto` is `float16`.
    :raises NetworkError: the module is not a `MuZeroNetwork`.
    :raises ConfigError: there is no such device.
    """

    def __init__(
        self,
        network: nn.Module,
        device: str = "auto",
        *,
        threads: int | None = None,
        dtype: str = "auto",
    ) -> None:
        network = learned(network)
        self.header = network.header
        self.device = device_named(device)
        self.concurrent = self.device.type != "cpu"
        """Whether an actor gains from two calls at once."""
        self.inner: SwappedModel | EagerModel | DeviceModel
        """The implementation for the device."""
        if self.device.type == "cpu":
            self.inner = _on_processor(network, threads)
        else:
            from sylvan.muzero.device_model import DeviceModel

            self.inner = DeviceModel(network, self.device, dtype)

    def refresh(self, network: nn.Module) -> None:
        """Copy the current weights of a network."""
        self.inner.refresh(network)
        self.header = needed_header(network)

    def initial_inference(self, observations: Array) -> ModelOutput:
        """Evaluate observations `[B, ...]` as the game gives them.

        :raises EvaluationError: they have another shape.
        """
        return self.inner.initial_inference(observations)

    def recurrent_inference(self, hidden: Array, actions: Array) -> ModelOutput:
        """Evaluate the steps `actions` `[B]` from hidden states `[B, ...]`.

        :raises EvaluationError: they have another shape.
        """
        return self.inner.recurrent_inference(hidden, actions)


def _on_processor(network: MuZeroNetwork, threads: int | None) -> SwappedModel | EagerModel:
    try:
        return SwappedModel(network, threads)
    except Exception as error:  # the exporter raises many types
        log.warning(
            "%s cannot be exported to ONNX (%s): it runs on PyTorch, which is slower",
            type(network).__name__,
            str(error).partition("\n")[0],
        )
        return EagerModel(network)


class SwappedModel(OnnxModel):
    """A model on ONNX Runtime, with the network's weights of the last refresh."""

    running: dict[str, bytes]
    """The ONNX models that run, by the names of their parts."""

    def __init__(self, network: MuZeroNetwork, threads: int | None = None) -> None:
        self._models = {part: _Swappable(network, part) for part in ("initial", "recurrent")}
        self._open(self._filled(network), network.header, threads)

    def refresh(self, network: nn.Module) -> None:
        """Copy the current weights of a network."""
        self._sessions = self._filled(network)

    def _filled(self, network: nn.Module) -> dict[str, OnnxSession]:
        name = type(network).__name__
        self.running = {part: model.filled(network) for part, model in self._models.items()}
        return {part: onnx_session(model, name) for part, model in self.running.items()}


class _Swappable(SwappableModel):
    """A part of a network as an ONNX model whose weights can be replaced."""

    def __init__(self, network: nn.Module, part: str) -> None:
        self.part = part
        super().__init__(network)

    def exported(self, network: nn.Module, *, traced: bool) -> bytes:
        """Export the part to ONNX."""
        return part_bytes(network, self.part, traced=traced)

    def difference(self, network: nn.Module, model: bytes) -> float:
        """The largest difference between the outputs of the model and of the network."""
        return part_difference(network, self.part, model)


class EagerModel:
    """Plain PyTorch on a CPU: the reference for the other models."""

    def __init__(self, network: MuZeroNetwork) -> None:
        self.header = network.header
        self.refresh(network)

    def refresh(self, network: nn.Module) -> None:
        """Copy the current weights of a network."""
        self.network = folded(learned(network)).cpu().float().requires_grad_(False)

    def initial_inference(self, observations: Array) -> ModelOutput:
        """Evaluate observations `[B, ...]`."""
        planes = observations_of(self.header, observations)
        with torch.inference_mode():
            return _arrays(self.network.initial_inference(torch.from_numpy(planes)))

    def recurrent_inference(self, hidden: Array, actions: Array) -> ModelOutput:
        """Evaluate the steps `actions` `[B]` from hidden states `[B, ...]`."""
        states, steps = np.asarray(hidden, np.float32), np.asarray(actions, np.int64)
        check_hidden(states.shape, steps.shape, self.network.hidden_shape)
        with torch.inference_mode():
            answer = self.network.recurrent_inference(*map(torch.from_numpy, (states, steps)))
            return _arrays(answer)


def _arrays(answer: tuple[torch.Tensor, ...]) -> ModelOutput:
    return ModelOutput(*(each.numpy() for each in answer))
