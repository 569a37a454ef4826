"""A batch of leaves of many games, in memory that later batches reuse.

Evaluators read it as they read the leaves of a forest. Observations, seats, offsets and tickets are
views of the batch's memory: they are valid until the batch is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan._native import Forest as NativeForest
from sylvan.errors import SearchStateError
from sylvan.evaluators.protocol import BatchMemory
from sylvan.games.game import Game
from sylvan.games.optional import num_logits_of, seat_values_of
from sylvan.planning import SearchConfig
from sylvan.planning.leaves import CheckedLeaves, evaluated_range

__all__ = ["BatchLeaves", "Played"]

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Played:
    """The played game, as evaluators read a `LeavesForest`."""

    first: Game
    config: SearchConfig
    num_players: int
    num_actions: int
    num_logits: int
    """Outputs of a policy."""
    one_value: bool
    """Whether one value per leaf, for the seat to move, is enough."""
    value_range: tuple[float, float]
    """The least and the greatest value that an evaluator may give."""
    seat_values: Callable[[NDArray[Any]], NDArray[Any]] | None
    """Convert a network's values `[B, num_players]` to the game's payments; None: equal."""

    @classmethod
    def of(cls, first: Game, config: SearchConfig) -> Played:
        """Read the facts of a game from its first state."""
        low, high = map(float, first.value_range)
        return cls(
            first,
            config,
            first.num_players,
            first.num_actions,
            num_logits_of(first),
            first.num_players == 1 or (first.num_players == 2 and bool(first.zero_sum)),
            evaluated_range((low, high), config),
            seat_values_of(first),
        )

    @property
    def states(self) -> Sequence[Game]:
        """The first state; the others stay in the actors."""
        return [self.first]

    @property
    def _native(self) -> NativeForest:
        """A native evaluator needs positions."""
        raise SearchStateError(
            "The positions of these leaves stay in the actors: give the native evaluator itself to "
            "play()."
        )


class BatchLeaves(CheckedLeaves):
    """A batch of B leaves with L legal actions; `answer` writes its evaluation."""

    def __init__(self, played: Played, arrays: Arrays, rows: int, legal: int) -> None:
        """Show the first `rows` rows of a batch's arrays.

        `trees` are the rows' numbers: every leaf has a tree of its own.
        """
        super().__init__(
            played,
            (
                np.arange(rows),
                arrays["seats"][:rows],
                arrays["offsets"][: rows + 1],
                arrays["actions"][:legal],
                arrays["tickets"][:rows],
            ),
        )
        self.forest = played
        self.memory = BatchMemory(
            arrays["observations"][:rows],
            self.offsets,
            arrays["indices"][:legal],
            arrays["logits"][:legal],
        )
        """For evaluators that read and write in place."""
        self._values = arrays["values"][:rows]

    @property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` what the seat to move sees, per leaf."""
        return self.memory.observations

    @cached_property
    def logit_indices(self) -> NDArray[np.int64]:
        """`[L]` the index of each legal action's logit in a row of the policy."""
        return self.memory.indices.astype(np.int64)

    def state(self, leaf: int) -> Game:
        """Positions are not available: they stay in the actors."""
        raise SearchStateError(
            f"The position of leaf {leaf} stays in its actor: evaluate observations, or use a "
            "native evaluator."
        )

    def answer(self, policy: ArrayLike, values: ArrayLike) -> None:
        """Write logits and values, in the forms of `Forest.update`, into the batch's memory.

        :raises EvaluationError: their shape is wrong, or a value is not finite or out of range.
        """
        logits, per_seat = self.checked(policy, values)
        if logits.ndim == 2:
            rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
            logits = logits[rows, self.logit_indices]
        own = self.memory.logits
        if logits.ctypes.data != own.ctypes.data:  # they were not written in place
            own[...] = logits
        self._values[...] = per_seat.reshape(self._values.shape)
