"""When a game of self-play ends before its rules end it: by resignation or at the move limit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError
from sylvan.games.game import Game
from sylvan.selfplay.config import SelfPlayConfig

__all__ = ["Resignation", "verdict"]


class Resignation:
    """Who gives up, in N games side by side.

    A seat whose value was below the threshold for some turns in a row resigns. Games that are
    played on note only who would have: if that seat does not lose, resigning would have been wrong.
    """

    def __init__(self, config: SelfPlayConfig, game: Game, games: int) -> None:
        self.threshold, self.turns = config.resign_below, config.resign_turns
        low, high = map(float, game.value_range)
        fits = game.num_players == 2 and game.zero_sum and math.isfinite(high - low)
        if self.threshold is not None and not fits:
            raise ConfigError(
                f"selfplay.resign_below is {self.threshold}, but {type(game).__name__} is no game "
                "of two seats and known range in which one loses what the other wins: set it "
                "to none."
            )
        self._middle, self._half = (low + high) / 2, (high - low) / 2 or 1.0
        self.low = np.zeros((games, game.num_players), np.int32)
        """Turns in a row that a seat was below the threshold."""
        self.would = np.full(games, -1, np.int8)
        """The seat that has, or would have, given up; -1: none."""
        self.play_on = np.zeros(games, bool)

    def begin(self, game: int, *, play_on: bool) -> None:
        """A new game in place of an old one."""
        self.low[game], self.would[game], self.play_on[game] = 0, -1, play_on

    def resigned(self, seats: NDArray[np.int8], values: NDArray[np.float32]) -> NDArray[np.bool_]:
        """`[N]` in which games the seat to move gives up, after a search with these root values.

        :param seats: `[N]` the seat to move; games where it is negative do not count.
        :param values: `[N, S]`
        """
        if self.threshold is None:
            return np.zeros(len(seats), bool)
        games = np.flatnonzero(seats >= 0)
        mine = seats[games]
        scaled = (values[games, mine] - self._middle) / self._half
        self.low[games, mine] = np.where(scaled < self.threshold, self.low[games, mine] + 1, 0)
        gives_up = (self.low[games, mine] >= self.turns) & (self.would[games] < 0)
        self.would[games[gives_up]] = mine[gives_up]
        result = np.zeros(len(seats), bool)
        result[games[gives_up]] = ~self.play_on[games[gives_up]]
        return result

    def returns(self, game: int) -> NDArray[np.float32]:
        """What a game that was given up pays."""
        paid = np.full(2, self._middle + self._half, np.float32)
        paid[self.would[game]] = self._middle - self._half
        return paid


def verdict(state: Game, rule: str) -> NDArray[np.float32]:
    """What a game that is broken off pays each seat."""
    given = state.estimate() if rule == "estimate" and hasattr(state, "estimate") else None
    if given is not None:
        return np.asarray(given, np.float32).reshape(state.num_players)
    low, high = map(float, state.value_range)
    middle = (low + high) / 2 if math.isfinite(low + high) else 0.0
    return np.full(state.num_players, middle, np.float32)
