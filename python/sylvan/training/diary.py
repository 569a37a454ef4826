"""What was played in many games side by side, round by round, until a game's plies are wanted.

A round is one ply in some of N games. Rounds lie in preallocated columns `[rounds, N]`, so that
noting a round and taking a game out of them are a few array operations, however many games there
are; legal actions and policies, of which every ply has another number, lie in one stretch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.training.plies import Plies

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
            end = self._used + len(policy)
            while end > len(self._policy):
                self._policy = np.resize(self._policy, 2 * len(self._policy))
                self._policy_actions = np.resize(self._policy_actions, len(self._policy))
            self._policy[self._used : end] = policy
            self._policy_actions[self._used : end] = policy_actions
            self._fixed["counts"][row] = np.diff(offsets)
            self._fixed["first"][row] = self._used + offsets[:-1]
            self._used = end
        self.rounds += 1

    def game(self, game: int) -> Plies:
        """The plies of a game since it began."""
        rows: Any = slice(self._since[game], self.rounds)
        present = self._fixed["present"][rows, game]
        if not present.all():
            rows = self._since[game] + np.flatnonzero(present)
        taken = {name: column[rows, game] for name, column in self._fixed.items()}
        counts, first = taken["counts"], taken.pop("first")
        del taken["present"]
        ends = np.cumsum(counts)
        places = np.repeat(first - (ends - counts), counts) + np.arange(
            ends[-1] if len(ends) else 0
        )
        return Plies(
            policy_actions=self._policy_actions[places],
            policy=self._policy[places],
            **{name: np.array(column) for name, column in taken.items()},
        )

    def _make_room(self) -> None:
        """Forget rounds that no game needs any more; double the room if that is not enough."""
        old = int(self._since.min())
        kept = self.rounds - old
        room = len(self._fixed["present"]) * (2 if kept > self.rounds // 2 else 1)
        for name, column in self._fixed.items():
            moved = np.zeros((room, *column.shape[1:]), column.dtype)
            moved[:kept] = column[old : self.rounds]
            self._fixed[name] = moved
        first = self._fixed["first"]
        searched = self._fixed["counts"][:kept] > 0
        cut = int(first[:kept][searched].min()) if searched.any() else self._used
        first[:kept] -= np.where(searched, cut, first[:kept])
        self._policy[: self._used - cut] = self._policy[cut : self._used].copy()
        self._policy_actions[: self._used - cut] = self._policy_actions[cut : self._used].copy()
        self._used -= cut
        self._since -= old
        self.rounds = kept
