"""A model's answers to fixed observations: to compare machines, and rows of a batch.

The observations are positions after random moves; for an environment, which may not repeat itself,
random numbers. From each, the model makes `STEPS` steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.muzero.evaluation import in_memory
from sylvan.planning import LatentModel
from sylvan.selfplay.roots import some_roots

__all__ = ["depends_on_batch", "fixed_observations", "model_answers"]

STEPS = 3
"""Steps of the model from each observation."""


def fixed_observations(spec: GameSpec, first: Game, count: int, seed: int) -> NDArray[Any]:
    """`[count, ...]` observations of a game, which depend only on the seed.

    :param first: any state of an environment, the first state of another game.
    """
    if not spec.is_gymnasium:
        return np.stack([np.asarray(root.observation()) for root in some_roots(first, count, seed)])
    seen, rng = np.asarray(first.observation()), np.random.default_rng(seed)
    if seen.dtype == np.uint8:
        return rng.integers(0, 256, (count, *seen.shape), np.uint8)
    return rng.standard_normal((count, *seen.shape), np.float32)


def model_answers(
    model: LatentModel, observations: NDArray[Any], num_actions: int
) -> NDArray[np.float32]:
    """`[B, N]` values, rewards and policies at each observation and after each step."""
    return _unrolled(model, observations, _actions(len(observations), num_actions))


def depends_on_batch(model: LatentModel, observations: NDArray[Any], num_actions: int) -> bool:
    """Whether some answer has other bits in another order, one row further, or in a short batch.

    :param observations: different ones, as many as a batch has.
    """
    count = len(observations)
    actions = _actions(count, num_actions)
    whole = _unrolled(model, observations, actions)
    shuffled = np.random.default_rng(0).permutation(count)
    orders = [shuffled, np.roll(np.arange(count), 1), shuffled[: (count + 2) // 3], shuffled[:1]]
    return any(
        _unrolled(model, observations[rows], actions[rows]).tobytes() != whole[rows].tobytes()
        for rows in orders
    )


def _actions(count: int, num_actions: int) -> NDArray[np.int64]:
    """`[count, STEPS]` random actions."""
    return np.random.default_rng(0).integers(num_actions, size=(count, STEPS))


def _unrolled(
    model: LatentModel, observations: NDArray[Any], actions: NDArray[np.int64]
) -> NDArray[np.float32]:
    output = model.initial_inference(observations)
    found = [*output[:3]]
    for action in actions.T:
        output = model.recurrent_inference(output[3], action)
        found += output[:3]
    columns = [in_memory(each).reshape(len(observations), -1) for each in found]
    return np.concatenate(columns, axis=1).astype(np.float32)
