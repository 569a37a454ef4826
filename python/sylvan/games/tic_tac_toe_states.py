"""All reachable states of tic-tac-toe, and the moves that keep their game value.

5,478 states, 958 of them finished. Included are symmetric states, states reached only by bad play,
and states in which all moves are equal.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import numpy as np

from sylvan.games import TicTacToe
from sylvan.games.solved import SolvedSet

__all__ = ["reachable_states", "tic_tac_toe_moves", "tic_tac_toe_set"]


@cache
def reachable_states() -> dict[bytes, TicTacToe]:
    """Return all states by key, finished states included, fewer marks first.

    >>> len(reachable_states())
    5478
    """
    found = {TicTacToe().key(): TicTacToe()}
    layer = list(found.values())
    while layer:
        following = {}
        for state in layer:
            for action in [] if state.is_terminal() else state.legal_actions():
                child = _after(state, action)
                following[child.key()] = child
        layer = list(following.values())
        found |= following
    return found


@cache
def tic_tac_toe_set() -> SolvedSet:
    """Return the 4,520 unfinished states, shuffled, so that any slice is a fair sample."""
    states = [state for state in reachable_states().values() if not state.is_terminal()]
    states.sort(key=lambda state: blake2b(state.key()).digest())
    keeps = np.zeros((len(states), TicTacToe.num_actions), bool)
    for row, state in enumerate(states):
        keeps[row, tic_tac_toe_moves(state)[0]] = True
    return SolvedSet("states", tuple(states), keeps)


def tic_tac_toe_moves(state: TicTacToe) -> tuple[list[int], int]:
    """Return the moves that keep the game value, and this value for the seat to move.

    >>> tic_tac_toe_moves(TicTacToe([0]))
    ([4], 0)
    """
    values = {action: -_value(_after(state, action).key()) for action in state.legal_actions()}
    best = max(values.values())
    return [action for action, value in values.items() if value == best], best


@cache
def _value(key: bytes) -> int:
    """Return the game value for the seat to move: 1, 0 or -1."""
    state = reachable_states()[key]
    if state.is_terminal():
        return int(state.returns()[state.to_play()])
    return max(-_value(_after(state, action).key()) for action in state.legal_actions())


def _after(state: TicTacToe, action: int) -> TicTacToe:
    child = state.clone()
    child.apply(action)
    return child
