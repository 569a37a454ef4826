"""Options shared by the commands that search: the evaluator, and settings by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylvan.cli import completion
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.evaluators import EvaluatorLike
    from sylvan.games import Game

__all__ = ["EvaluatorOption", "evaluator_of", "has_limit", "is_network", "search_settings"]

CACHE = 64 * 2**20
"""Size of the evaluation cache in bytes."""


EvaluatorOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Evaluator of positions: shipped (the network that comes with Sylvan), material, "
        "rollout, uniform, or one of another package.",
        autocompletion=completion.evaluators,
    ),
]


def evaluator_of(net: Path | None, name: str | None) -> EvaluatorLike | None:
    """Load the network of a file or the named evaluator; None is the game's default."""
    from sylvan.evaluators import evaluator_names, load_evaluator

    if net is None:
        if name is not None and name not in evaluator_names():
            raise ConfigError(
                f"There is no evaluator {name!r}: give one of {', '.join(evaluator_names())}; for "
                "a network's file use --net."
            )
        return name
    if name is not None:
        raise ConfigError(f"--net {net} and --evaluator {name} contradict: give one of them.")

    return load_evaluator(net, cache_bytes=CACHE)


def is_network(game: Game, net: Path | None, name: str | None) -> bool:
    """Return whether these options, or the default of a game, stand for a network."""
    from sylvan.evaluators import shipped_network

    if net is not None or name is not None:
        return net is not None or name == "shipped"
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
