"""The seat to move in games planned with a learned model, and the check that a game fits one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.errors import ConfigError
from sylvan.games.game import Game
from sylvan.games.gymnasium import GymnasiumGame
from sylvan.planning.outcomes import OVER

__all__ = ["CUT", "FAILED", "need_no_chance", "need_turns", "own_score", "try_out", "turn_of"]

CUT, FAILED = -4, -5
"""In place of a seat: the episode was cut off by its environment; the game raised an error."""

PROBE_MOVES = 200
"""Random moves that `try_out` plays."""


def was_cut(state: Game) -> bool:
    """Whether a game was truncated, for example by a time limit."""
    return isinstance(state, GymnasiumGame) and state.truncated


def own_score(state: Game, total: float) -> float:
    """An environment's own sum of rewards; `total` for other games."""
    return float(state.score) if isinstance(state, GymnasiumGame) else total


def turn_of(state: Game) -> int:
    """The seat to move, or the code of why there is none."""
    if was_cut(state):
        return CUT
    if state.is_terminal():
        return OVER
    need_no_chance(state)
    return state.to_play()


def need_no_chance(state: Game) -> None:
    """:raises ConfigError: chance moves, which a learned model cannot predict."""
    if getattr(state, "is_chance", bool)():
        raise ConfigError(
            f"{type(state).__name__} has chance nodes, but a learned model predicts one outcome "
            "per action: train it with its rules, --algorithm alphazero."
        )


def need_turns(name: str, before: NDArray[Any], after: NDArray[Any], seats: int) -> None:
    """:raises ConfigError: the seats do not move in turn, as a search over a model requires.

    :param before: `[N]` the seat that moved.
    :param after: `[N]` the next seat to move; negative: none.
    """
    wrong = (after >= 0) & (after != (before + 1) % seats)
    if wrong.any():
        slot = int(wrong.argmax())
        raise ConfigError(
            f"In {name} seat {after[slot]} moves after seat {before[slot]}, but a search over a "
            "learned model needs seats that move in turn: train it with its rules, "
            "--algorithm alphazero."
        )


def try_out(state: Game, name: str, seed: int) -> None:
    """Play random moves, in place, to report early that a game cannot be learned.

    :raises ConfigError: chance moves, or the seats do not move in turn.
    """
    rng, mover = Rng(seed), -1
    for _ in range(PROBE_MOVES):
        turn = turn_of(state)
        if mover >= 0:
            need_turns(name, np.array([mover]), np.array([turn]), state.num_players)
        if turn < 0:
            return
        legal = state.legal_actions()
        state.apply(legal[rng.below(len(legal))])
        mover = turn
