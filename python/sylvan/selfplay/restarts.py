"""Positions to start games from: of each earlier game, the one with the largest value error.

Each position is given to one lease. What a lease gets depends only on the games that had ended when
it was planned, never on timing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.replay.record import GameRecord

__all__ = ["Position", "Restarts", "largest_value_error", "packed", "unpacked"]

Position = list[int]
"""The actions that lead to a position."""


class Restarts:
    """The positions with the largest errors, at most `memory`."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._heap: list[tuple[float, int, bytes]] = []
        """Value error, number of the game, its actions; the smallest error first."""

    def __len__(self) -> int:
        return len(self._heap)

    def learn(self, number: int, record: GameRecord) -> None:
        """Store the position of a game with the largest value error."""
        ply, error = largest_value_error(record)
        if ply > 0:
            heapq.heappush(self._heap, (error, number, record.actions[:ply].tobytes()))
            while len(self._heap) > self.memory:
                heapq.heappop(self._heap)

    def take(self, count: int) -> list[Position]:
        """Remove and return the positions with the largest errors, at most `count`."""
        ordered = sorted(self._heap, reverse=True)
        self._heap = sorted(ordered[count:])  # sorted: a heap
        return [np.frombuffer(actions, np.int32).tolist() for _, _, actions in ordered[:count]]

    def state_dict(self) -> dict[str, Any]:
        """The state for `load_state_dict`."""
        actions = [np.frombuffer(each, np.int32) for _, _, each in self._heap]
        lengths, joined = packed(actions)
        return {
            "restart_regrets": np.array([error for error, _, _ in self._heap], np.float64),
            "restart_games": np.array([game for _, game, _ in self._heap], np.int64),
            "restart_lengths": lengths,
            "restart_actions": joined,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state from `state_dict`."""
        actions = unpacked(state["restart_lengths"], state["restart_actions"])
        self._heap = [
            (float(error), int(game), each.tobytes())
            for error, game, each in zip(
                state["restart_regrets"], state["restart_games"], actions, strict=True
            )
        ]


def packed(
    sequences: Iterable[Sequence[int] | NDArray[np.int32]],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The lengths of some sequences of actions, and all actions."""
    arrays = [np.asarray(each, np.int32) for each in sequences]
    lengths = np.array([len(each) for each in arrays], np.int64)
    return lengths, np.concatenate([np.zeros(0, np.int32), *arrays])


def unpacked(lengths: NDArray[np.int64], actions: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """The sequences from what `packed` gave."""
    return np.split(np.asarray(actions, np.int32), np.cumsum(lengths))[:-1]


def largest_value_error(record: GameRecord) -> tuple[int, float]:
    """The searched ply with the largest error of the mover's value, and that error; else (0, 0)."""
    searched = record.searched
    searched = searched[searched > 0]
    if not len(searched):
        return 0, 0.0
    to_come = np.broadcast_to(record.returns.astype(np.float64), record.values.shape)
    if record.rewards is not None:
        to_come = to_come + np.cumsum(record.rewards[::-1].astype(np.float64), axis=0)[::-1]
    seats = record.seats[searched]
    errors = np.abs(to_come[searched, seats] - record.values[searched, seats])
    worst = int(np.argmax(errors))
    return int(searched[worst]), float(errors[worst])
