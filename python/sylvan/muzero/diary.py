"""What was played in many games side by side, round by round, until a game's plies are wanted.

A round is one ply in some of N games. Rounds lie in preallocated columns `[rounds, N]`, so that
noting a round and taking a game out of them are a few array operations, however many games there
are; legal actions and policies, of which every ply has another number, lie in one stretch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.muzero.plies import Plies

__all__ = ["Diary"]

ROUNDS = 64
"""Rounds that there is room for at first."""


class Diary:
    """Rounds of N games of S seats; `games[i]` begins at its own round."""

    def __init__(self, games: int, seats: int, observation: NDArray[Any] | None = None) -> None:
        """An empty diary; `observation` is an example of one where they are kept."""
        self.rounds = 0
        self._fixed: dict[str, NDArray[Any]] = {
            "present": np.zeros((ROUNDS, games), bool),
            "actions": np.zeros((ROUNDS, games), np.int32),
            "seats": np.zeros((ROUNDS, games), np.int8),
            "counts": np.zeros((ROUNDS, games), np.int32),
            "first": np.zeros((ROUNDS, games), np.int64),
            "values": np.zeros((ROUNDS, games, seats), np.float32),
            "weights": np.zeros((ROUNDS, games), np.float32),
            "surprise": np.zeros((ROUNDS, games), np.float32),
            "rewards": np.zeros((ROUNDS, games, seats), np.float32),
        }
        if observation is not None:
            shape = (ROUNDS, games, *observation.shape)
            self._fixed["observations"] = np.zeros(shape, observation.dtype)
        self._used = 0
        self._policy_actions = np.zeros(ROUNDS * games, np.int32)
        self._policy = np.zeros(ROUNDS * games, np.float32)
        self._since = np.zeros(games, np.int64)

    def begin(self, game: int) -> None:
        """The next round is the first of a game."""
        self._since[game] = self.rounds

    def add(
        self,
        *,
        offsets: NDArray[np.int64] | None = None,
        policy_actions: NDArray[np.int32] | None = None,
        policy: NDArray[np.float32] | None = None,
        **columns: Any,
    ) -> None:
        """Note a round: arrays `[N, ...]` by the names of `Plies`, and `present`; what is left
        out is zero. `offsets` `[N + 1]` says which of the legal actions are whose.
        """
        if self.rounds == len(self._fixed["present"]):
            self._make_room()
        row = self.rounds
        for name, column in self._fixed.items():
            column[row] = columns.get(name, name == "present")
        if offsets is not None and policy_actions is not None and policy is not None:
            self._fixed["counts"][row] = np.diff(offsets)
            self._fixed["first"][row] = self._used + offsets[:-1]
            self._append(policy_actions, policy)
        self.rounds += 1

    def take(self, games: NDArray[np.int64]) -> tuple[NDArray[np.int64], Plies]:
        """The plies of some games since they began: how many each has, and all in one stretch."""
        rounds = np.arange(self.rounds)[:, None]
        present = self._fixed["present"][: self.rounds, games] & (rounds >= self._since[games])
        which, rows = np.nonzero(present.T)  # game after game
        columns = games[which]
        taken = {name: column[rows, columns] for name, column in self._fixed.items()}
        counts, first = taken["counts"], taken.pop("first")
        del taken["present"]
        ends = np.cumsum(counts, dtype=np.int64)
        places = np.repeat(first - (ends - counts), counts)
        places += np.arange(len(places))
        policy_actions, policy = self._policy_actions[places], self._policy[places]
        plies = Plies(policy_actions=policy_actions, policy=policy, **taken)
        return present.sum(axis=0), plies

    def put(self, lengths: NDArray[np.int64], plies: Plies) -> None:
        """Begin with what `take` gave of all games: they end together, at the last round so far."""
        while len(self._fixed["present"]) <= lengths.max():
            self._widen(2 * len(self._fixed["present"]))
        self.rounds = int(lengths.max())
        self._since[:] = self.rounds - lengths
        games = np.repeat(np.arange(len(lengths)), lengths)
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows = self._since[games] + np.arange(len(plies)) - starts
        for name, column in self._fixed.items():
            if name == "present":
                column[rows, games] = True
            elif name == "first":
                column[rows, games] = plies.offsets[:-1]
            else:
                column[rows, games] = getattr(plies, name)
        self._used = 0
        self._append(plies.policy_actions, plies.policy)

    def _append(self, actions: NDArray[np.int32], policy: NDArray[np.float32]) -> None:
        end = self._used + len(policy)
        if end > len(self._policy):
            room = max(end, 2 * len(self._policy))
            self._policy = np.resize(self._policy, room)
            self._policy_actions = np.resize(self._policy_actions, room)
        self._policy[self._used : end] = policy
        self._policy_actions[self._used : end] = actions
        self._used = end

    def _widen(self, rounds: int) -> None:
        """Make room for so many rounds."""
        for name, column in self._fixed.items():
            self._fixed[name] = np.zeros((rounds, *column.shape[1:]), column.dtype)
            self._fixed[name][: self.rounds] = column[: self.rounds]

    def _make_room(self) -> None:
        """Forget rounds that no game needs any more; double the room if that is not enough."""
        old = int(self._since.min())
        kept = self.rounds - old
        for column in self._fixed.values():
            column[:kept] = column[old : self.rounds].copy()
        first, searched = self._fixed["first"][:kept], self._fixed["counts"][:kept] > 0
        cut = int(first[searched].min()) if searched.any() else self._used
        first[searched] -= cut
        for column in (self._policy, self._policy_actions):
            column[: self._used - cut] = column[cut : self._used].copy()
        self._used -= cut
        self._since -= old
        self.rounds = kept
        if kept > len(self._fixed["present"]) // 2:
            self._widen(2 * len(self._fixed["present"]))
