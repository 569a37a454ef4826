"""Exact values of small games, by walking all of them: the oracles that searches are held against.

A seat that moves takes the action that is best for itself, the first of equals in the game's order;
chance takes the mean. With two seats of a zero-sum game that is minimax, with one seat expectimax,
with more max^n (Luckhardt and Irani 1986). Nothing here knows of search.
"""

from __future__ import annotations

from collections.abc import Iterator

from sylvan.games import Game

Values = tuple[float, ...]
Memo = dict[bytes, Values]


def solve(state: Game, discount: float = 1.0, memo: Memo | None = None) -> Values:
    """The exact return of every seat from `state` on; `memo` caches states by their key."""
    if state.is_terminal():
        return tuple(float(x) for x in state.returns())
    key = state.key() if memo is not None else None
    if memo is not None and key is not None and key in memo:
        return memo[key]
    if state.is_chance():
        values = _mean(state, discount, memo)
    else:
        steps = action_values(state, discount, memo)
        seat = state.to_play()
        values = max(steps.values(), key=lambda step: step[seat])  # the first of equals
    if memo is not None and key is not None:
        memo[key] = values
    return values


def action_values(
    state: Game, discount: float = 1.0, memo: Memo | None = None
) -> dict[int, Values]:
    """Per legal action what every seat gets: the step's reward plus the discounted rest."""
    return {action: _after(state, action, discount, memo) for action in state.legal_actions()}


def best_actions(state: Game, discount: float = 1.0, memo: Memo | None = None) -> set[int]:
    """The actions that keep the value of `state` for the seat to move."""
    steps, seat = action_values(state, discount, memo), state.to_play()
    best = max(step[seat] for step in steps.values())
    return {action for action, step in steps.items() if step[seat] >= best - 1e-12}


def bounds(state: Game, memo: dict[bytes, tuple[Values, Values]]) -> tuple[Values, Values]:
    """Least and most that every seat gets by max^n if ties are broken in any way, mixed ones too.

    A seat may take any action that may be worth as much to it as the best is at least. Without
    rewards, discount and chance.
    """
    if state.is_terminal():
        ends = tuple(float(x) for x in state.returns())
        return ends, ends
    if (key := state.key()) not in memo:
        seat = state.to_play()
        steps = list(action_bounds(state, memo).values())
        sure = max(low[seat] for low, _ in steps)
        taken = [(low, high) for low, high in steps if high[seat] >= sure - 1e-12]
        least = [min(column) for column in zip(*(low for low, _ in taken), strict=True)]
        most = [max(column) for column in zip(*(high for _, high in taken), strict=True)]
        least[seat] = sure
        memo[key] = tuple(least), tuple(most)
    return memo[key]


def action_bounds(
    state: Game, memo: dict[bytes, tuple[Values, Values]]
) -> dict[int, tuple[Values, Values]]:
    """The bounds of every legal action."""
    found = {}
    for action in state.legal_actions():
        after = state.clone()
        after.apply(action)
        found[action] = bounds(after, memo)
    return found


def reachable(start: Game) -> Iterator[Game]:
    """Every state that can follow `start`, itself first, each key once."""
    seen, waiting = {start.key()}, [start]
    while waiting:
        state = waiting.pop()
        yield state
        if state.is_terminal():
            continue
        for action in state.legal_actions():
            after = state.clone()
            after.apply(action)
            if after.key() not in seen:
                seen.add(after.key())
                waiting.append(after)


def _after(state: Game, action: int, discount: float, memo: Memo | None) -> Values:
    after = state.clone()
    after.apply(action)
    rest = solve(after, discount, memo)
    return tuple(r + discount * v for r, v in zip(after.rewards(), rest, strict=True))


def _mean(state: Game, discount: float, memo: Memo | None) -> Values:
    total = [0.0] * state.num_players
    for action, probability in state.chance_outcomes():
        step = _after(state, action, discount, memo)
        total = [t + probability * x for t, x in zip(total, step, strict=True)]
    return tuple(total)
