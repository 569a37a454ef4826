"""Check the states that a search starts from, before a tree is planted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from sylvan import _native
from sylvan.errors import ConfigError, GameContractError, GameOver, SearchStateError
from sylvan.evaluators.protocol import encoding_of
from sylvan.games.game import MAX_SEATS, Game
from sylvan.games.optional import is_chance, observer_of, overrides, state_encoding

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Evaluator
    from sylvan.games.encoding import Encoding
    from sylvan.planning.config import SearchConfig

__all__ = [
    "as_root",
    "checked_root",
    "checked_states",
    "hides",
    "is_own_turn",
    "is_view",
    "need_encoding",
    "need_fair",
    "need_game",
    "need_no_chance",
    "need_turn",
    "root_actions",
    "seen_by_mover",
    "shown_to",
]

G = TypeVar("G", bound=Game)

METHODS = sorted(Game.__abstractmethods__)
NATIVE = (_native.Chess, _native.ConnectFour, _native.TicTacToe)


def checked_root(state: Game, config: SearchConfig) -> Game:
    """A copy of a state in which a seat is to move, and which these settings can search."""
    need_game(state, "The position")
    need_fair(state, config, "The position")
    need_turn(state, "The position")
    return _copy(state)


def checked_states(states: Iterable[Game], config: SearchConfig) -> list[Game]:
    """Copies of states of one game in which a seat is to move, and which these settings can
    search.
    """
    if not isinstance(states, Iterable):
        raise ConfigError(f"states is a {type(states).__name__}: give a list of states.")
    states = list(states)
    if not states:
        raise ConfigError("states is empty: a forest needs at least one state.")
    for i, state in enumerate(states):
        if i == 0 or not isinstance(state, NATIVE):  # native states of one class are all valid
            need_game(state, f"State {i}")
        if type(state) is not type(states[0]):
            raise GameContractError(
                f"State {i} is a {type(state).__name__} and state 0 a {type(states[0]).__name__}: "
                "search them in two forests."
            )
        need_encoding(state, state_encoding(states[0]), f"State {i}")
        need_fair(state, config, f"State {i}")
        need_turn(state, f"State {i}")
    return [_copy(state) for state in states]


def need_game(state: Any, name: str) -> None:
    """:raises GameContractError: `state` is not a state of a game."""
    if isinstance(state, type):
        raise GameContractError(
            f"{name} is the class {state.__name__}: give a state of it, {state.__name__}()."
        )
    kind = type(state).__name__
    if hasattr(state, "move_stack"):  # recognised without importing python-chess
        raise GameContractError(
            f"{name} is a {kind} of python-chess: make a game of it with Chess.from_board."
        )
    missing = [method for method in METHODS if not callable(getattr(state, method, None))]
    if missing:
        raise GameContractError(
            f"{name} is a {kind}, which has no {', '.join(missing)}: give a state of a sylvan.Game."
        )
    for number, most in (("num_players", MAX_SEATS), ("num_actions", 2**32 - 1)):
        value: Any = getattr(state, number, None)
        if not (isinstance(value, Integral) and 1 <= int(value) <= most):
            raise GameContractError(
                f"{kind}.{number} is {value!r}: set it to a whole number from 1 to {most}."
            )
    try:
        low, high = map(float, state.value_range)
    except (AttributeError, TypeError, ValueError):
        low, high = math.nan, math.nan
    if not low <= high:
        raise GameContractError(
            f"{kind}.value_range is {getattr(state, 'value_range', None)!r}: set it to the least "
            "and the most that a seat can get."
        )


def need_turn(state: Game, name: str) -> None:
    """Check that a seat is to move in `state`.

    :raises GameOver: the game is over.
    :raises SearchStateError: chance is to move.
    """
    need_no_chance(state, name)
    if state.is_terminal() and not root_actions(state):
        raise GameOver(f"{name} is a finished game: search one that goes on.")


def is_view(state: Game) -> bool:
    """Whether `state` is one seat's view of a game."""
    return observer_of(state) is not None


def _no_seat_moves(state: Game) -> bool:
    return state.is_terminal() or is_chance(state)


def is_own_turn(view: Game) -> bool:
    """Whether the view's observer is to move."""
    return not _no_seat_moves(view) and view.to_play() == view.observer


def hides(state: Game) -> bool:
    """Whether the game of `state` has hidden information."""
    return overrides(state, "observe")


def need_fair(state: Game, config: SearchConfig, name: str) -> None:
    """Check that a search of `state` reads exactly the information that its settings allow.

    :raises SearchStateError: `state` has too much, or another seat than the observer is to move.
    :raises ConfigError: the settings do not fit a view.
    """
    if not is_view(state):
        if hides(state) and config.hidden != "cheating":
            raise SearchStateError(
                f"{name} is the full state of {type(state).__name__}, a game with hidden "
                "information: search a seat's view, state.observe(seat), or set hidden='cheating'."
            )
        return
    if config.hidden == "cheating":
        raise ConfigError(
            f"{name} is the view of seat {state.observer}: give a cheating search the full state."
        )
    if config.selection == "gumbel" and config.hidden == "information_set":
        raise ConfigError(
            f"{name} is the view of seat {state.observer}, and selection='gumbel' can plan for one "
            "deal only: use 'puct' or 'uct', or hidden='determinised'."
        )
    if config.transpositions and config.hidden == "information_set":
        raise ConfigError(
            f"{name} is the view of seat {state.observer}, and transpositions=True needs open "
            "positions: leave it out, or use hidden='determinised'."
        )
    if not _no_seat_moves(state) and not is_own_turn(state):
        raise SearchStateError(
            f"{name} is the view of seat {state.observer}, but seat {state.to_play()} is to move: "
            "search when it is the observer's turn."
        )


def need_encoding(state: Game, expected: Encoding | None, name: str) -> None:
    """:raises ConfigError: `state` has another encoding of observations."""
    encoding = state_encoding(state)
    if encoding != expected:
        raise ConfigError(
            f"{name} has the encoding {encoding}, but the forest has {expected}: use "
            "state.encoded(encoding) to make them equal."
        )


def shown_to(state: Game, evaluator: Evaluator | None) -> Game:
    """`state` in the encoding that an evaluator needs; unchanged if it takes any."""
    encoding = None if evaluator is None else encoding_of(evaluator)
    if encoding is None or encoding == state_encoding(state):
        return state
    return state.encoded(encoding)


def seen_by_mover(state: Game) -> Game:
    """The view of the seat to move; the state itself if nothing is hidden."""
    if is_view(state) or not hides(state):
        return state
    return state.observe(state.to_play())


def as_root(state: G) -> G:
    """A copy to search from: the game continues even if a draw could be claimed."""
    copy = _copy(state)
    if hasattr(copy, "set_root"):
        copy.set_root()
    return copy


def _copy(state: G) -> G:
    """A copy.

    :raises GameContractError: `clone` has no `return`.
    """
    copy = state.clone()
    if copy is None:
        raise GameContractError(
            f"{type(state).__name__}.clone() gave None: it must give a copy of the state."
        )
    return copy


def root_actions(state: Game) -> list[int]:
    """The actions among which a search of `state` chooses."""
    return list(as_root(state).legal_actions())


def need_no_chance(state: Game, name: str) -> None:
    """:raises SearchStateError: chance is to move in `state`."""
    if is_chance(state):
        raise SearchStateError(
            f"{name} waits for chance: apply one of its chance_outcomes() first, "
            "then search where a seat is to move."
        )
