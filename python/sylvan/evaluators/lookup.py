"""Find the evaluator that a name, a network's path or a game's default stands for.

Other rooms and packages register evaluators by name (`sylvan.registry`, group `evaluators`):
`card_counter` plays Blob.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, overload

from sylvan import registry
from sylvan.errors import ConfigError
from sylvan.evaluators.loading import is_network, load_evaluator
from sylvan.evaluators.native import HashRandom, Material, NativeEvaluator, Rollout, Uniform
from sylvan.evaluators.protocol import name_of
from sylvan.evaluators.shipped import Shipped

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Evaluator, EvaluatorLike
    from sylvan.games import Game

__all__ = ["evaluator_for", "evaluator_named", "evaluator_names", "fallback_for"]

_BUILT_IN: dict[str, Callable[[], Evaluator]] = {
    kind.name: kind for kind in (Uniform, Rollout, Material, HashRandom, Shipped)
}


def evaluator_names() -> list[str]:
    """List the names of all evaluators, those of other packages last."""
    return list(dict.fromkeys([*_BUILT_IN, *registry.names("evaluators")]))


@overload
def evaluator_named(evaluator: EvaluatorLike) -> Evaluator: ...


@overload
def evaluator_named(evaluator: EvaluatorLike | None) -> Evaluator | None: ...


def evaluator_named(evaluator: EvaluatorLike | None) -> Evaluator | None:
    """Return the evaluator with a name, or from a network's path; return any other as it is.

    :raises ConfigError: the name is unknown, or the object cannot be called.
    """
    if evaluator is None:
        return None
    if isinstance(evaluator, str | PathLike):
        return _from_text(evaluator)
    if isinstance(evaluator, type) or not callable(evaluator):
        raise ConfigError(
            f"evaluator is {evaluator!r}: give a function from leaves to logits and values, or the "
            "name of an evaluator."
        )
    return evaluator


def _from_text(name: str | PathLike[str]) -> Evaluator:
    if isinstance(name, str) and name in _BUILT_IN:
        return _BUILT_IN[name]()
    if is_network(name):
        network: Evaluator = load_evaluator(name)
        return network
    kind: Callable[[], Evaluator] | None = registry.find("evaluators", str(name))
    if kind is None:
        raise ConfigError(
            f"There is no evaluator {str(name)!r}: use one of {', '.join(evaluator_names())}, or a "
            "network's file."
        )
    return kind()


def evaluator_for(game: Game, evaluator: EvaluatorLike | None) -> Evaluator:
    """Return the evaluator for a search of `game`; None stands for the game's default.

    `shipped` becomes the network of the game.

    :raises ConfigError: the name is unknown, or the evaluator is for another game.
    """
    if evaluator is None:
        # A class may be a game without this attribute.
        default: EvaluatorLike = getattr(game, "default_evaluator", Rollout.name)
        if default == Shipped.name:
            return Shipped().of_or(game, fallback_for(game))
        evaluator = default
    found = evaluator_named(evaluator)
    if isinstance(found, Shipped):
        return found.of(game)
    only = found.game if isinstance(found, NativeEvaluator) else None
    if only is not None and not isinstance(game, only[0]):
        raise ConfigError(
            f"The evaluator {name_of(found)!r} knows only {only[1]}, not {type(game).__name__}: "
            "use 'rollout', 'uniform' or a function of your own."
        )
    return found


def fallback_for(game: Game) -> Evaluator:
    """Return the evaluator that needs no file, for a game whose default is a network."""
    name: EvaluatorLike = getattr(game, "fallback_evaluator", Rollout.name)
    return evaluator_named(name)
