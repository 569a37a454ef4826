"""Playouts by a policy that is a Python function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.games.game import Game

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves

__all__ = ["played_out"]

Policy = Callable[[Any, Rng], int]


def played_out(
    leaves: Leaves, policy: Policy, playouts: int, max_length: int
) -> NDArray[np.float32]:
    """Play `playouts` games from each leaf; return their mean results `[B, num_players]`."""
    discount, values = leaves.forest.config.discount, []
    for state, ticket in zip(leaves.states, leaves.tickets, strict=True):
        rng = Rng(int(ticket))
        games = [_result(state.clone(), policy, rng, max_length, discount) for _ in range(playouts)]
        values.append(np.mean(games, axis=0))
    return np.array(values, np.float32)


def _result(
    state: Game, policy: Policy, rng: Rng, max_length: int, discount: float
) -> NDArray[np.float64]:
    """Play a game to its end and return its payments from here on.

    A game that is cut off pays the middle of its range, or nothing more if it has rewards.
    """
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
