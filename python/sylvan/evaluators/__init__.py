"""Evaluators: what turns leaves into policy logits and values.

An evaluator is any function from `Leaves` to a pair (logits, values) as `Forest.update` takes
them. Those with a name are built in and need no network: they run inside Rust, without Python.

| name | priors | value |
|---|---|---|
| `Uniform`  | equal | the middle of the game's range |
| `Rollout`  | equal | the mean result of games played at random, or by a policy |
| `Material` | captures, checks, better squares (chess) | material and piece squares |
| `HashRandom` | random, fixed by the position | likewise: for measuring the search alone |

Other rooms and packages register more (`sylvan.registry`, group `evaluators`): `card_counter` plays
Blob.

Those that ask a network come from its file by `load_evaluator`, on ONNX Runtime (`OnnxEvaluator`)
or PyTorch; `Cached` remembers what another one said. `Shipped` asks a network that comes with
Sylvan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sylvan import _native, registry
from sylvan.errors import ConfigError
from sylvan.evaluators.cached import Cached
from sylvan.evaluators.loading import is_network, load_evaluator
from sylvan.evaluators.network import Inference, NetworkEvaluator
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.evaluators.playouts import played_out
from sylvan.evaluators.shipped import Shipped, shipped_network
from sylvan.moved import forward_name

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = [
    "Cached",
    "HashRandom",
    "Inference",
    "Material",
    "NativeEvaluator",
    "NetworkEvaluator",
    "OnnxEvaluator",
    "Rollout",
    "Shipped",
    "Uniform",
    "evaluator_for",
    "evaluator_named",
    "load_evaluator",
    "shipped_network",
]

Answer = tuple[NDArray[np.float32], NDArray[np.float32]]


class NativeEvaluator:
    """An evaluator that runs inside Rust. Called with leaves, it gives its answer to Python."""

    name: ClassVar[str]
    game: ClassVar[tuple[type, str] | None] = None
    """The only game that it knows, as a class and in words; None: it knows all."""
    flat: ClassVar[bool] = False
    """All logits of a leaf are equal: information-set trees need not ask for them hand by hand."""

    @property
    def native(self) -> tuple[str, dict[str, Any]]:
        """Its name and parameters for the native forest."""
        return self.name, asdict(self)  # type: ignore[call-overload]

    def __call__(self, leaves: Any) -> Answer:
        """Logits of the legal actions `[len(leaves.actions)]` and values `[B, num_players]`."""
        logits, values = leaves.forest._native.evaluate(*self.native)
        return logits, values.reshape(len(leaves), -1)


@dataclass(frozen=True)
class Uniform(NativeEvaluator):
    """Equal priors, and the middle of the game's range as value."""

    name: ClassVar[str] = "uniform"
    flat: ClassVar[bool] = True


@dataclass(frozen=True)
class HashRandom(NativeEvaluator):
    """Random logits and values that are fixed by the position."""

    name: ClassVar[str] = "hash_random"


@dataclass(frozen=True)
class Rollout(NativeEvaluator):
    """Equal priors, and the mean result of `playouts` games of at most `max_length` steps.

    They are played by `policy`: at random, by a policy that the game knows by name (Blob: `"rule"`,
    `"counter"`), or by a function `(state, rng) -> action`, which runs in Python. In a game that
    hides something it is asked in a deal that was drawn, and should look only at what the seat to
    move may see. A game that is cut off counts as the middle of the game's range.
    """

    playouts: int = 1
    max_length: int = 1000
    policy: str | Callable[[Any, _native.Rng], int] = "random"
    name: ClassVar[str] = "rollout"
    flat: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for setting in ("playouts", "max_length"):
            if getattr(self, setting) < 1:
                raise ConfigError(f"{setting} is {getattr(self, setting)}: it must be at least 1.")

    @property
    def native(self) -> Any:
        """None if Python plays."""
        return None if callable(self.policy) else super().native

    def __call__(self, leaves: Any) -> Answer:
        """Logits of the legal actions `[len(leaves.actions)]` and values `[B, num_players]`."""
        if not callable(self.policy):
            return super().__call__(leaves)
        values = played_out(leaves, self.policy, self.playouts, self.max_length)
        return np.zeros(len(leaves.actions), np.float32), values


@dataclass(frozen=True)
class Material(NativeEvaluator):
    """Chess without a network: material, piece squares, captures and checks."""

    name: ClassVar[str] = "material"
    game: ClassVar[tuple[type, str] | None] = (_native.Chess, "chess")


_NAMED: dict[str, Any] = {
    kind.name: kind for kind in (Uniform, Rollout, Material, HashRandom, Shipped)
}


def evaluator_named(evaluator: Any) -> Any:
    """An evaluator from its name or a network's file; a function or None as it is."""
    if isinstance(evaluator, str | PathLike):
        if evaluator in _NAMED:
            return _NAMED[evaluator]()
        if is_network(evaluator):
            return load_evaluator(evaluator)
        kind = registry.find("evaluators", str(evaluator))
        if kind is not None:
            return kind()
        names = ", ".join([*_NAMED, *registry.names("evaluators")])
        raise ConfigError(
            f"There is no evaluator {str(evaluator)!r}: use one of {names}, or a network's file."
        )
    if evaluator is not None and (isinstance(evaluator, type) or not callable(evaluator)):
        raise ConfigError(
            f"evaluate is {evaluator!r}: give a function from leaves to logits and values, or the "
            "name of an evaluator."
        )
    return evaluator


def evaluator_for(game: Game, evaluator: Any) -> Any:
    """The evaluator of a search of `game`, from a name, None or itself."""
    if evaluator is None:
        evaluator = getattr(game, "default_evaluator", Rollout.name)
    evaluator = evaluator_named(evaluator)
    known = evaluator.game if isinstance(evaluator, NativeEvaluator) else None
    if known is not None and not isinstance(game, known[0]):
        raise ConfigError(
            f"The evaluator {evaluator.name!r} knows only {known[1]}, not {type(game).__name__}: "
            "use 'rollout', 'uniform' or a function of your own."
        )
    return evaluator


def __getattr__(name: str) -> Any:
    return forward_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
