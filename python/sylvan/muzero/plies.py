"""Plies in columns: a stretch of a game, before it is over and becomes a `GameRecord`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Plies"]


@dataclass(frozen=True, eq=False)
class Plies:
    """T plies of a game of S seats; as in `GameRecord`, but for `counts` in place of offsets."""

    actions: NDArray[np.int32]
    """`[T]`"""
    seats: NDArray[np.int8]
    """`[T]` -1 is chance."""
    counts: NDArray[np.int32]
    """`[T]` legal actions of a ply that was searched; 0 for others."""
    policy_actions: NDArray[np.int32]
    policy: NDArray[np.float32]
    values: NDArray[np.float32]
    """`[T, S]`"""
    weights: NDArray[np.float32]
    """`[T]`"""
    surprise: NDArray[np.float32]
    """`[T]`"""
    rewards: NDArray[np.float32]
    """`[T, S]`"""
    observations: NDArray[Any] | None = None
    """`[T, ...]`; None where rules are native."""

    def __len__(self) -> int:
        return len(self.actions)

    @classmethod
    def unsearched(
        cls,
        actions: Sequence[int] | NDArray[np.int32],
        seats: Sequence[int] | NDArray[np.int8],
        rewards: NDArray[np.float32],
        observation: NDArray[Any] | None = None,
    ) -> Plies:
        """Plies that nobody thought about: openings, chance. `observation` is an example of one."""
        plies, players = rewards.shape
        seen = None if observation is None else np.zeros((plies, *observation.shape))
        return cls(
            np.asarray(actions, np.int32),
            np.asarray(seats, np.int8),
            np.zeros(plies, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0, np.float32),
            np.zeros((plies, players), np.float32),
            np.zeros(plies, np.float32),
            np.zeros(plies, np.float32),
            rewards,
            None if observation is None else np.asarray(seen, observation.dtype),
        )

    @classmethod
    def joined(cls, stretches: Sequence[Plies]) -> Plies:
        """Some stretches, at least one, one after another."""
        if len(stretches) == 1:
            return stretches[0]
        joined: dict[str, Any] = {
            name: None
            if column is None
            else np.concatenate([getattr(stretch, name) for stretch in stretches])
            for name, column in vars(stretches[0]).items()
        }
        return cls(**joined)

    def part(self, start: int, stop: int) -> Plies:
        """Plies `start` to `stop`, that one excluded, over the same memory."""
        first, end = int(self.counts[:start].sum()), int(self.counts[:stop].sum())
        return self._cut(slice(start, stop), slice(first, end))

    def split(self, lengths: NDArray[np.int64]) -> list[Plies]:
        """Stretches of these lengths, over the same memory."""
        ends = np.cumsum(lengths)
        edges = self.offsets[np.concatenate([[0], ends])].tolist()
        starts = [0, *ends.tolist()]
        return [
            self._cut(slice(starts[i], starts[i + 1]), slice(edges[i], edges[i + 1]))
            for i in range(len(ends))
        ]

    def _cut(self, rows: slice, legal: slice) -> Plies:
        """Some plies, whose legal actions are these."""
        return Plies(
            self.actions[rows],
            self.seats[rows],
            self.counts[rows],
            self.policy_actions[legal],
            self.policy[legal],
            self.values[rows],
            self.weights[rows],
            self.surprise[rows],
            self.rewards[rows],
            None if self.observations is None else self.observations[rows],
        )

    def then(self, later: Plies) -> Plies:
        """These plies and those that followed."""
        return Plies.joined([each for each in (self, later) if len(each)] or [self])

    @property
    def offsets(self) -> NDArray[np.int64]:
        """`[T + 1]` where the legal actions of each ply begin."""
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.counts, out=offsets[1:])
        return offsets
