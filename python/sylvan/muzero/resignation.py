"""Resignation in games that are played side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.games.game import Game
from sylvan.selfplay.config import SelfPlayConfig

__all__ = ["Resignation"]

PLAY_ON = 1
"""The random stream of a game that decides whether it is played on (`selfplay/seeds.rs`)."""


class Resignation:
    """Resignation in N slots with a game each.

    A seat resigns after some consecutive turns with a value below the threshold. Some games are
    played on, to count wrong resignations: those of a seat that then does not lose.
    """

    def __init__(self, config: SelfPlayConfig, game: Game, slots: int) -> None:
        self.threshold, self.turns = config.resign_below, config.resign_turns
        self._share = config.resign_play_on if self.threshold is not None else 0.0
        low, high = map(float, game.value_range)
        self._middle, self._half = (low + high) / 2, (high - low) / 2 or 1.0
        self.low = np.zeros((slots, game.num_players), np.int32)
        """Consecutive turns of each seat below the threshold."""
        self.would = np.full(slots, -1, np.int8)
        """The seat that resigned, or would have in a game that is played on; -1: none."""
        self.play_on = np.zeros(slots, bool)

    def begin(self, slot: int, seed: int) -> None:
        """Start with a new game, which has this seed."""
        self.low[slot], self.would[slot] = 0, -1
        self.play_on[slot] = self._share > 0 and Rng(seed, PLAY_ON).uniform() < self._share

    def resigned(
        self, slots: NDArray[np.int64], seats: NDArray[np.int8], values: NDArray[np.float32]
    ) -> NDArray[np.bool_]:
        """`[n]` whether the seat to move resigns in some slots, after searches.

        :param seats: `[n]` the seats to move.
        :param values: `[n, S]` root values.
        """
        if self.threshold is None:
            return np.zeros(len(slots), bool)
        mine = values[np.arange(len(slots)), seats].astype(np.float64)
        scaled = (mine - self._middle) / self._half
        self.low[slots, seats] = np.where(scaled < self.threshold, self.low[slots, seats] + 1, 0)
        resigns = (self.low[slots, seats] >= self.turns) & (self.would[slots] < 0)
        self.would[slots[resigns]] = seats[resigns]
        return resigns & ~self.play_on[slots]

    def returns(self, slot: int) -> NDArray[np.float32]:
        """The returns of a resigned game."""
        returns = np.full(2, self._middle + self._half, np.float32)
        returns[self.would[slot]] = self._middle - self._half
        return returns
