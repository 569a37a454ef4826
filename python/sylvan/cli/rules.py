"""The rules of a game in a few lines, for `rules` in `sylvan play`."""

from __future__ import annotations

import inspect
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["rules_text"]

BUILT_IN = {
    "blob": "In each round every seat bids how many tricks it will take. Then the seats play a "
    "card each to a trick and follow suit if they can; the highest trump takes it, else the best "
    "card of the suit that was led. The scoring rewards a bid that is made exactly.",
    "chess": "Checkmate wins. Stalemate, the third repetition, fifty moves by each side without a "
    "capture or a pawn move, and too few pieces to mate are draws.",
    "connect4": "The seats drop stones into columns in turns. Four in a row wins, upright, level "
    "or diagonal; a full board is a draw.",
    "tictactoe": "The seats mark cells in turns. Three in a row wins; a full board is a draw.",
}


def rules_text(name: str, game: Game) -> str:
    """Return the rules that are known, and the number of seats.

    >>> from sylvan.games import TicTacToe
    >>> print(rules_text("tictactoe", TicTacToe()))
    The seats mark cells in turns. Three in a row wins; a full board is a draw.
    2 seats; the result of a seat is from -1 to 1.
    """
    spiel = getattr(game, "spiel", None)
    if name in BUILT_IN:
        text = BUILT_IN[name]
    elif spiel is not None:
        text = f"{spiel.get_type().long_name}, as OpenSpiel plays it: {spiel}"
    else:
        text = _description(type(game))
    if name == "blob":
        options = game.to_json()["rules"]  # type: ignore[attr-defined]
        return f"{text}\n" + "; ".join(f"{key} {value}" for key, value in options.items())
    low, high = game.value_range
    seats = "1 seat" if game.num_players == 1 else f"{game.num_players} seats"
    return f"{text}\n{seats}; the result of a seat is from {low:g} to {high:g}."


def _description(kind: type) -> str:
    """Return a class's docstring without parameters and examples."""
    lines = (inspect.getdoc(kind) or "").splitlines()
    text = "\n".join(takewhile(lambda line: not line.startswith((":", ">>>")), lines)).strip()
    return text or f"{kind.__name__} has no docstring with its rules."
