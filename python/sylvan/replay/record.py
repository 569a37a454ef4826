"""One game as it was played, and what the search thought of it: the unit of the replay.

All actions are there from the game's first state, those of chance too, so that every position can
be made again from the rules. Games written in Python, whose rules are slow, keep their observations
as well.
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
    """`[T]` as the game counts them."""
    seats: NDArray[np.int8]
    """`[T]` who chose; -1 is chance."""
    policy_offsets: NDArray[np.int64]
    """`[T + 1]` ply t has the legal actions `policy_actions[offsets[t]:offsets[t + 1]]`; none where
    nothing was searched (openings, chance), so that those plies are not learned from."""
    policy_actions: NDArray[np.int32]
    """Legal actions of all searched plies, one after another."""
    policy: NDArray[np.float32]
    """The target's probability of each of them; adds up to 1 in a ply."""
    values: NDArray[np.float32]
    """`[T, S]` the root's value per seat; zeros where nothing was searched."""
    weights: NDArray[np.float32]
    """`[T]` how much the policy target counts: 0 after a fast search, else 1."""
    surprise: NDArray[np.float32]
    """`[T]` nats by which the target differs from the network's prior, KL(target || prior)."""
    returns: NDArray[np.float32]
    """`[S]` what the end paid, or what was agreed at a move limit or a resignation."""
    rewards: NDArray[np.float32] | None = None
    """`[T, S]` what each step paid; None where none did."""
    observations: NDArray[Any] | None = None
    """`[T, ...]` what the seat to move saw (zeros for chance); None where rules are native."""
    start: str = ""
    """The first state: empty for the game's own, else its notation (a FEN)."""
    ending: str = "end"
    """`end` by the rules, `limit` at the move limit, `resign`, or `labelled` by somebody else."""
    step: int = 0
    """The run's step in which the game ended."""
    seed: int = 0
    """Of the game."""
    auxiliary: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    """Further targets that the game offers: name to `[T, ...]`."""

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def searched(self) -> NDArray[np.int64]:
        """The plies that can be learned from."""
        return np.flatnonzero(self.policy_offsets[1:] > self.policy_offsets[:-1])

    def legal(self, ply: int) -> NDArray[np.int32]:
        """The legal actions of a searched ply."""
        return self.policy_actions[self.policy_offsets[ply] : self.policy_offsets[ply + 1]]

    def target(self, ply: int) -> NDArray[np.float32]:
        """The policy target over `legal(ply)`."""
        return self.policy[self.policy_offsets[ply] : self.policy_offsets[ply + 1]]
