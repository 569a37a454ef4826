"""Games played out by a policy that is a Python function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.games.game import Game

__all__ = ["played_out"]

Policy = Callable[[Any, Rng], int]


def played_out(leaves: Any, policy: Policy, playouts: int, max_length: int) -> NDArray[np.float32]:
    """The mean result `[B, num_players]` of `playouts` games from each leaf."""
    discount, values = leaves.forest.config.discount, []
    for state, ticket in zip(leaves.states, leaves.tickets, strict=True):
        rng = Rng(int(ticket))
        games = [_result(state.clone(), policy, rng, max_length, discount) for _ in range(playouts)]
        values.append(np.mean(games, axis=0))
    return np.array(values, np.float32)


def _result(
    state: Any, policy: Policy, rng: Rng, max_length: int, discount: float
) -> NDArray[np.float64]:
    """What a game pays from here on; cut off, the middle of its range."""
    total, weight = np.zeros(state.num_players), 1.0
    for _ in range(max_length):
        if state.is_terminal():
            return total + weight * np.asarray(state.returns())
        if state.is_chance():
            outcomes = list(state.chance_outcomes())
            action = outcomes[rng.pick([p for _, p in outcomes])][0]
        else:
            action = policy(state, rng)
        state.apply(action)
        total = total + weight * np.asarray(state.rewards())
        weight *= discount
    if state.is_terminal():
        return total + weight * np.asarray(state.returns())
    middle, paid = sum(state.value_range) / 2, type(state).rewards is not Game.rewards
    return total + weight * (middle if math.isfinite(middle) and not paid else 0.0)
