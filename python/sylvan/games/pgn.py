"""Read and write games in PGN.

python-chess skips an illegal move and keeps the moves after it. These functions raise an error
instead, with the number of the game and the move.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from sylvan.errors import ConfigError, IllegalPosition
from sylvan.games.chess import first_pgn_error, has_game, pgn_builder

if TYPE_CHECKING:
    import chess.pgn

__all__ = ["game_text", "read_games", "read_text"]


def read_text(path: Path) -> str:
    """Read a text file in UTF-8, with or without a byte order mark, or in Latin-1 (old PGN files).

    :raises ConfigError: the path is not a readable text file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}"
        ) from None
    if b"\0" in data:
        raise ConfigError(f"{path} is not a text file: it contains zero bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_games(text: str, source: str) -> list[chess.pgn.Game]:
    """Read all games of a PGN.

    :param source: name of the text in error messages.
    :raises IllegalPosition: there is no game, or a game starts from an illegal position.
    :raises IllegalAction: a move is not legal.
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
            raise type(fault)(f"{where}: {reason}; correct it, or remove the game")
        _check_start(game, where)
        games.append(game)
    games = [game for game in games if has_game(game)]
    if not games:
        raise IllegalPosition(f"{source} has no game: give a PGN with moves like '1. e4 e5'")
    return games


def _check_start(game: chess.pgn.Game, where: str) -> None:
    """Raise unless Sylvan's own rules accept the game's first position."""
    from sylvan.games import Chess

    board = game.board()
    if board.uci_variant != "chess":
        raise IllegalPosition(f"{where}: the variant {board.uci_variant} is not supported")
    try:
        Chess(board.fen(en_passant="fen"), chess960=board.chess960)
    except IllegalPosition as error:
        raise IllegalPosition(f"{where}: {error}") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def game_text(game: chess.pgn.Game) -> str:
    """Write a game as PGN, followed by an empty line, so that games can be concatenated."""
    import chess.pgn

    exporter = chess.pgn.StringExporter(columns=80)
    return f"{game.accept(exporter)}\n\n"
