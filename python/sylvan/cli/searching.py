"""Options shared by the commands that search: the evaluator, and settings by name."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.evaluators import EvaluatorLike
    from sylvan.games import Game

__all__ = ["EvaluatorName", "evaluator_of", "has_limit", "is_network", "search_settings"]

CACHE = 64 * 2**20
"""Size of the evaluation cache in bytes."""


class EvaluatorName(StrEnum):
    shipped = "shipped"
    material = "material"
    rollout = "rollout"
    uniform = "uniform"


def evaluator_of(net: Path | None, name: EvaluatorName | None) -> EvaluatorLike | None:
    """Load the network of a file or the named evaluator; None is the game's default."""
    if net is None:
        return None if name is None else name.value
    if name is not None:
        raise ConfigError(f"--net {net} and --evaluator {name.value} contradict: give one of them.")
    from sylvan.evaluators import load_evaluator

    return load_evaluator(net, cache_bytes=CACHE)


def is_network(game: Game, net: Path | None, name: EvaluatorName | None) -> bool:
    """Return whether these options, or the default of a game, stand for a network."""
    from sylvan.evaluators import shipped_network

    if net is not None or name is not None:
        return net is not None or name is EvaluatorName.shipped
    return game.default_evaluator == "shipped" and shipped_network(game) is not None


def search_settings(texts: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """Merge the given settings that are not None with the `name=value` pairs of `texts`.

    Numbers, lists, true, false and null are read as in JSON; everything else is text.

    >>> search_settings(["fpu=parent", "proofs=false"], {"seconds": 1.5, "seed": None})
    {'seconds': 1.5, 'fpu': 'parent', 'proofs': False}
    """
    from sylvan.planning.config import ALIASES

    settings = {name: value for name, value in given.items() if value is not None}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"--set {text} has no value: write --set name=value.")
        own = ALIASES.get(name, name)
        if own in settings:
            raise ConfigError(f"{own} is given twice: omit --set {text} or the other one.")
        try:
            settings[own] = json.loads(value)
        except json.JSONDecodeError:
            settings[own] = value
    return settings


def has_limit(settings: dict[str, Any]) -> bool:
    """Return whether the search has a limit other than simulations."""
    return not {"seconds", "nodes", "depth"}.isdisjoint(settings)
