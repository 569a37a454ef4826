"""Build a learned model from its size: `mlp2x128` of dense layers, `6x64` of residual towers.

Unless the settings give it, the game determines the rest: the output format of values, the encoding
of actions, whether observations are images, and whether the board is turned for the second seat.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sylvan.errors import NetworkError
from sylvan.muzero.config import MuZeroConfig
from sylvan.networks.action_planes import action_kind
from sylvan.networks.build import architecture_named, seeded
from sylvan.networks.header import NetworkHeader, ValueKind, seen_shape
from sylvan.networks.muzero import MuZeroNetwork, muzero_network

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["build_muzero", "consistency_weight"]

CONSISTENCY = 2.0
"""Weight of the consistency loss for one seat, as in EfficientZero."""

IMAGE = 24
"""Minimum height and width of an image; bytes of a smaller array may be pieces, not colours."""


def consistency_weight(config: MuZeroConfig, num_players: int) -> float:
    """The weight of the consistency loss; by default only used for one seat."""
    if config.consistency is not None:
        return config.consistency
    return CONSISTENCY if num_players == 1 else 0.0


def build_muzero(
    size: str,
    *,
    game: Game,
    config: MuZeroConfig | None = None,
    seed: int | None = None,
    **settings: Any,
) -> MuZeroNetwork:
    """Build a learned model of a game, with random weights.

    Args:
        size: `mlp2x128`, layers and width, or `6x64`, blocks and planes of residual towers.
        game: any state of the game.
        config: output formats of values and rewards, width of the hidden state, ...
        seed: of the weights; None: PyTorch's global generator.
        **settings: others of the architecture, such as those of `MuZeroTowerSettings`.

    :raises NetworkError: there is no such size or setting, or it does not fit the game.

    >>> from sylvan.games import TicTacToe
    >>> model = build_muzero("mlp2x16", game=TicTacToe(), seed=1)
    >>> import torch
    >>> answer = model.initial_inference(torch.zeros(5, 2, 3, 3))
    >>> tuple(answer.policy.shape), tuple(answer.value.shape), tuple(answer.hidden.shape)
    ((5, 9), (5,), (5, 16))
    """
    config = config or MuZeroConfig()
    named = architecture_named(size)
    if named["name"] == "transformer":
        raise NetworkError(
            f"A learned model cannot have the size {size!r}: use layers and width ('mlp2x128') or "
            "blocks and planes of residual towers ('6x64')."
        )
    if game.num_logits != game.num_actions:
        raise NetworkError(
            f"{type(game).__name__} has {game.num_logits} policy outputs for {game.num_actions} "
            "actions, but a learned model needs one per action: for chess, use the codec 'az73'."
        )
    wide = named["width" if named["name"] == "mlp" else "channels"]
    common = {"hidden": config.hidden or wide} | _numbers(game, config)
    common["consistency"] = consistency_weight(config, game.num_players) > 0
    common["reconstruction"] = config.reconstruction > 0
    own = _tower(game) if named["name"] == "tower" else {}
    architecture = named | common | own | _observations(game) | settings
    architecture["name"] = f"muzero_{named['name']}"
    header = NetworkHeader.for_game(game, value=_header_value(architecture))
    with seeded(seed):
        return muzero_network(header.replace(architecture=architecture))


def _numbers(game: Game, config: MuZeroConfig) -> dict[str, Any]:
    """The output formats of values and rewards."""
    bounds = (float(game.value_range[0]), float(game.value_range[1]))
    known = all(map(math.isfinite, bounds))
    value = config.value_kind
    if value == "auto":
        two = game.num_players == 2 and game.zero_sum
        value = "wdl" if two and bounds == (-1.0, 1.0) else "scalar" if known else "categorical"
    single = game.num_players == 1 or game.zero_sum
    return {
        "value_kind": value,
        "reward_kind": value if config.reward_kind == "auto" else config.reward_kind,
        "support": config.support,
        "outputs": 1 if single else game.num_players,
        "value_range": bounds if known and value == "scalar" else None,
    }


def _header_value(architecture: dict[str, Any]) -> ValueKind:
    """The header's value kind, for the value of `MuZeroNetwork.forward`."""
    if architecture["outputs"] > 1:
        return "seats"
    return "wdl" if architecture["value_kind"] == "wdl" else "scalar"


def _is_image(game: Game) -> bool:
    shape = game.observation().shape
    bytes_only = game.encoding is None and game.observation().dtype == np.uint8
    return bytes_only and len(shape) in (2, 3) and min(shape[-2:]) >= IMAGE


def _observations(game: Game) -> dict[str, Any]:
    return {"scale": 255.0} if _is_image(game) else {}


def _tower(game: Game) -> dict[str, Any]:
    """The encoding of actions for towers, and the treatment of images."""
    shape = seen_shape(game)
    if _is_image(game):
        return {"image": True, "actions": "filled"}
    height, width = shape[-2:] if len(shape) in (2, 3) else (1, 1)
    chess = game.encoding is not None
    kind = action_kind(game.num_actions, height, width, chess=chess)
    return {"actions": kind, "turns": chess}
