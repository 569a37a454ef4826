"""An evaluator of Blob without a network: the card counter plays rounds to their end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sylvan import _native
from sylvan.evaluators import NativeEvaluator

__all__ = ["CardCounter"]


@dataclass(frozen=True)
class CardCounter(NativeEvaluator):
    """Evaluates leaves with the card counter.

    Values: it plays every seat to the end of the round. Priors: its choice, from the view of the
    seat to move, has logit `lean`, all other actions 0. At nodes of `seat` (the searching seat) the
    logit is `own_lean`: that seat will search again, the others play like the card counter.
    """

    lean: float = 1.0
    seat: int | None = None
    own_lean: float = 0.0
    name: ClassVar[str] = "card_counter"
    game: ClassVar[tuple[type, str] | None] = (_native.Blob, "Blob")
