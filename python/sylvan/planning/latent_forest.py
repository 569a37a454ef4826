"""Search many trees over a learned model, one step of the model per simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.games.game import Game
from sylvan.planning.config import SearchConfig
from sylvan.planning.outcomes import Outcomes
from sylvan.planning.trees import Noise, Trees

__all__ = ["Evaluations", "LatentForest", "LatentState", "Steps"]

Floats = NDArray[np.float32]


class LatentState(_native.LatentState, Game):
    """A root: the seat to move and its legal actions. A model predicts the rest."""

    __slots__ = ()


class Steps(NamedTuple):
    """Steps for a learned model to evaluate, `[B]` each; hidden states are rows of an array."""

    parents: NDArray[np.int64]
    """The row of the hidden state before the step; undefined at roots."""
    actions: NDArray[np.int64]
    rows: NDArray[np.int64]
    """The row for the hidden state after the step."""


class Evaluations(NamedTuple):
    """A learned model's evaluations of B steps; K actions per leaf, S seats."""

    policy: Floats
    """`[B, K]` logits."""
    actions: NDArray[np.int64] | None
    """`[B, K]` the actions of the logits, rising in each row; None: all actions."""
    values: Floats
    """`[B]` for the seat to move, or `[B, S]`."""
    rewards: Floats
    """`[B]` for the seat that moved, or `[B, S]`."""
    relative: bool
    """Whether `[B, S]` begins with that seat instead of seat 0."""


class LatentForest(Trees):
    """Trees over a learned model. They store rows of hidden states; the caller keeps the states.

    Each tree needs a row for its root and one per simulation.
    """

    def __init__(self, roots: Sequence[LatentState], config: SearchConfig) -> None:
        """Plant a tree for each root."""
        super().__init__(roots, config)
        self.room = len(roots)
        """The most trees that it can have."""

    def step(self, stride: int, evaluations: Evaluations | None = None) -> Steps | None:
        """Store the evaluations of the last steps, if any, and return the next steps.

        None if the search has ended.

        :param stride: rows of hidden states per tree
        """
        steps = self._native.step(stride, evaluations)
        self.generation += 1
        if steps is None:
            self._ended = True
            self._end()
            return None
        self.batches += 1
        return Steps(*steps)

    def replant(
        self,
        seats: NDArray[np.int64],
        legal: NDArray[np.bool_] | None = None,
        seeds: NDArray[np.uint64] | None = None,
    ) -> None:
        """Replace every tree by a new one: `plant` for thousands of trees.

        With fewer rows than `room`, the forest has so many trees from now on.

        :param seats: `[N]` the seat to move at each root
        :param legal: `[N, num_actions]` true where an action is legal; None: all are
        :param seeds: `[N]` of the random choices in each tree; None: they go on
        """
        self._native.replant(seats, legal, seeds)
        self._states = [None] * len(seats)
        self._roots_changed()

    def begin(self, noise: Noise | None = None) -> None:
        """Start a new search of all trees."""
        super().begin(noise)
        if len(self) < self.room:
            self._native.rest(len(self))

    def outcomes(self) -> Outcomes:
        """The results of all trees in flat arrays."""
        found, count = super().outcomes(), len(self)
        if count == self.room:
            return found
        edges = int(found.offsets[count])
        return Outcomes(
            offsets=found.offsets[: count + 1],
            actions=found.actions[:edges],
            policy=found.policy[:edges],
            visits=found.visits[:edges],
            priors=found.priors[:edges],
            best=found.best[:count],
            seats=found.seats[:count],
            values=found.values[:count],
            surprise=found.surprise[:count],
            simulations=found.simulations[:count],
        )
