"""The evaluator of self-play: runs the newest network and takes new weights at every step.

*On a CPU* networks run in ONNX Runtime, several times as fast as PyTorch. An export can take
seconds, so it is done once, from a copy of the module whose weights are distinct random numbers.
These numbers identify each weight among the model's constants, whatever its name there, and whether
the exporter transposed it. A refresh then overwrites those constants and opens a new session, in
milliseconds.

The first model is compared with the module. If they differ (the exporter computed something from
the weights), every refresh exports again. If the export fails, PyTorch evaluates the module.

*int8* (an option on CPUs): each refresh calibrates the new model on a fixed set of positions,
quantizes its weights and measures the loss. If the loss is too large, this step runs in fp32.

*On a GPU* PyTorch runs batches of one size, without a cache: a lookup takes longer than an
evaluation there, and has to wait for the device.

On a CPU, `Cached` keeps the network's outputs until the next refresh: games share their openings,
so in Connect Four a third to a half of all leaves are found in the cache.
"""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import nn

from sylvan.evaluators import Evaluator
from sylvan.evaluators.cached import Cached, network_of
from sylvan.evaluators.cuda_graphs import pinned
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.learning.positions import sample_positions
from sylvan.learning.quantization_loss import QuantizationLoss, measure_loss
from sylvan.networks.device import device_named
from sylvan.networks.export import TOLERANCE, folded, folded_state, max_difference, onnx_bytes
from sylvan.networks.header import HEADER_KEY, NetworkHeader, needed_header
from sylvan.networks.positions import Positions
from sylvan.networks.quantize import quantized_model
from sylvan.selfplay.actors import Room

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

    from sylvan.games import Game

__all__ = [
    "OnnxNetwork",
    "SelfPlayEvaluator",
    "SwappableModel",
    "batch_room",
    "onnx_model_of",
    "self_play_evaluator",
]

log = logging.getLogger(__name__)

MOST_KL = 0.02
"""Maximum KL divergence of the int8 policy, in nats; a new sample of games changes it more."""

MOST_VALUE_ERROR = 0.03
"""Maximum mean absolute change of the value by int8."""


def self_play_evaluator(
    network: nn.Module,
    *,
    device: str = "auto",
    threads: int | None = None,
    cache_bytes: int = 0,
    eight_bits: Game | None = None,
    batch: int | None = None,
    compiled: bool = False,
    exact: bool = True,
    model: SwappableModel | None = None,
    **options: Any,
) -> SelfPlayEvaluator:
    """An evaluator with the current weights of `network`; `refresh(network)` loads newer ones.

    :param device: `auto`: a GPU if there is one, else `cpu`.
    :param threads: CPU threads; None: all that the process may use.
    :param cache_bytes: on a CPU, the size of the cache of outputs, emptied at each refresh; 0: no
        cache.
    :param eight_bits: on a CPU, run in int8, twice as fast with VNNI and a little less exact;
        random games from this state give the positions for calibration.
    :param batch: positions of a batch on a GPU.
    :param exact: whether smaller batches on a GPU are padded, so that they are rounded equally.
    :param compiled: on a GPU, compile the network.
    :param model: on a CPU, the exported model of another evaluator of this network.
    :param options: options of `OnnxEvaluator` or `TorchEvaluator`.
    """
    evaluator: OnnxNetwork | TorchEvaluator
    if device_named(device).type == "cuda":
        if batch is not None:
            options |= {"batch": batch, "one_size": exact}
        return TorchEvaluator(network, device=device, compile=compiled, **options)
    if model is None and device_named(device).type == "cpu":
        model = _exported(network)
    if model is not None:
        evaluator = OnnxNetwork(network, model, threads=threads, eight_bits=eight_bits, **options)
    else:
        evaluator = TorchEvaluator(network, device=device, **options)
    return Cached(evaluator, cache_bytes) if cache_bytes else evaluator


def batch_room(device: str) -> Room:
    """Allocates the arrays of batches: in pinned memory if a GPU evaluates them."""
    return pinned if device_named(device).type == "cuda" else np.zeros


def onnx_model_of(evaluator: Evaluator) -> SwappableModel | None:
    """The exported model of an evaluator of self-play; None if it runs in PyTorch."""
    network = network_of(evaluator)
    return network.model if isinstance(network, OnnxNetwork) else None


def _exported(network: nn.Module) -> SwappableModel | None:
    try:
        return SwappableModel(network)
    except Exception as error:  # the exporter raises many types of error
        log.warning(
            "%s cannot be exported to ONNX (%s): PyTorch evaluates it, more slowly",
            type(network).__name__,
            str(error).partition("\n")[0],
        )
        return None


class OnnxNetwork(OnnxEvaluator):
    """ONNX Runtime, with the weights that a module had at the last refresh.

    :param model: the module's exported model, if there is one already.
    :param eight_bits: run in int8; see `self_play_evaluator`.
    :raises NetworkError: int8 is requested for a network without convolutions.
    """

    def __init__(
        self,
        network: nn.Module,
        model: SwappableModel | None = None,
        *,
        eight_bits: Game | None = None,
        **options: Any,
    ) -> None:
        self.model = model or SwappableModel(network)
        """The exported model; it can make files of the network without another export."""
        self.loss: QuantizationLoss | None = None
        """Loss by int8 at the last refresh; None without int8."""
        self.in_integers = False
        """Whether the current model runs in int8."""
        self._positions = _calibration(eight_bits, self.model.header) if eight_bits else None
        name = options.pop("name", type(network).__name__)
        super().__init__(self.model.filled(network), name=name, **options)
        if self._positions is not None:
            self.refresh(network)

    def refresh(self, network: nn.Module) -> None:
        """Load the current weights of a module."""
        data = self.model.filled(network)
        self.reload(data)
        if self._positions is None:
            return
        calibration, test = self._positions
        narrow = quantized_model(data, calibration, nearest=True, name=self.name)
        self.loss = measure_loss(self, OnnxEvaluator(narrow, threads=self.threads), test)
        self.in_integers = (
            self.loss.policy_kl <= MOST_KL and self.loss.value_error <= MOST_VALUE_ERROR
        )
        if self.in_integers:
            self.reload(narrow)
        else:
            log.warning("int8 loses too much at this step (%s): using fp32", self.loss)


SelfPlayEvaluator: TypeAlias = OnnxNetwork | TorchEvaluator | Cached
"""An evaluator whose weights `refresh` replaces."""


def _calibration(game: Game, header: NetworkHeader) -> tuple[Positions, Positions]:
    """Positions of random games: to calibrate on, and to measure the loss.

    The seeds are fixed, so that a resumed run gets the same numbers as an uninterrupted one.
    """
    shown = header.shown(game)
    return (
        sample_positions(shown, 192, seed=1, evaluator="uniform"),
        sample_positions(shown, 64, seed=2, evaluator="uniform"),
    )


class SwappableModel:
    """An ONNX model of a module whose weights can be replaced without another export."""

    def __init__(self, network: nn.Module) -> None:
        self.header = needed_header(network)
        self.swaps = True
        """Whether weights can be replaced in the model; else it is exported each time."""
        marked = _marked(network)
        if not self._fits(network, marked, traced=True):
            self.swaps = self._fits(network, marked, traced=False)

    def _fits(self, network: nn.Module, marked: nn.Module, *, traced: bool) -> bool:
        """Export, write the module's weights into the model, and compare the outputs."""
        try:
            model = self.exported(marked, traced=traced)
            self._proto, self._constants = _located(model, marked)
            difference = self.difference(network, self.filled(network))
        except Exception:  # the exporter raises many types of error
            if traced:
                return False
            raise
        return difference <= TOLERANCE

    def exported(self, network: nn.Module, *, traced: bool) -> bytes:
        """Export the model."""
        return onnx_bytes(network, needed_header(network), traced=traced)

    def difference(self, network: nn.Module, model: bytes) -> float:
        """The maximum difference between the outputs of a model and of a module."""
        shape = (16, *self.header.observation_shape)
        observations = np.random.default_rng(0).integers(0, 2, shape).astype(np.float32)
        return max_difference(network, model, observations, self.header)

    def filled(self, network: nn.Module) -> bytes:
        """The model with the module's current weights and header."""
        header = needed_header(network)
        if not self.swaps:
            return self.exported(network, traced=False)
        for entry in self._proto.metadata_props:
            if entry.key == HEADER_KEY:
                entry.value = header.to_json()
        tensors = folded_state(network)
        for name, tensor, transposed in self._constants:
            numbers = tensors[name].detach().cpu().float().numpy()
            tensor.raw_data = (numbers.T if transposed else numbers).tobytes()
        data: bytes = self._proto.SerializeToString()
        return data


def _marked(network: nn.Module) -> nn.Module:
    """A folded copy with distinct random weights, to recognise them in the exported model."""
    marked = copy.deepcopy(folded(network)).cpu().float()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in marked.state_dict().values():
            if tensor.is_floating_point():
                # Positive, as a variance must be.
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
    return marked


def _located(
    model: bytes, marked: nn.Module
) -> tuple[ModelProto, list[tuple[str, TensorProto, bool]]]:
    """The model, and for each weight among its constants: the name in the module, the constant,
    and whether it is transposed.
    """
    import onnx
    from onnx import numpy_helper

    proto = onnx.load_from_string(model)
    names: dict[tuple[tuple[int, ...], bytes], tuple[str, bool]] = {}
    for name, tensor in marked.state_dict().items():
        if tensor.is_floating_point():
            numbers = tensor.numpy()
            if numbers.ndim == 2:
                names[numbers.T.shape, numbers.T.tobytes()] = name, True
            names[numbers.shape, numbers.tobytes()] = name, False
    weights = []
    for constant in proto.graph.initializer:
        if constant.data_type != onnx.TensorProto.FLOAT:
            continue
        numbers = numpy_helper.to_array(constant)
        found = names.get((numbers.shape, numbers.tobytes()))
        if found is not None:
            constant.ClearField("float_data")
            weights.append((found[0], constant, found[1]))
    return proto, weights
