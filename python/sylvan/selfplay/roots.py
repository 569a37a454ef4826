"""Positions to test an evaluator: the views of seats after some random moves."""

from __future__ import annotations

from sylvan._native import Rng, mix
from sylvan.games.game import Game
from sylvan.planning.roots import seen_by_mover

__all__ = ["some_roots"]

MOST_MOVES = 12
"""Random moves before a position."""


def some_roots(first: Game, count: int, seed: int) -> list[Game]:
    """Positions in which a seat is to move, as this seat sees them."""
    roots = []
    for number in range(count):
        rng = Rng(mix(seed, number))
        state, moves = first.clone(), rng.below(MOST_MOVES + 1)
        root = None
        while not state.is_terminal():
            if state.is_chance():
                outcomes = state.chance_outcomes()
                state.apply(outcomes[rng.pick([share for _, share in outcomes])][0])
                continue
            root = state.clone()
            if moves == 0:
                break
            moves -= 1
            legal = list(state.legal_actions())
            state.apply(legal[rng.below(len(legal))])
        if root is not None:
            roots.append(seen_by_mover(root))
    return roots
