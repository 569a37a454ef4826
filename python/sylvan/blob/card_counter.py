"""Blob without a network: an evaluator that plays rounds to their end with the card counter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sylvan import _native
from sylvan.evaluators import NativeEvaluator

__all__ = ["CardCounter"]


@dataclass(frozen=True)
class CardCounter(NativeEvaluator):
    """Blob without a network: the card counter plays every seat to the end of the round, and its
    choice, made by what the seat to move sees, has a logit of `lean`, all others 0.

    At the nodes of `seat`, if one is named, the logit is `own_lean`: who searches will think again
    when it comes to that, and takes the others to play as they do.
    """

    lean: float = 1.0
    seat: int | None = None
    own_lean: float = 0.0
    name: ClassVar[str] = "card_counter"
    game: ClassVar[tuple[type, str] | None] = (_native.Blob, "Blob")
