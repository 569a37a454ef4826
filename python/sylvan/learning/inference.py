"""The evaluator of self-play: asks the newest network, and takes over its weights at every step.

*On a processor* networks run on ONNX Runtime, which is several times as fast as PyTorch. An export
can take seconds, so it is made once, of a copy whose weights are all different random numbers.
Where those numbers turn up in the model says which of the model's constants is which weight of the
module, whatever the exporter named it, and whether it transposed it. From then on new weights are
written into those places and a new session is opened, in some milliseconds.

The first model is compared with the module. If it says something else (the exporter has computed
something from the weights), every refresh exports again; if the module cannot be exported at all,
PyTorch evaluates it.

*Eight bits* (an option on processors): at each refresh the new model is calibrated on a fixed set
of positions, its weights are rounded, and what that costs is measured; where it is too much for one
set of weights, that one runs in fp32.

*On a GPU* it is PyTorch, in batches of half the games, and nothing is remembered: to look up a leaf
takes longer than to evaluate it there, and would have to wait for the device.

`Cached` in front of a processor's network remembers what that said since the last refresh: games of
one forest begin alike, so in Connect Four a third to a half of all leaves were seen before.
"""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from sylvan.errors import NetworkError
from sylvan.evaluators.cached import Cached
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.learning.positions import sample_positions
from sylvan.learning.quantization_loss import QuantizationLoss, measure_loss
from sylvan.networks.device import device_named
from sylvan.networks.export import TOLERANCE, folded, folded_state, max_difference, onnx_bytes
from sylvan.networks.header import HEADER_KEY, NetworkHeader
from sylvan.networks.positions import Positions
from sylvan.networks.quantize import quantized_model

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["OnnxNetwork", "SwappableModel", "self_play_evaluator"]

log = logging.getLogger(__name__)

MOST_KL = 0.02
"""Nats that eight bits may change the policy by: less than a fresh sample of games would."""

MOST_VALUE_ERROR = 0.03
"""That they may change the value by, on average."""


def self_play_evaluator(
    network: nn.Module,
    *,
    device: str = "auto",
    threads: int | None = None,
    cache_bytes: int = 0,
    eight_bits: Game | None = None,
    games: int | None = None,
    compiled: bool = False,
    **options: Any,
) -> Any:
    """An evaluator of `network` as it is now; `refresh(network)` takes over newer weights.

    :param device: `auto` is a GPU where there is one, else `cpu`.
    :param threads: of a processor; None: all that this program may use.
    :param cache_bytes: on a processor, for answers that are remembered until the next refresh; 0:
        none are.
    :param eight_bits: on a processor, compute in integers, twice as fast with VNNI and a little
        less exact; from this state games are played to calibrate on.
    :param games: that are played at once; half of them fill a batch of a GPU.
    :param compiled: on a GPU, compile the network before it plays.
    :param options: of `OnnxEvaluator` or `TorchEvaluator`.
    """
    evaluator: Any
    if device_named(device).type == "cuda":
        if games is not None:
            options.setdefault("batch", (games + 1) // 2)
        return TorchEvaluator(network, device=device, compile=compiled, **options)
    model = _exported(network) if device_named(device).type == "cpu" else None
    if model is not None:
        evaluator = OnnxNetwork(network, model, threads=threads, eight_bits=eight_bits, **options)
    else:
        evaluator = TorchEvaluator(network, device=device, **options)
    return Cached(evaluator, cache_bytes) if cache_bytes else evaluator


def _exported(network: nn.Module) -> SwappableModel | None:
    try:
        return SwappableModel(network)
    except Exception as error:  # the exporter has many ways to give up
        log.warning(
            "%s cannot be exported to ONNX (%s): PyTorch evaluates it, more slowly",
            type(network).__name__,
            str(error).partition("\n")[0],
        )
        return None


class OnnxNetwork(OnnxEvaluator):
    """ONNX Runtime, with the weights that a module has at the last refresh.

    :param model: of the module, where there is one already: another export is saved.
    :param eight_bits: compute in integers; see `self_play_evaluator`.
    :raises NetworkError: integers were asked for, and there is no convolution to gain by.
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
        """What files of the same network can be made with, without another export."""
        self.loss: QuantizationLoss | None = None
        """What eight bits cost at the last refresh; None where they are not used."""
        self.in_integers = False
        """Whether the model that runs now computes in eight bits."""
        self._positions = _calibration(eight_bits, self.model.header) if eight_bits else None
        name = options.pop("name", type(network).__name__)
        super().__init__(self.model.filled(network), name=name, **options)
        if self._positions is not None:
            self.refresh(network)

    def refresh(self, network: nn.Module) -> None:
        """Take over the numbers that a module has now."""
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
            log.warning("Eight bits would cost too much at this step (%s): fp32 it is", self.loss)


def _calibration(game: Game, header: NetworkHeader) -> tuple[Positions, Positions]:
    """Positions of random games, to calibrate on and to look at what it cost.

    Always the same ones, so that a resumed run finds the numbers of an uninterrupted one.
    """
    shown = header.shown(game)
    return (
        sample_positions(shown, 192, seed=1, evaluator="uniform"),
        sample_positions(shown, 64, seed=2, evaluator="uniform"),
    )


class SwappableModel:
    """An ONNX model of a module into which other weights of the same module can be written."""

    def __init__(self, network: nn.Module) -> None:
        header = getattr(network, "header", None)
        if not isinstance(header, NetworkHeader):
            raise NetworkError(f"{type(network).__name__} has no header: set network.header.")
        self.header = header
        self.swaps = True
        """Whether weights can be written into the model; else it is exported each time."""
        marked = _marked(network)
        if not self._fits(network, marked, traced=True):
            self.swaps = self._fits(network, marked, traced=False)

    def _fits(self, network: nn.Module, marked: nn.Module, *, traced: bool) -> bool:
        """Export, write the module's weights into the model, and see whether both say the same."""
        try:
            model = self.exported(marked, traced=traced)
            self._proto, self._places = _located(model, marked)
            difference = self.difference(network, self.filled(network))
        except Exception:  # the exporter has many ways to give up
            if traced:
                return False
            raise
        return difference <= TOLERANCE

    def exported(self, network: nn.Module, *, traced: bool) -> bytes:
        """The model as the exporter makes it."""
        header: NetworkHeader = network.header  # type: ignore[assignment]
        return onnx_bytes(network, header, traced=traced)

    def difference(self, network: nn.Module, model: bytes) -> float:
        """How much a model says something else than a module."""
        shape = (16, *self.header.observation_shape)
        observations = np.random.default_rng(0).integers(0, 2, shape).astype(np.float32)
        return max_difference(network, model, observations, self.header)

    def filled(self, network: nn.Module) -> bytes:
        """The model with the numbers and the header that the module has now."""
        header: NetworkHeader = network.header  # type: ignore[assignment]
        if not self.swaps:
            return self.exported(network, traced=False)
        for entry in self._proto.metadata_props:
            if entry.key == HEADER_KEY:
                entry.value = header.to_json()
        tensors = folded_state(network)
        for name, tensor, transposed in self._places:
            numbers = tensors[name].detach().cpu().float().numpy()
            tensor.raw_data = (numbers.T if transposed else numbers).tobytes()
        data: bytes = self._proto.SerializeToString()
        return data


def _marked(network: nn.Module) -> nn.Module:
    """A folded copy whose numbers are all different, so that they can be recognised."""
    marked = copy.deepcopy(folded(network)).cpu().float()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in marked.state_dict().values():
            if tensor.is_floating_point():
                # Positive, as a variance must be.
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
    return marked


def _located(model: bytes, marked: nn.Module) -> tuple[Any, list[tuple[str, Any, bool]]]:
    """The model, and for each of its constants that is a weight: its name in the module, the
    constant, and whether it is transposed.
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
    places = []
    for constant in proto.graph.initializer:
        if constant.data_type != onnx.TensorProto.FLOAT:
            continue
        numbers = numpy_helper.to_array(constant)
        found = names.get((numbers.shape, numbers.tobytes()))
        if found is not None:
            constant.ClearField("float_data")
            places.append((found[0], constant, found[1]))
    return proto, places
