"""End games of self-play early: which games can be resigned, and results at the move limit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError
from sylvan.games.game import Game
from sylvan.selfplay.config import SelfPlayConfig

__all__ = ["check_resignation", "verdict"]


def check_resignation(config: SelfPlayConfig, game: Game) -> None:
    """Check that a game has a result for a seat that resigns, if seats resign.

    :raises ConfigError: it is not a zero-sum game of two seats with a known value range.
    """
    low, high = map(float, game.value_range)
    fits = game.num_players == 2 and game.zero_sum and math.isfinite(high - low)
    if config.resign_below is not None and not fits:
        raise ConfigError(
            f"selfplay.resign_below is {config.resign_below}, but {type(game).__name__} is not a "
            "zero-sum game with two seats and a known value range: set it to none."
        )


def verdict(state: Game, rule: str) -> NDArray[np.float32]:
    """The returns per seat of a game at the move limit."""
    given = state.estimate() if rule == "estimate" and hasattr(state, "estimate") else None
    if given is not None:
        return np.asarray(given, np.float32).reshape(state.num_players)
    low, high = map(float, state.value_range)
    middle = (low + high) / 2 if math.isfinite(low + high) else 0.0
    return np.full(state.num_players, middle, np.float32)
