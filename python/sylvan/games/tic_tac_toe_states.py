"""Every state of tic-tac-toe that play can reach, and which of its moves keep the game value.

5,478 states, 958 of them finished. Nothing is left out: neither states that are symmetric to
others, nor those that only bad play leads to, nor those in which all moves are equal.
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
    """All states by their keys, finished ones too, those of fewer marks first.

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
    """The 4,520 states in which somebody is to move, shuffled: some of them are a fair sample."""
    states = [state for state in reachable_states().values() if not state.is_terminal()]
    states.sort(key=lambda state: blake2b(state.key()).digest())
    keeps = np.zeros((len(states), TicTacToe.num_actions), bool)
    for row, state in enumerate(states):
        keeps[row, tic_tac_toe_moves(state)[0]] = True
    return SolvedSet("states", tuple(states), keeps)


def tic_tac_toe_moves(state: TicTacToe) -> tuple[list[int], int]:
    """The moves that keep the game value, and that value for the seat to move.

    >>> tic_tac_toe_moves(TicTacToe([0]))
    ([4], 0)
    """
    values = {action: -_value(_after(state, action).key()) for action in state.legal_actions()}
    best = max(values.values())
    return [action for action, value in values.items() if value == best], best


@cache
def _value(key: bytes) -> int:
    """What the seat to move gets under perfect play: 1, 0 or -1."""
    state = reachable_states()[key]
    if state.is_terminal():
        return int(state.returns()[state.to_play()])
    return max(-_value(_after(state, action).key()) for action in state.legal_actions())


def _after(state: TicTacToe, action: int) -> TicTacToe:
    child = state.clone()
    child.apply(action)
    return child
