"""The agents of the document `node-edge-chess`: networks behind `agent.predict`.

An agent sees `[1, 19, 8, 8]` (the encoder `planes19`) and predicts probabilities of 73×8×8 moves,
`[plane][rank][file]`, and a value from -1 to 1 for the side to move. Ranks are counted from the
mover's side, in planes and probabilities alike.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.classic.predictions import legal_logits
from sylvan.errors import EvaluationError
from sylvan.games.chess import Chess, expand_planes
from sylvan.games.encoding import Encoding
from sylvan.planning import Leaves

__all__ = ["PLANES", "Agent", "evaluate", "move_squares", "planes_of", "predict", "state_to_input"]

PLANES = Encoding(encoder="planes19")


class Agent(Protocol):
    """A network, or a client of one."""

    def predict(self, planes: NDArray[np.float32], /) -> tuple[ArrayLike, ArrayLike]:
        """Probabilities `[4672]` or `[73, 8, 8]`, and the value for the side to move."""


def state_to_input(state: str) -> NDArray[np.float32]:
    """The agent's input for a FEN: `[1, 19, 8, 8]`."""
    return planes_of(Chess(state, encoder=PLANES.encoder))


def planes_of(game: Chess) -> NDArray[np.float32]:
    """The agent's input for a game in this encoding: `[1, 19, 8, 8]`."""
    return expand_planes(game.observation()[None], PLANES.encoder)


def predict(agent: Agent, planes: NDArray[np.float32]) -> tuple[NDArray[Any], float]:
    """Ask about one position: probabilities `[73, 8, 8]` and the value."""
    policy, value = agent.predict(planes)
    probabilities, values = np.asarray(policy), np.asarray(value)
    if probabilities.size != 73 * 64 or values.size != 1:
        raise EvaluationError(
            f"agent.predict gave {probabilities.size} probabilities and {values.size} values: "
            "it must give 4672 (73 planes of 8 × 8) and one."
        )
    return probabilities.reshape(73, 8, 8), float(values.reshape(()))


def evaluate(agent: Agent, leaves: Leaves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Ask about the leaves of a search, one by one: logits of legal moves, and values."""
    inputs = expand_planes(leaves.observations, PLANES.encoder)
    policies, values = zip(*(predict(agent, x[None]) for x in inputs), strict=True)
    plane, row, column = move_squares(leaves.actions)
    leaf = np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets))
    probabilities = np.stack(policies)[leaf, plane, row, column]
    return legal_logits(probabilities, leaves.offsets), np.array(values, np.float32)


def move_squares(actions: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Plane, row (the rank from the mover's side) and column (the file) of actions."""
    return actions % 73, actions // 73 // 8, actions // 73 % 8
