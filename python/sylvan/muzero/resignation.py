"""Resignation in parallel games."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import check_resignation

__all__ = ["Resignation"]


class Resignation:
    """Resignation in N parallel games.

    A seat resigns after some consecutive turns with a value below the threshold. Some games are
    played on, to count wrong resignations: those of a seat that then does not lose.
    """

    def __init__(self, config: SelfPlayConfig, game: Game, games: int) -> None:
        self.threshold, self.turns = config.resign_below, config.resign_turns
        check_resignation(config, game)
        low, high = map(float, game.value_range)
        self._middle, self._half = (low + high) / 2, (high - low) / 2 or 1.0
        self.low = np.zeros((games, game.num_players), np.int32)
        """Consecutive turns of each seat below the threshold."""
        self.would = np.full(games, -1, np.int8)
        """The seat that resigned, or would have in a game that is played on; -1: none."""
        self.play_on = np.zeros(games, bool)

    def begin(self, game: int, *, play_on: bool) -> None:
        """Reset a slot for a new game."""
        self.low[game], self.would[game], self.play_on[game] = 0, -1, play_on

    def resigned(self, seats: NDArray[np.int8], values: NDArray[np.float32]) -> NDArray[np.bool_]:
        """`[N]` whether the seat to move resigns, after a search with these root values.

        :param seats: `[N]` the seat to move; games with a negative seat are ignored.
        :param values: `[N, S]`
        """
        if self.threshold is None:
            return np.zeros(len(seats), bool)
        games = np.flatnonzero(seats >= 0)
        mine = seats[games]
        scaled = (values[games, mine] - self._middle) / self._half
        self.low[games, mine] = np.where(scaled < self.threshold, self.low[games, mine] + 1, 0)
        resigns = (self.low[games, mine] >= self.turns) & (self.would[games] < 0)
        self.would[games[resigns]] = mine[resigns]
        result = np.zeros(len(seats), bool)
        result[games[resigns]] = ~self.play_on[games[resigns]]
        return result

    def returns(self, game: int) -> NDArray[np.float32]:
        """The returns of a resigned game."""
        returns = np.full(2, self._middle + self._half, np.float32)
        returns[self.would[game]] = self._middle - self._half
        return returns
