"""Several games as columns, which can also be read as records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sylvan.replay.record import GameRecord

__all__ = ["Games"]


@dataclass(frozen=True, eq=False)
class Games(Sequence[GameRecord]):
    """n games with P plies and K entries in the policy targets, by S seats.

    Its items are records, whose arrays are views of the columns; a slice is `Games`.
    """

    plies: NDArray[np.int64]
    """`[n + 1]` game i has the plies `plies[i]:plies[i + 1]`."""
    edges: NDArray[np.int64]
    """`[P + 1]` ply t has the entries `edges[t]:edges[t + 1]` of the policy targets."""
    actions: NDArray[np.int32]
    """`[P]`, as are the next five; see `GameRecord`."""
    seats: NDArray[np.int8]
    values: NDArray[np.float32]
    """`[P, S]`."""
    weights: NDArray[np.float32]
    surprise: NDArray[np.float32]
    policy_actions: NDArray[np.int32]
    """`[K]`."""
    policy: NDArray[np.float32]
    """`[K]`."""
    returns: NDArray[np.float32]
    """`[n, S]`."""
    seeds: NDArray[np.uint64]
    """`[n]`."""
    steps: NDArray[np.int64]
    """`[n]`."""
    endings: list[str]
    """`[n]`."""
    starts: list[str]
    """`[n]`."""
    rewarded: NDArray[np.bool_]
    """`[n]` whether a game has rewards."""
    rewards: NDArray[np.float32] | None = None
    """`[P, S]`; None if no game has rewards."""
    observations: NDArray[Any] | None = None
    """`[P, ...]`; None if the rules are native."""
    auxiliary: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    """Name to `[P, ...]`."""

    @classmethod
    def of(cls, records: Sequence[GameRecord]) -> Games:
        """Join records, of which there is at least one."""
        if isinstance(records, Games):
            return records

        def joined(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(record, name) for record in records])

        rewarded = np.array([record.rewards is not None for record in records])
        seen = [record.observations for record in records]
        return cls(
            plies=_offsets([len(record) for record in records]),
            edges=_offsets(np.concatenate([np.diff(record.policy_offsets) for record in records])),
            actions=joined("actions"),
            seats=joined("seats"),
            values=joined("values"),
            weights=joined("weights"),
            surprise=joined("surprise"),
            policy_actions=joined("policy_actions"),
            policy=joined("policy"),
            returns=np.stack([record.returns for record in records]),
            seeds=np.array([record.seed for record in records], np.uint64),
            steps=np.array([record.step for record in records], np.int64),
            endings=[record.ending for record in records],
            starts=[record.start for record in records],
            rewarded=rewarded,
            rewards=_rewards(records) if rewarded.any() else None,
            observations=None if any(each is None for each in seen) else joined("observations"),
            auxiliary={
                name: np.concatenate([record.auxiliary[name] for record in records])
                for name in records[0].auxiliary
            },
        )

    def __len__(self) -> int:
        return len(self.endings)

    @overload
    def __getitem__(self, index: int) -> GameRecord: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[GameRecord]: ...

    def __getitem__(self, index: int | slice) -> GameRecord | Sequence[GameRecord]:
        chosen = range(len(self))[index]
        if isinstance(chosen, int):
            return self._record(chosen)
        if chosen.step == 1:
            return self._part(chosen.start, chosen.stop)
        return [self._record(number) for number in chosen]

    def _record(self, number: int) -> GameRecord:
        first, end = self.plies[number], self.plies[number + 1]
        own, entries = slice(first, end), slice(self.edges[first], self.edges[end])
        rewards, seen = self.rewards, self.observations
        return GameRecord(
            actions=self.actions[own],
            seats=self.seats[own],
            policy_offsets=self.edges[first : end + 1] - self.edges[first],
            policy_actions=self.policy_actions[entries],
            policy=self.policy[entries],
            values=self.values[own],
            weights=self.weights[own],
            surprise=self.surprise[own],
            returns=self.returns[number],
            rewards=rewards[own] if rewards is not None and self.rewarded[number] else None,
            observations=None if seen is None else seen[own],
            start=self.starts[number],
            ending=self.endings[number],
            step=int(self.steps[number]),
            seed=int(self.seeds[number]),
            auxiliary={name: array[own] for name, array in self.auxiliary.items()},
        )

    def _part(self, first: int, end: int) -> Games:
        """Games `first` to `end`."""
        games, begin, stop = slice(first, end), self.plies[first], self.plies[end]
        own, entries = slice(begin, stop), slice(self.edges[begin], self.edges[stop])
        return Games(
            plies=self.plies[first : end + 1] - begin,
            edges=self.edges[begin : stop + 1] - self.edges[begin],
            actions=self.actions[own],
            seats=self.seats[own],
            values=self.values[own],
            weights=self.weights[own],
            surprise=self.surprise[own],
            policy_actions=self.policy_actions[entries],
            policy=self.policy[entries],
            returns=self.returns[games],
            seeds=self.seeds[games],
            steps=self.steps[games],
            endings=self.endings[games],
            starts=self.starts[games],
            rewarded=self.rewarded[games],
            rewards=None if self.rewards is None else self.rewards[own],
            observations=None if self.observations is None else self.observations[own],
            auxiliary={name: array[own] for name, array in self.auxiliary.items()},
        )


def _offsets(counts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _rewards(records: Sequence[GameRecord]) -> NDArray[np.float32]:
    """The rewards of all records; zeros for records without."""
    paid = [np.zeros_like(r.values) if r.rewards is None else r.rewards for r in records]
    return np.concatenate(paid)
