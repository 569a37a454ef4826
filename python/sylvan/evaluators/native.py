"""Native evaluators: they run inside the core and need no network.

| name | priors | value |
|---|---|---|
| `Uniform` | equal | the middle of the game's range |
| `Rollout` | equal | the mean result of random games, or of games played by a policy |
| `Material` | captures, checks, better squares (chess) | material and piece squares |
| `HashRandom` | random, a function of the position | likewise: to measure the search alone |

`Forest.run` passes their name and parameters (`native_call`) to the core, which then searches
without calling Python. As evaluators of leaves they give the same answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.errors import ConfigError
from sylvan.evaluators.playouts import played_out

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Evaluator, Leaves

__all__ = [
    "HashRandom",
    "Material",
    "NativeCall",
    "NativeEvaluator",
    "Rollout",
    "Uniform",
    "is_flat",
    "native_call",
]

NativeCall: TypeAlias = tuple[str, dict[str, Any]]
"""The name and parameters of an evaluator of the core."""

Floats = NDArray[np.float32]


class NativeEvaluator:
    """An evaluator of the core: a dataclass whose fields are its parameters."""

    name: ClassVar[str]
    game: ClassVar[tuple[type, str] | None] = None
    """The only game that it evaluates, as a class and in words. None: any game."""
    flat: ClassVar[bool] = False
    """Whether all logits of a leaf are equal; a search over hidden cards then skips them."""

    @property
    def native(self) -> NativeCall | None:
        """Name and parameters for the core. None: it needs Python."""
        return self.name, asdict(self)  # type: ignore[call-overload]

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Return logits of the legal actions `[len(leaves.actions)]`, values `[B, num_players]`."""
        assert self.native is not None
        logits, values = leaves.forest._native.evaluate(*self.native)
        return logits, values.reshape(len(leaves), -1)


@dataclass(frozen=True)
class Uniform(NativeEvaluator):
    """Equal priors; the value is the middle of the game's range."""

    name: ClassVar[str] = "uniform"
    flat: ClassVar[bool] = True


@dataclass(frozen=True)
class HashRandom(NativeEvaluator):
    """Random logits and values, a function of the position."""

    name: ClassVar[str] = "hash_random"


@dataclass(frozen=True)
class Rollout(NativeEvaluator):
    """Equal priors; the value is the mean result of `playouts` games of at most `max_length` steps.

    `policy` plays them: `"random"`, a policy that the game knows by name (Blob: `"rule"`,
    `"counter"`), or a Python function `(state, rng) -> action`. In a game with hidden information
    the state is a sampled deal; the function should read only what the seat to move may see. A game
    that is cut off counts as the middle of the game's range.
    """

    playouts: int = 1
    max_length: int = 1000
    policy: str | Callable[[Any, _native.Rng], int] = "random"
    name: ClassVar[str] = "rollout"
    flat: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for setting, number in (("playouts", self.playouts), ("max_length", self.max_length)):
            if number < 1:
                raise ConfigError(f"{setting} is {number}: it must be at least 1.")

    @property
    def native(self) -> NativeCall | None:
        """Name and parameters for the core. None: the policy is a Python function."""
        return None if callable(self.policy) else super().native

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Return logits of the legal actions `[len(leaves.actions)]`, values `[B, num_players]`."""
        if not callable(self.policy):
            return super().__call__(leaves)
        values = played_out(leaves, self.policy, self.playouts, self.max_length)
        return np.zeros(len(leaves.actions), np.float32), values


@dataclass(frozen=True)
class Material(NativeEvaluator):
    """Chess without a network: material, piece squares, captures and checks."""

    name: ClassVar[str] = "material"
    game: ClassVar[tuple[type, str] | None] = (_native.Chess, "chess")


def native_call(evaluator: Evaluator) -> NativeCall | None:
    """Name and parameters of an evaluator that the core can run; None if only Python can.

    >>> native_call(Rollout(playouts=2))
    ('rollout', {'playouts': 2, 'max_length': 1000, 'policy': 'random'})
    """
    return evaluator.native if isinstance(evaluator, NativeEvaluator) else None


def is_flat(evaluator: Evaluator) -> bool:
    """Whether an evaluator is known to give equal logits to all actions of a leaf."""
    return isinstance(evaluator, NativeEvaluator) and evaluator.flat
