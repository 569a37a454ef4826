"""Parse positions from the words of a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylvan.games.positions import position_of

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.games.naming import GameSpec

__all__ = ["are_pgns", "read_position", "spec_of"]


def are_pgns(words: list[str]) -> bool:
    """Return whether the words name PGNs: files, or `-` for stdin."""
    return bool(words) and all(word == "-" or word.lower().endswith(".pgn") for word in words)


def read_position(game: str, words: list[str], *, chess960: bool = False) -> Game:
    """Parse the position of a named game, or of the game of a run's folder.

    :param chess960: castle as in Chess960.
    :raises ConfigError: there is no such game.
    :raises IllegalPosition: a FEN breaks a rule of chess.
    :raises IllegalAction: a move is not legal in its position.
    """
    return position_of(spec_of(game), words, chess960=chess960)


def spec_of(game: str) -> GameSpec:
    """Return the game with a name, or the game of a run's folder.

    :raises RunError: the run is damaged.
    """
    from sylvan.evaluators.loading import is_run
    from sylvan.games.naming import GameSpec

    if not is_run(game):
        return GameSpec(game)
    from sylvan.runs.run import Run

    return Run.open(game).config.game.spec
