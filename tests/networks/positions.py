"""Observations of positions from random games, in a network's input format."""

from typing import Any

import numpy as np

from sylvan.games.chess import expand_planes


def random_states(game: Any, count: int, seed: int = 0) -> list[Any]:
    """Positions of random games in which a seat moves."""
    rng = np.random.default_rng(seed)
    states: list[Any] = []
    state = game.clone()
    while len(states) < count:
        states.append(state.clone())
        state.apply(int(rng.choice(list(state.legal_actions()))))
        if state.is_terminal():
            state = game.clone()
    return states


def seen(game: Any, count: int, seed: int = 0) -> Any:
    """`[count, *observation_shape]` float32."""
    observations = np.stack([state.observation() for state in random_states(game, count, seed)])
    if game.encoding is not None:
        return expand_planes(observations, game.encoding.encoder)
    return observations.astype(np.float32)
