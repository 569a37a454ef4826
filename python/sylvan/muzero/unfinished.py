"""Games in progress between two steps: nothing but what was played and thought, in arrays.

Trees are not kept: the next step has another network. So a game in progress is small, goes into a
checkpoint as it is, and is the same whether the program ran on or was started again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sylvan.muzero.plies import Plies

__all__ = ["Unfinished"]


@dataclass(frozen=True, eq=False)
class Unfinished:
    """N games of S seats in progress."""

    numbers: NDArray[np.int64]
    """`[N]` which game of the run."""
    seeds: NDArray[np.uint64]
    """`[N]`"""
    play_on: NDArray[np.bool_]
    """`[N]` in which nobody resigns."""
    would_resign: NDArray[np.int8]
    """`[N]` the seat that would have resigned; -1: none."""
    low_turns: NDArray[np.int32]
    """`[N, S]` turns in a row below the threshold of resignation."""
    lengths: NDArray[np.int64]
    """`[N]` plies of each."""
    plies: Plies
    """Of all of them, one game after another."""

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def new(cls, games: Sequence[tuple[int, int, bool, Plies]], seats: int) -> Self:
        """Games, at least one, in which no seat has thought: number, seed, play on, opening."""
        return cls(
            np.array([number for number, _, _, _ in games], np.int64),
            np.array([seed for _, seed, _, _ in games], np.uint64),
            np.array([play_on for _, _, play_on, _ in games], bool),
            np.full(len(games), -1, np.int8),
            np.zeros((len(games), seats), np.int32),
            np.array([len(plies) for _, _, _, plies in games], np.int64),
            Plies.joined([plies for _, _, _, plies in games]),
        )

    @classmethod
    def joined(cls, parts: Sequence[Unfinished]) -> Self:
        """Some rows of games, at least one, one after another."""
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in vars(parts[0])
            if name != "plies"
        }
        return cls(plies=Plies.joined([part.plies for part in parts]), **columns)

    def part(self, first: int, end: int) -> Unfinished:
        """Games `first` to `end`, that one excluded."""
        start, stop = int(self.lengths[:first].sum()), int(self.lengths[:end].sum())
        columns = {
            name: column[first:end] for name, column in vars(self).items() if name != "plies"
        }
        return Unfinished(plies=self.plies.part(start, stop), **columns)

    def state_dict(self) -> dict[str, Any]:
        """Arrays by name."""
        state = {name: column for name, column in vars(self).items() if name != "plies"}
        plies = vars(self.plies).items()
        return state | {f"plies.{name}": column for name, column in plies if column is not None}

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Self:
        """Back from what `state_dict` gave."""
        columns: dict[str, Any] = {
            name: np.asarray(state[name]) for name in cls.__dataclass_fields__ if name != "plies"
        }
        plies: dict[str, Any] = {
            name: np.asarray(state[f"plies.{name}"])
            for name in Plies.__dataclass_fields__
            if f"plies.{name}" in state
        }
        return cls(plies=Plies(**plies), **columns)
