"""One game with its search results: the unit of the replay.

A record has all actions from the first state, including those of chance, so every position can be
rebuilt from the rules. Games in Python, whose rules are slow, also store their observations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GameRecord"]


@dataclass(frozen=True, eq=False)
class GameRecord:
    """T plies by S seats. A ply is one action, of a seat or of chance."""

    actions: NDArray[np.int32]
    """`[T]` the game's action numbers."""
    seats: NDArray[np.int8]
    """`[T]` the seat that chose; -1 is chance."""
    policy_offsets: NDArray[np.int64]
    """`[T + 1]` ply t has the legal actions `policy_actions[offsets[t]:offsets[t + 1]]`; none if it
    was not searched (openings, chance): such plies are not trained on."""
    policy_actions: NDArray[np.int32]
    """Legal actions of all searched plies, one after another."""
    policy: NDArray[np.float32]
    """The target probability of each; they sum to 1 within a ply."""
    values: NDArray[np.float32]
    """`[T, S]` the root's value per seat; zeros if not searched."""
    weights: NDArray[np.float32]
    """`[T]` weight of the policy target: 0 after a fast search, else 1."""
    surprise: NDArray[np.float32]
    """`[T]` policy surprise in nats: KL(target || the network's prior)."""
    returns: NDArray[np.float32]
    """`[S]` the final returns, also at a move limit or a resignation."""
    rewards: NDArray[np.float32] | None = None
    """`[T, S]` reward of each ply; None if the game has none."""
    observations: NDArray[Any] | None = None
    """`[T, ...]` for the seat to move (zeros for chance); None if the rules are native."""
    start: str = ""
    """The first state in the game's notation (a FEN); empty: the default start."""
    ending: str = "end"
    """`end` by the rules, `limit` at the move limit, `resign`, or `labelled` (examples)."""
    step: int = 0
    """The run's step in which the game ended."""
    seed: int = 0
    """Random seed of the game."""
    auxiliary: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    """Auxiliary targets of the game: name to `[T, ...]`."""

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def searched(self) -> NDArray[np.int64]:
        """The searched plies, which can be trained on."""
        return np.flatnonzero(self.policy_offsets[1:] > self.policy_offsets[:-1])

    def legal(self, ply: int) -> NDArray[np.int32]:
        """The legal actions of a searched ply."""
        return self.policy_actions[self.policy_offsets[ply] : self.policy_offsets[ply + 1]]

    def target(self, ply: int) -> NDArray[np.float32]:
        """The policy target over `legal(ply)`."""
        return self.policy[self.policy_offsets[ply] : self.policy_offsets[ply + 1]]
