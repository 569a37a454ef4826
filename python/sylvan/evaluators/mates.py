"""Short mates beside a network: facts that its priors may hide.

A network that gives a mating move a prior of 0.2 % hides it for hundreds of simulations. The core
finds short forced mates in microseconds (`chess/mates.rs` says which), so it looks for one in every
leaf. Where it finds one, the mating move gets nearly the whole prior, and the leaf the value of a
win. The search then proves the mate in the tree, by the rules.

The root of a search gets more time than other leaves. The answer depends on the position alone, so
searches stay reproducible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.evaluators.protocol import Evaluator, encoding_of, name_of

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves
    from sylvan.games.encoding import Encoding

__all__ = ["MateFinder"]

Floats = NDArray[np.float32]

BUDGETS = {"budget": 500, "root_budget": 20_000}
"""Positions to look at for a leaf, and for the root of a search: about 20 µs, and 2 ms."""
LEAD = np.float32(10)
"""The mating move's logit, above the highest other one: 200 moves share less than 1 % then."""


class MateFinder:
    """An evaluator of chess that also knows short mates.

    Other attributes, such as `header`, `infer` and `preferred_batch`, are the evaluator's.

    :param evaluator: a network's evaluator, with or without a cache.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    @property
    def name(self) -> str:
        """The evaluator's name."""
        return name_of(self.evaluator)

    @property
    def encoding(self) -> Encoding | None:
        """The evaluator's encoding."""
        return encoding_of(self.evaluator)

    def __getattr__(self, name: str) -> Any:
        """Any other attribute of the evaluator."""
        # `evaluator` is missing while an object is copied; the others would bypass the mates.
        if name in ("evaluator", "submit", "collect"):
            raise AttributeError(name)
        return getattr(self.evaluator, name)

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Return logits of the legal actions and values, with the mates that were found."""
        policy, values = (np.asarray(each, np.float32) for each in self.evaluator(leaves))
        if not isinstance(leaves.forest.states[0], _native.Chess):
            return policy, values
        if policy.ndim == 2:
            rows = np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets))
            policy = policy[rows, leaves.logit_indices]
        marks, wins = leaves.forest._native.evaluate("mates", BUDGETS)
        wins = wins.reshape(len(leaves), -1)
        mated = np.flatnonzero(wins[:, 0])
        if len(mated):
            policy, values = policy.copy(), values.copy()
        for leaf in mated:
            legal = slice(leaves.offsets[leaf], leaves.offsets[leaf + 1])
            policy[legal] += marks[legal] * (np.ptp(policy[legal]) + LEAD)
            values[leaf] = wins[leaf] if values.ndim == 2 and values.shape[1] > 1 else 1.0
        return policy, values

    def __repr__(self) -> str:
        return f"MateFinder({self.evaluator!r})"
