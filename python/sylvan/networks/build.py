"""Build networks by name: `6x64` is a residual tower, `t4x128` a transformer, `mlp2x256` an MLP,
`suits3x256` a network for cards.

A name is an architecture, a depth and a width; every other setting has a default and can be given
by name. The network's header has all settings, and builds the same network again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from sylvan.errors import NetworkError
from sylvan.networks.header import NetworkHeader, ValueKind
from sylvan.networks.heads import policy_kind
from sylvan.networks.mlp import MLP, MLPSettings
from sylvan.networks.network import Network
from sylvan.networks.settings import BodySettings
from sylvan.networks.suits import Suits, SuitsSettings
from sylvan.networks.tower import Tower, TowerSettings
from sylvan.networks.transformer import Transformer, TransformerSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from sylvan.games import Game
    from sylvan.games.encoding import Encoding
    from sylvan.networks.muzero import MuZeroNetwork
    from sylvan.networks.network import Body

__all__ = ["architecture_named", "build_module", "build_network", "seeded"]

_BODIES: dict[str, tuple[Callable[[tuple[int, ...], Any], Body], type[BodySettings]]] = {
    "mlp": (MLP, MLPSettings),
    "suits": (Suits, SuitsSettings),
    "tower": (Tower, TowerSettings),
    "transformer": (Transformer, TransformerSettings),
}

_SIZE = re.compile(r"(mlp|suits|t|)(\d+)x(\d+)")


def architecture_named(size: str) -> dict[str, Any]:
    """The architecture of a name, without settings at their defaults.

    >>> architecture_named("10x128")
    {'name': 'tower', 'blocks': 10, 'channels': 128, 'squeeze': 16, 'pooling_channels': 32}
    """
    match = _SIZE.fullmatch(size)
    if match is None:
        raise NetworkError(
            f"{size!r} is not a network size: write blocks and channels of a residual tower "
            "('6x64'), layers and width of a transformer ('t4x128') or of an MLP ('mlp2x256')."
        )
    kind, depth, width = match[1], int(match[2]), int(match[3])
    if kind == "mlp":
        return {"name": "mlp", "layers": depth, "width": width}
    if kind == "suits":
        return {"name": "suits", "blocks": depth, "width": width}
    if kind == "t":
        heads = max(1, width // 32) if width % 32 == 0 else 1
        transformer = {"name": "transformer", "layers": depth, "width": width, "heads": heads}
        return transformer | {"feed_forward": 2 * width, "activation": "mish"}
    eighth, quarter = max(8, width // 8), max(8, width // 4)
    tower = {"name": "tower", "blocks": depth, "channels": width}
    return tower | {"squeeze": eighth, "pooling_channels": quarter}


def build_network(
    size: str | NetworkHeader,
    *,
    game: Game | None = None,
    value: ValueKind | None = None,
    encoding: Encoding | None = None,
    moves_left: bool = False,
    seed: int | None = None,
    **settings: Any,
) -> Network:
    """A new network with random weights.

    Args:
        size: a name such as `6x64`, or a header, which has everything except the seed.
        game: any state of the game; with a header, the network must fit it.
        value: `wdl`, `scalar` or `seats`; None: the game's default.
        encoding: encoding of observations and actions, if the game has several.
        moves_left: whether to add a moves-left head.
        seed: seed of the weights; None: use PyTorch's generator.
        **settings: other settings of the architecture: see `TowerSettings` and the others.

    :raises NetworkError: a size or setting is unknown, or does not fit the game.

    >>> from sylvan.games import ConnectFour
    >>> network = build_network("2x16", game=ConnectFour(), seed=1)
    >>> output = network(torch.zeros(5, 2, 6, 7))
    >>> tuple(output.policy.shape), tuple(output.value.shape)
    ((5, 7), (5, 3))
    """
    if isinstance(size, NetworkHeader):
        if value is not None or encoding is not None or moves_left or settings:
            raise NetworkError("A header has all settings of a network: give no others.")
        if game is not None:
            size.check(game)
        return _built(size, seed)
    architecture = architecture_named(size) | settings
    if game is None:
        raise NetworkError(f"build_network({size!r}) needs a game: give game=...")
    header = NetworkHeader.for_game(
        game, value=value, encoding=encoding, moves_left=moves_left, architecture=architecture
    )
    if header.value == "seats" and "value_range" not in architecture:
        architecture["value_range"] = _finite(game.network_range)
    return _built(header.replace(architecture=architecture), seed)


def build_module(header: NetworkHeader) -> Network | MuZeroNetwork:
    """A new module of any architecture, including learned models, from a header."""
    from sylvan.networks.muzero import MUZERO, muzero_network

    if header.architecture.get("name") in MUZERO:
        return muzero_network(header)
    return build_network(header)


def _built(header: NetworkHeader, seed: int | None) -> Network:
    architecture = dict(header.architecture)
    name = architecture.pop("name", None)
    if name not in _BODIES:
        known = ", ".join(_BODIES)
        raise NetworkError(
            f"The architecture {name!r} is not one of {known}: build its module yourself and load "
            "the file with load_network(path, module=...)."
        )
    make_body, kind = _BODIES[name]
    settings = kind.read(name, architecture)
    norm = settings.norm if isinstance(settings, TowerSettings) else "fixed"
    with seeded(seed):
        body = make_body(header.observation_shape, settings)
        # Store the head that "auto" chose: the rule may change later.
        policy = policy_kind(header, body.out_shape, settings)
        full = {"name": name} | settings.model_dump(mode="json") | {"policy": policy}
        return Network(header.replace(architecture=full), body, settings, norm)


def _finite(bounds: tuple[float, float]) -> tuple[float, float] | None:
    low, high = map(float, bounds)
    return (low, high) if abs(low) < float("inf") and abs(high) < float("inf") else None


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Seed PyTorch's generator, and restore its state afterwards."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
