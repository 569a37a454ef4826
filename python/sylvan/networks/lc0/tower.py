"""An lc0 network as a residual tower of `networks.tower`, with its parameter names.

`lc0_arrays` are the parameters of the PyTorch module that `lc0_header` describes; together they
make a normal checkpoint. Only `lc0_module` needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import NetworkError
from sylvan.games.encoding import Encoding
from sylvan.networks.header import NetworkHeader
from sylvan.networks.lc0.file import INPUT_PLANES, Conv, ConvPolicy, Dense
from sylvan.networks.lc0.policy import POLICY_OUTPUTS

if TYPE_CHECKING:
    from sylvan.networks.lc0.file import Head, Lc0Network
    from sylvan.networks.network import Network

__all__ = ["lc0_arrays", "lc0_header", "lc0_module"]

Floats = NDArray[np.float32]

PADDED_PLANES = 80
"""Policy planes of the tower's head; planes unused by lc0 are zero."""


def lc0_header(network: Lc0Network, history_fill: str = "fen_only") -> NetworkHeader:
    """The header of an lc0 network.

    `history_fill` fills the history before the first position; lc0's default is `fen_only`.
    """
    fields: dict[str, Any] = {
        "game": "chess",
        "observation_shape": (INPUT_PLANES, 8, 8),
        "num_logits": POLICY_OUTPUTS,
        "num_players": 2,
        "encoding": Encoding(encoder="lc0_112", codec="lc0", history_fill=history_fill),
        "value": "wdl" if network.wdl else "scalar",
        "moves_left": network.moves_left is not None,
        "architecture": _architecture(network),
        "training_step": network.training_step,
    }
    return NetworkHeader(**fields)


def _architecture(network: Lc0Network) -> dict[str, Any]:
    """All settings of the tower, including settings of parts that the network lacks."""
    squeeze = network.blocks[0].squeeze if network.blocks else None
    policy, moves_left = network.policy, network.moves_left
    return {
        "name": "tower",
        "activation": network.activation,
        "policy": "lc0" if isinstance(policy, ConvPolicy) else "dense",
        "policy_channels": 32 if isinstance(policy, ConvPolicy) else len(policy.conv.bias),
        "value_channels": len(network.value.conv.bias),
        "value_hidden": len(network.value.dense1.bias),
        "moves_left_channels": 8 if moves_left is None else len(moves_left.conv.bias),
        "moves_left_hidden": 64 if moves_left is None else len(moves_left.dense1.bias),
        "auxiliary": {},
        "value_range": None,
        "blocks": len(network.blocks),
        "channels": network.channels,
        "squeeze": 0 if squeeze is None else len(squeeze.bias),
        "pooling_every": 0,
        "pooling_channels": 16,
        "norm": "folded",
    }


def lc0_arrays(network: Lc0Network) -> dict[str, Floats]:
    """The tower's parameters by name.

    :raises NetworkError: its blocks differ, which the tower does not support.
    """
    arrays: dict[str, Floats] = {}
    for name, layer in _layers(network):
        arrays[f"{name}.weight"], arrays[f"{name}.bias"] = layer.weight, layer.bias
    return arrays


def _layers(network: Lc0Network) -> Iterator[tuple[str, Conv | Dense]]:
    yield "body.input.0", network.input
    sizes = {0 if block.squeeze is None else len(block.squeeze.bias) for block in network.blocks}
    if len(sizes) > 1:
        raise NetworkError(
            "The network's blocks differ in squeeze-excitation: write .onnx instead."
        )
    for number, block in enumerate(network.blocks):
        name = f"body.blocks.{number}"
        yield f"{name}.conv1.0", block.conv1
        yield f"{name}.conv2.0", block.conv2
        if block.squeeze is not None and block.excite is not None:
            yield f"{name}.se.squeeze", block.squeeze
            yield f"{name}.se.excite", block.excite
    if isinstance(network.policy, ConvPolicy):
        yield "policy.conv.0", network.policy.conv1
        yield "policy.logits", _padded(network.policy.conv2)
    else:
        yield "policy.reduce.0.0", network.policy.conv
        yield "policy.logits", network.policy.dense
    yield from _head("value", network.value)
    if network.moves_left is not None:
        yield from _head("moves_left", network.moves_left)


def _head(name: str, head: Head) -> Iterator[tuple[str, Conv | Dense]]:
    yield f"{name}.reduce.0.0", head.conv
    yield f"{name}.hidden", head.dense1
    yield f"{name}.out", head.dense2


def _padded(conv: Conv) -> Conv:
    """The policy's planes, truncated or padded to the number in the tower's head."""
    missing = max(PADDED_PLANES - len(conv.bias), 0)
    return Conv(
        np.pad(conv.weight, [(0, missing), (0, 0), (0, 0), (0, 0)])[:PADDED_PLANES],
        np.pad(conv.bias, (0, missing))[:PADDED_PLANES],
    )


def lc0_module(network: Lc0Network, history_fill: str = "fen_only") -> Network:
    """The network as a PyTorch module, ready to evaluate or to train further."""
    from sylvan.networks import build_network
    from sylvan.networks.checkpoint import load_tensors

    module = build_network(lc0_header(network, history_fill))
    load_tensors(module, lc0_arrays(network))
    return module.eval()
