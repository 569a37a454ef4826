"""Start from another network's weights: a file, or the best network of another run."""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from typing import Any

from torch import nn

from sylvan.errors import NetworkError
from sylvan.evaluators.loading import network_file
from sylvan.networks.checkpoint import load_tensors, read_checkpoint, read_header
from sylvan.networks.header import needed_header

__all__ = ["network_like", "params_like", "warm_start"]

_SIZES = {
    "tower": ("", "blocks", "channels"),
    "mlp": ("mlp", "layers", "width"),
    "suits": ("suits", "blocks", "width"),
    "transformer": ("t", "layers", "width"),
    "muzero_mlp": ("mlp", "layers", "width"),
    "muzero_tower": ("", "blocks", "channels"),
}
"""Architecture -> how its size is written: a prefix, and two of its settings."""


def warm_start(network: nn.Module, source: str | PathLike[str]) -> None:
    """Copy the weights of another network into a new one.

    :param source: a `.safetensors` file, or a run's folder.
    :raises NetworkError: the source is for another game or encoding, or has another architecture.
    """
    path = network_file(source, "torch")
    header, tensors = read_checkpoint(path)
    own = needed_header(network)
    if header.game != own.game:
        raise NetworkError(
            f"{path} plays {header.game}, not {own.game}: give a network of that game, or omit "
            "--from."
        )
    if header.encoding != own.encoding:
        raise NetworkError(
            f"{path} has the encoding {header.encoding}, but the run's game {own.encoding}: set "
            "game.params.encoder, codec and history_fill to the network's."
        )
    load_tensors(network, tensors, str(path))


def params_like(source: str | PathLike[str]) -> dict[str, Any]:
    """Arguments of a game's class for the encoding of a file, or of a run's best network."""
    encoding = read_header(network_file(source, "torch")).encoding
    return {} if encoding is None else asdict(encoding)


def network_like(source: str | PathLike[str]) -> dict[str, Any]:
    """Settings of the section `network` that match a file, or a run's best network."""
    header = read_header(network_file(source, "torch"))
    architecture = dict(header.architecture)
    name = str(architecture.pop("name", ""))
    if name in _SIZES:
        prefix, depth, width = _SIZES[name]
        size = f"{prefix}{architecture.pop(depth)}x{architecture.pop(width)}"
    else:  # the user's own class
        size = name
    return {
        "size": size,
        # TOML has no null; a setting that is None is None by default.
        "settings": {key: value for key, value in architecture.items() if value is not None},
        "value": header.value,
        "moves_left": header.moves_left,
    }
