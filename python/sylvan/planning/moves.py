"""Positions after actions, for the roots of trees that move on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sylvan import _native
from sylvan.errors import GameOver, IllegalAction
from sylvan.games.game import Game
from sylvan.games.optional import is_chance
from sylvan.planning.roots import as_root, is_own_turn, root_actions

__all__ = ["action_codes", "state_after", "view_after"]


def state_after(state: Game, action: int) -> Game:
    """The state after a legal action or a chance outcome.

    A root accepts more actions than a search of it: a draw that can be claimed does not end the
    game, and `Chess.restricted` limits the search only.

    :raises IllegalAction: the action is not legal.
    :raises GameOver: no action is.
    """
    legal = _open_actions(state)
    if not legal:
        raise GameOver(f"Action {action} follows the end of the game: there is nothing to play.")
    if action not in legal:
        raise _illegal(action, legal)
    if isinstance(state, _native.Chess) and type(state).apply is _native.Chess.apply:
        game = state.clone()
        game.push(action)  # unlike `apply`, it continues where a search would end the line
        return game
    after = as_root(state)
    after.apply(action)
    return after


def view_after(view: Game, actions: Sequence[int]) -> Game:
    """A view after some actions; only the observer's own actions can be checked.

    :raises IllegalAction: one of them is not legal.
    """
    view = view.clone()
    for action in actions:
        if is_own_turn(view) and action not in (legal := list(view.legal_actions())):
            raise _illegal(action, legal)
        view.apply(action)
    return view


def action_codes(state: Game, actions: Sequence[int | str]) -> list[int]:
    """The codes of actions that are played one after another; a text is an action's name.

    :raises IllegalAction: a name is not that of a legal action.
    """
    if not any(isinstance(action, str) for action in actions):
        return [int(action) for action in actions]
    codes, after = [], as_root(state)
    for number, action in enumerate(actions, start=1):
        codes.append(after.string_to_action(action) if isinstance(action, str) else action)
        if number < len(actions):
            after = state_after(after, codes[-1])
    return codes


def _open_actions(state: Game) -> list[int]:
    """Everything that can happen in a state."""
    if is_chance(state):
        return [outcome for outcome, _ in state.chance_outcomes()]
    unrestricted = getattr(state, "restricted", None)
    return root_actions(state if unrestricted is None else unrestricted(None))


def _illegal(action: object, legal: Sequence[int]) -> IllegalAction:
    number = action if isinstance(action, (int, float, np.integer)) else 0
    near = sorted(legal, key=lambda other: abs(other - number))[:12]
    return IllegalAction(
        f"Action {action} is not legal here: choose one of {', '.join(map(str, near))}."
    )
