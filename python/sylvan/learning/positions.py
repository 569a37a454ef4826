"""Positions of games that are really played, to calibrate an eight-bit network and to measure it.

Games are played from one position with moves drawn from an evaluator's priors: with the network
itself, positions are those that it will meet. Everything follows from the seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.errors import ConfigError
from sylvan.evaluators import evaluator_for
from sylvan.networks.positions import Positions
from sylvan.planning import Forest

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning import Leaves

__all__ = ["sample_positions"]

GAMES = 64
"""Games that are played side by side."""
KEPT = 0.25
"""Share of their positions: neighbours in a game are too alike to be worth much."""


def sample_positions(
    game: Game, count: int, *, seed: int = 0, evaluator: Any = None, max_length: int = 512
) -> Positions:
    """Positions of games that start at `game`.

    Args:
        game: the first position; where the evaluator wants an encoding, in that encoding.
        count: how many; fewer only if the games have no more that differ.
        seed: of the moves and of which positions are kept.
        evaluator: whose priors choose the moves; by default the game's own.
        max_length: plies after which a game starts again.

    >>> from sylvan.games import TicTacToe
    >>> len(sample_positions(TicTacToe(), 20, evaluator="uniform"))
    20
    """
    if count < 1:
        raise ConfigError(f"count is {count}: ask for at least one position.")
    game = game.encoded(getattr(evaluator, "encoding", None) or game.encoding)
    evaluate = evaluator_for(game, evaluator)
    rng = np.random.default_rng(seed)
    states, plies = [game.clone() for _ in range(GAMES)], np.zeros(GAMES, int)
    found: dict[bytes, tuple[NDArray[Any], NDArray[np.int64]]] = {}
    fruitless = 0
    while len(found) < count and fruitless < 200:
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
        fruitless = fruitless + 1 if len(found) == before else 0
    kept = list(found.values())[:count]
    counts = [len(indices) for _, indices in kept]
    return Positions(
        np.stack([observation for observation, _ in kept]),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([indices for _, indices in kept]),
    )


def _play(
    states: list[Any], leaves: Leaves, logits: NDArray[Any], rng: np.random.Generator
) -> None:
    """A move in every game, drawn from the priors."""
    for leaf, tree in enumerate(leaves.trees):
        part = slice(leaves.offsets[leaf], leaves.offsets[leaf + 1])
        row = logits[part] if logits.ndim == 1 else logits[leaf, leaves.logit_indices[part]]
        priors = _native.softmax(np.ascontiguousarray(row, np.float32)).astype(np.float64)
        action = rng.choice(leaves.actions[part], p=priors / priors.sum())
        states[tree].apply(int(action))
