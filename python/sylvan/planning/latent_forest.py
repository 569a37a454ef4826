"""Search many trees over a learned model, one step of the model per simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.games.game import Game
from sylvan.planning.config import SearchConfig
from sylvan.planning.trees import Trees

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

    def replant(self, seats: NDArray[np.int64], legal: NDArray[np.bool_] | None = None) -> None:
        """Replace every tree by a new one: `plant` for thousands of trees.

        :param seats: `[N]` the seat to move at each root
        :param legal: `[N, num_actions]` true where an action is legal; None: all are
        """
        self._native.replant(seats, legal)
        self._states = [None] * len(self)
        self._roots_changed()
