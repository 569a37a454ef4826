"""A batch of leaves of many games, in memory that is used again for later batches.

Evaluators read it as they read the leaves of a forest. The arrays are views of the batch's memory:
they hold until the batch is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.errors import EvaluationError, SearchStateError
from sylvan.games.game import Game
from sylvan.planning.leaves import Leaves

__all__ = ["BatchLeaves", "Played"]

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Played:
    """The facts of the played game that evaluators read."""

    num_players: int
    num_actions: int
    num_logits: int
    """Outputs of a policy."""
    one_value: bool
    """Whether one value per leaf, for the seat to move, is enough."""
    seat_values: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None
    """Turns a network's values `[B, num_players]` into those that are backed up."""

    @classmethod
    def of(cls, game: Game) -> Played:
        """Read the facts of a game."""
        return cls(
            game.num_players,
            game.num_actions,
            getattr(game, "num_logits", game.num_actions),
            game.num_players == 1 or (game.num_players == 2 and bool(game.zero_sum)),
            getattr(game, "seat_values", None),
        )


class BatchLeaves(Leaves):
    """A batch of B leaves with L legal actions; `answer` writes its evaluation."""

    def __init__(self, played: Played, arrays: Arrays, rows: int, legal: int) -> None:
        """Show the first `rows` rows of a batch's arrays."""
        self.forest = played  # type: ignore[assignment]
        self._arrays, self._rows, self._legal = arrays, rows, legal
        self.seats, self.tickets = arrays["seats"][:rows], arrays["tickets"][:rows]
        self.offsets = arrays["offsets"][: rows + 1]
        self.actions = arrays["actions"][:legal]

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def trees(self) -> NDArray[np.int64]:  # type: ignore[override]
        """`[B]` the rows' numbers: every leaf has a tree of its own."""
        return np.arange(self._rows)

    @property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` what the seat to move sees, per leaf."""
        return self._arrays["observations"][: self._rows]

    @property
    def logit_indices(self) -> NDArray[Any]:
        """`[L]` the index of each legal action's logit in a row of the policy."""
        return self._arrays["indices"][: self._legal]

    def observe(self, out: NDArray[Any]) -> None:
        """Copy `observations` into an array of their shape."""
        seen = self.observations
        if seen.shape != out.shape:
            raise EvaluationError(
                f"The observations have shape {seen.shape}: they do not fit into {out.shape}, what "
                "the network takes."
            )
        out[...] = seen

    def state(self, leaf: int) -> Game:
        """Positions are not available: they stay in the actors."""
        raise SearchStateError(
            f"The position of leaf {leaf} stays in its actor: evaluate observations, or use a "
            "native evaluator."
        )

    def answer(self, policy: ArrayLike, values: ArrayLike) -> None:
        """Write logits and values, in the forms of `Forest.update`, into the batch's memory.

        :raises EvaluationError: their shape is wrong, or a value is not finite.
        """
        logits, per_seat = self.checked(policy, values)
        if logits.ndim == 2:
            rows = np.repeat(np.arange(self._rows), np.diff(self.offsets))
            logits = logits[rows, self.logit_indices]
        self._arrays["logits"][: self._legal] = logits
        out = self._arrays["values"][: self._rows]
        out[...] = per_seat.reshape(out.shape)
