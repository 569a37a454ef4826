"""Optional members of a game, read from it or else from `Game`.

A class that has the required methods is a game, also without inheriting `Game`; it then lacks the
defaults of the optional members. Other rooms read these members by the functions here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sylvan.games.game import Game

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sylvan.games.encoding import Encoding

__all__ = [
    "dealt_from",
    "is_chance",
    "max_length_of",
    "num_logits_of",
    "observer_of",
    "outcome_of",
    "overrides",
    "seat_values_of",
    "state_encoding",
]


def dealt_from(game: Game, seed: int | None) -> Game:
    """The same game from its beginning, all deals drawn from a seed; None: dealt by chance nodes.

    A game offers this by a method `dealt_anew(seed)`. Others have no deals and are returned.
    """
    deal: Callable[[int | None], Game] | None = getattr(game, "dealt_anew", None)
    return game if deal is None else deal(seed)


def overrides(game: Game, method: str) -> bool:
    """Whether the game's class has an optional method of its own."""
    own = getattr(type(game), method, None)
    return own is not None and own is not getattr(Game, method)


def is_chance(state: Game) -> bool:
    """Whether chance is to move."""
    return bool(getattr(state, "is_chance", bool)())


def observer_of(state: Game) -> int | None:
    """The seat whose view a state is; None if it is a full state."""
    seat: int | None = getattr(state, "observer", None)
    return seat


def state_encoding(state: Game) -> Encoding | None:
    """The encoding of a state's observations; None if the game has only one."""
    encoding: Encoding | None = getattr(state, "encoding", None)
    return encoding


def num_logits_of(state: Game) -> int:
    """Policy outputs of a network for this game."""
    count: int = getattr(state, "num_logits", state.num_actions)
    return count


def seat_values_of(game: Game) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
    """Convert a network's values `[B, num_players]` to the game's payments; None: equal."""
    convert: Callable[[NDArray[Any]], NDArray[Any]] | None = getattr(game, "seat_values", None)
    return convert


def max_length_of(game: Game) -> int | None:
    """The most plies of a game; None if it is not known."""
    most: int | None = getattr(game, "max_length", None)
    return most


def outcome_of(state: Game) -> str:
    """How a finished game ended, in words ("checkmate"); empty if the game does not say."""
    return str(getattr(state, "outcome", None) or "").replace("_", " ")
