"""Sample positions from games, to calibrate an int8 network and to measure its loss.

Games start at one position, and moves are drawn from an evaluator's priors; with the network's own
priors, the positions are like those of its games. The seed determines everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.errors import ConfigError
from sylvan.evaluators import EvaluatorLike, evaluator_for
from sylvan.evaluators.protocol import encoding_of
from sylvan.networks.positions import Positions
from sylvan.planning import Forest

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning import Leaves

__all__ = ["sample_positions"]

GAMES = 64
"""Games played at once."""
KEPT = 0.25
"""Fraction of positions kept: successive positions of a game are too similar."""


def sample_positions(
    game: Game,
    count: int,
    *,
    seed: int = 0,
    evaluator: EvaluatorLike | None = None,
    max_length: int = 512,
) -> Positions:
    """Sample positions of games that start at `game`.

    Args:
        game: the first position.
        count: number of distinct positions; fewer if the games have no more.
        seed: seed of the moves and of the choice of positions.
        evaluator: its priors choose the moves; None: the game's default evaluator.
        max_length: maximum plies of a game.

    >>> from sylvan.games import TicTacToe
    >>> len(sample_positions(TicTacToe(), 20, evaluator="uniform"))
    20
    """
    if count < 1:
        raise ConfigError(f"count is {count}: ask for at least one position.")
    evaluate = evaluator_for(game, evaluator)
    game = game.encoded(encoding_of(evaluate) or game.encoding)
    rng = np.random.default_rng(seed)
    states, plies = [game.clone() for _ in range(GAMES)], np.zeros(GAMES, int)
    found: dict[bytes, tuple[NDArray[Any], NDArray[np.int64]]] = {}
    rounds_without_new = 0
    while len(found) < count and rounds_without_new < 200:
        leaves = Forest(states, simulations=1).select()
        if leaves is None:
            break
        before = len(found)
        logits = np.asarray(evaluate(leaves)[0])
        for leaf in np.flatnonzero(rng.random(len(leaves)) < KEPT):
            part = slice(leaves.offsets[leaf], leaves.offsets[leaf + 1])
            observation = leaves.observations[leaf]
            found[observation.tobytes()] = (observation, leaves.logit_indices[part])
        _play(states, leaves, logits, rng)
        plies += 1
        for i, state in enumerate(states):
            if state.is_terminal() or plies[i] >= max_length:
                states[i], plies[i] = game.clone(), 0
        rounds_without_new = rounds_without_new + 1 if len(found) == before else 0
    kept = list(found.values())[:count]
    counts = [len(indices) for _, indices in kept]
    return Positions(
        np.stack([observation for observation, _ in kept]),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([indices for _, indices in kept]),
    )


def _play(
    states: list[Game], leaves: Leaves, logits: NDArray[Any], rng: np.random.Generator
) -> None:
    """Play a move drawn from the priors in every game."""
    for leaf, tree in enumerate(leaves.trees):
        part = slice(leaves.offsets[leaf], leaves.offsets[leaf + 1])
        row = logits[part] if logits.ndim == 1 else logits[leaf, leaves.logit_indices[part]]
        priors = _native.softmax(np.ascontiguousarray(row, np.float32)).astype(np.float64)
        action = rng.choice(leaves.actions[part], p=priors / priors.sum())
        states[tree].apply(int(action))
