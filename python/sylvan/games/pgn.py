"""Games in PGN: read whole or refused with a sentence, and written.

python-chess reads on past a move that cannot be played and keeps the rest as if nothing had
happened. Here such a file is refused, with the number of the game and the move.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from sylvan.errors import ConfigError, IllegalPosition
from sylvan.games.chess import first_pgn_error, pgn_builder

if TYPE_CHECKING:
    import chess.pgn

__all__ = ["game_text", "read_games", "read_text"]


def read_text(path: Path) -> str:
    """A text file in UTF-8, with or without its mark, or else in Latin-1, as old PGN files are.

    :raises ConfigError: it does not exist, is no file, or is no text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}"
        ) from None
    if b"\0" in data:
        raise ConfigError(f"{path} is not a text file: it has zero bytes in it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_games(text: str, source: str) -> list[chess.pgn.Game]:
    """All games of a PGN; `source` is what a message calls it.

    :raises IllegalPosition: there is no game, or one begins in a position that breaks a rule.
    :raises IllegalAction: a move cannot be played.
    """
    import chess.pgn

    games: list[chess.pgn.Game] = []
    stream = io.StringIO(text)
    while True:
        where = f"{source}, game {len(games) + 1}"
        try:
            game = chess.pgn.read_game(stream, Visitor=pgn_builder())
        except ValueError as error:
            raise IllegalPosition(f"{where}: {_one_line(error)}") from None
        if game is None:
            break
        if game.errors:
            fault = first_pgn_error(game)
            reason = str(fault).rstrip(".")
            raise type(fault)(f"{where}: {reason}; put it right, or leave the game out")
        _check_start(game, where)
        games.append(game)
    # Text without tags and moves is read as a game with nothing in it.
    games = [game for game in games if game.variations or _has_tags(game)]
    if not games:
        raise IllegalPosition(f"{source} has no game: give a PGN with moves like '1. e4 e5'")
    return games


def _check_start(game: chess.pgn.Game, where: str) -> None:
    """Fail unless Sylvan's own rules accept the position in which the game begins."""
    from sylvan.games import Chess

    board = game.board()
    if board.uci_variant != "chess":
        raise IllegalPosition(f"{where} is one of {board.uci_variant}: only chess is played here")
    try:
        Chess(board.fen(en_passant="fen"), chess960=board.chess960)
    except IllegalPosition as error:
        raise IllegalPosition(f"{where}: {error}") from None


def _has_tags(game: chess.pgn.Game) -> bool:
    return any(value not in ("?", "????.??.??", "*", "") for value in game.headers.values())


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def game_text(game: chess.pgn.Game) -> str:
    """A game as PGN, with an empty line behind it, so that games can be put one after another."""
    import chess.pgn

    exporter = chess.pgn.StringExporter(columns=80)
    return f"{game.accept(exporter)}\n\n"
