"""The contract of learned models: two methods, each over a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from sylvan.errors import EvaluationError
from sylvan.planning.model_arrays import Array

__all__ = ["LatentModel", "ModelAnswer", "ModelOutput", "checked_output"]


class ModelOutput(NamedTuple):
    """A model's output for a batch of B positions; A actions, S seats."""

    value: Array
    """The future return: `[B]` for the seat to move (one seat, or two of a zero-sum game), or
    `[B, S]` in seat order; in a `relative` search from the seat to move on."""
    reward: Array
    """The reward of the last step: `[B]` for the seat that moved (one seat, or two of a zero-sum
    game), or `[B, S]` in seat order; in a `relative` search from that seat on. Ignored at roots."""
    policy: Array
    """`[B, A]` logits; -inf: the action does not exist."""
    hidden: Array
    """`[B, ...]`"""


ModelAnswer: TypeAlias = ModelOutput | Sequence[Array]
"""A `ModelOutput`, or its four arrays in this order."""


class LatentModel(Protocol):
    """A learned model."""

    def initial_inference(self, observations: Array, /) -> ModelAnswer:
        """Evaluate observations `[B, ...]`."""

    def recurrent_inference(self, hidden: Array, actions: Array, /) -> ModelAnswer:
        """Evaluate the steps `actions` `[B]` from hidden states `[B, ...]`."""


def checked_output(answer: ModelAnswer, method: str) -> ModelOutput:
    """A model's answer with names.

    :raises EvaluationError: it does not have four parts.
    """
    if not isinstance(answer, tuple | list) or len(answer) != 4:
        raise EvaluationError(
            f"{method}() gave a {type(answer).__name__}: it must give value, reward, policy logits "
            "and hidden state."
        )
    return ModelOutput(*answer)
