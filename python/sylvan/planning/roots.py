"""What a search asks of the states that it starts from, before anything is planted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from sylvan import _native
from sylvan.errors import ConfigError, GameContractError, GameOver, SearchStateError
from sylvan.games.game import MAX_SEATS, Game

if TYPE_CHECKING:
    from sylvan.games.encoding import Encoding
    from sylvan.planning.config import SearchConfig

__all__ = [
    "action_codes",
    "as_root",
    "checked_states",
    "hides",
    "is_own_turn",
    "is_view",
    "need_encoding",
    "need_fair",
    "need_game",
    "need_no_chance",
    "need_turn",
    "playable",
    "played",
    "root_actions",
    "seen_by_mover",
    "shown_to",
]

G = TypeVar("G", bound=Game)

METHODS = sorted(Game.__abstractmethods__)
NATIVE = (_native.Chess, _native.ConnectFour, _native.TicTacToe)


def checked_states(states: Iterable[Game], config: SearchConfig) -> list[Game]:
    """Copies of states of one game, in each of which a seat is to move, fit for these settings."""
    if not isinstance(states, Iterable):
        raise ConfigError(f"states is a {type(states).__name__}: give a list of states.")
    states = list(states)
    if not states:
        raise ConfigError("states is empty: a forest needs at least one state.")
    for i, state in enumerate(states):
        if i == 0 or not isinstance(state, NATIVE):  # one of those is like another
            need_game(state, f"State {i}")
        if type(state) is not type(states[0]):
            raise GameContractError(
                f"State {i} is a {type(state).__name__} and state 0 a {type(states[0]).__name__}: "
                "search them in two forests."
            )
        need_encoding(state, getattr(states[0], "encoding", None), f"State {i}")
        need_fair(state, config, f"State {i}")
        need_turn(state, f"State {i}")
    return [_copy(state) for state in states]


def need_game(state: Any, name: str) -> None:
    """Fail unless `state` is a state of a game."""
    if isinstance(state, type):
        raise GameContractError(
            f"{name} is the class {state.__name__}: give a state of it, {state.__name__}()."
        )
    kind = type(state).__name__
    if hasattr(state, "move_stack"):  # not imported: only who has python-chess can bring its board
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
    """Fail unless a seat is to move in `state`."""
    need_no_chance(state, name)
    if state.is_terminal() and not root_actions(state):
        raise GameOver(f"{name} is a finished game: search one that goes on.")


def is_view(state: Game) -> bool:
    """Whether `state` is what one seat knows."""
    return getattr(state, "observer", None) is not None


def is_still(state: Game) -> bool:
    """Whether no seat is to move."""
    return state.is_terminal() or bool(getattr(state, "is_chance", bool)())


def is_own_turn(view: Game) -> bool:
    """Whether the seat that looks is to move."""
    return not is_still(view) and view.to_play() == view.observer


def hides(state: Game) -> bool:
    """Whether the game of `state` hides something from its seats."""
    return getattr(type(state), "observe", Game.observe) is not Game.observe


def need_fair(state: Game, config: SearchConfig, name: str) -> None:
    """Fail unless a search of `state` sees what its settings say, and no more."""
    if not is_view(state):
        if hides(state) and config.hidden != "cheating":
            raise SearchStateError(
                f"{name} is a whole {type(state).__name__}, which hides something from every seat: "
                "search what one sees, state.observe(seat), or set hidden='cheating'."
            )
        return
    if config.hidden == "cheating":
        raise ConfigError(
            f"{name} is what seat {state.observer} sees: a cheating search needs the whole game."
        )
    if config.selection == "gumbel" and config.hidden == "information_set":
        raise ConfigError(
            f"{name} is what seat {state.observer} sees, and selection='gumbel' plans for one deal "
            "only: use 'puct' or 'uct', or hidden='determinised'."
        )
    if not is_still(state) and not is_own_turn(state):
        raise SearchStateError(
            f"{name} is what seat {state.observer} sees, but seat {state.to_play()} is to move: "
            "search when it is the observer's turn."
        )


def need_encoding(state: Game, expected: Encoding | None, name: str) -> None:
    """Fail unless `state` shows itself to networks in this encoding."""
    encoding = getattr(state, "encoding", None)
    if encoding != expected:
        raise ConfigError(
            f"{name} shows itself as {encoding} in a forest of {expected}: use "
            "state.encoded(encoding) to make them alike."
        )


def shown_to(state: Game, evaluator: Any) -> Game:
    """`state` in the encoding that an evaluator reads; as it is if the evaluator does not say."""
    encoding = getattr(evaluator, "encoding", None)
    if encoding is None or encoding == getattr(state, "encoding", None):
        return state
    return state.encoded(encoding)


def seen_by_mover(state: Game) -> Game:
    """What the seat to move knows: the state itself where nothing is hidden."""
    if is_view(state) or not hides(state):
        return state
    return state.observe(state.to_play())


def as_root(state: G) -> G:
    """A copy to search from: where a draw could be claimed, the game goes on."""
    copy = _copy(state)
    if hasattr(copy, "set_root"):
        copy.set_root()
    return copy


def _copy(state: G) -> G:
    """A copy, which a `clone` without its `return` would not give."""
    copy = state.clone()
    if copy is None:
        raise GameContractError(
            f"{type(state).__name__}.clone() gave None: it must give a copy of the state."
        )
    return copy


def root_actions(state: Game) -> list[int]:
    """What a search of `state` chooses from."""
    return list(as_root(state).legal_actions())


def action_codes(state: Game, actions: Sequence[int | str]) -> list[int]:
    """The codes of actions that are played one after another; names as people write them.

    :raises IllegalAction: a name is not that of a legal action.
    """
    codes, after = [], as_root(state) if any(isinstance(a, str) for a in actions) else state
    for number, action in enumerate(actions, start=1):
        code = after.string_to_action(action) if isinstance(action, str) else action
        if number < len(actions) and after is not state:
            after = played(after, code)
        codes.append(code)
    return codes


def playable(state: Game) -> list[int]:
    """What may be played in `state`: a root that was told to choose from a few moves can be left
    by any other.
    """
    lift = getattr(state, "restricted", None)
    return root_actions(state if lift is None else lift(None))


def played(state: Game, action: int) -> Game:
    """The game after an action, also where a draw could have been claimed."""
    if isinstance(state, _native.Chess) and type(state).apply is _native.Chess.apply:
        game = state.clone()
        game.push(action)  # knows of no search, whose lines end sooner than games
        return game
    after = as_root(state)
    after.apply(action)
    return after


def need_no_chance(state: Game, name: str) -> None:
    """Fail if chance is to move in `state`."""
    if getattr(state, "is_chance", bool)():
        raise SearchStateError(
            f"{name} waits for chance: apply one of its chance_outcomes() first, "
            "then search where a seat is to move."
        )
