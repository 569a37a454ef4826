"""Read positions as people write them: moves, columns, cells, a FEN, a pasted PGN."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sylvan.games.game import Game
    from sylvan.games.naming import GameSpec

__all__ = ["moves_of", "position_of"]


def position_of(spec: GameSpec, words: list[str], *, chess960: bool = False) -> Game:
    """Parse the position of a game.

    :param chess960: castle as in Chess960.
    :raises ConfigError: there is no such game.
    :raises IllegalPosition: a FEN breaks a rule of chess.
    :raises IllegalAction: a move is not legal in its position.

    >>> from sylvan.games.naming import GameSpec
    >>> print(position_of(GameSpec("tictactoe"), ["4", "08"]))
    o . .
    . x .
    . . x
    """
    if spec.name == "chess":
        return _chess(words, chess960)
    if spec.name in _READERS and not spec.params:
        return _READERS[spec.name](words)
    position = spec.first()
    for word in words:
        position.apply(position.string_to_action(word))
    return position


def _chess(words: list[str], chess960: bool) -> Game:
    """Parse a FEN, moves in SAN or UCI, or a FEN and moves; no words are the start position."""
    from sylvan.games import Chess

    fen: str | None = None
    if words and "/" in words[0]:
        # Without quotes the shell splits a FEN into its fields.
        fields = words[:1] if " " in words[0].strip() else words[:6]
        fen, words = " ".join(fields), words[len(fields) :]
    return Chess(fen, moves_of(" ".join(words)), chess960=chess960)


def moves_of(text: str) -> list[str]:
    """Extract the moves from pasted text; skip everything else.

    >>> moves_of("1. e4! {best by test} e5 2.Nf3 2... Nc6 $1 3. 0-0?? 1/2-1/2")
    ['e4', 'e5', 'Nf3', 'Nc6', 'O-O']
    """
    text = re.sub(r"\{[^}]*\}", " ", text)
    words = [re.sub(r"^\d+\.+|[!?]+$", "", word) for word in text.split()]
    results = {"", "*", "1-0", "0-1", "1/2-1/2", "½-½"}
    moves = [word for word in words if word not in results and not re.fullmatch(r"\$\d+", word)]
    return [re.sub(r"^0-0(-0)?", lambda zeros: zeros[0].replace("0", "O"), move) for move in moves]


def _connect4(words: list[str]) -> Game:
    """Parse columns counted from 1: `4453`, or as separate words."""
    from sylvan.games import ConnectFour

    return ConnectFour(" ".join(words))


def _tictactoe(words: list[str]) -> Game:
    """Parse cells counted from 0, row by row: `408`, or as separate words."""
    from sylvan.games import TicTacToe

    game = TicTacToe()
    for cell in "".join(words):
        game.apply(game.string_to_action(cell))
    return game


_READERS: dict[str, Callable[[list[str]], Game]] = {
    "connect4": _connect4,
    "tictactoe": _tictactoe,
}
