"""Facts of a game of chess: its first moves, material and endgame.

An endgame begins where each side has at most 13 points of pieces besides king and pawns (Speelman;
knights and bishops 3, rooks 5, queens 9). It is named after the strongest piece that is left then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import chess

__all__ = ["ChessFacts"]

OPENING_PLIES = 4
"""Half-moves that name a game's opening moves."""
ENDGAME_POINTS = 13
"""Most points of a side's pieces, without pawns, in an endgame."""

_POINTS = {2: 3, 3: 3, 4: 5, 5: 9}
"""Of python-chess's piece types without pawn and king: knight, bishop, rook, queen."""
_KINDS = {5: "queen", 4: "rook", 3: "bishop", 2: "knight", 1: "pawn"}


@dataclass(frozen=True)
class ChessFacts:
    """One game.

    >>> facts = ChessFacts.of(None, "e2e4 d7d5 e4d5 d8d5".split())
    >>> facts.opening, facts.material, facts.endgame
    ('1. e4 d5 2. exd5 Qxd5', 0, None)
    """

    opening: str
    """The first moves."""
    material: int
    """White's points minus Black's at the end, pawns included."""
    endgame: str | None
    """The strongest piece when the endgame began; None: it did not begin."""
    endgame_ply: int
    """The half-moves before it began; those of the game without an endgame."""

    @classmethod
    def of(cls, fen: str | None, moves: Sequence[str]) -> ChessFacts:
        """Replay a game.

        :param fen: the first position; None: the start of chess.
        :param moves: in UCI.
        """
        import chess

        board = chess.Board() if fen is None else chess.Board(fen)
        first = [chess.Move.from_uci(move) for move in moves[:OPENING_PLIES]]
        opening = board.variation_san(first)
        endgame, ply = _endgame(board), 0
        for move in moves:
            board.push_uci(move)
            if endgame is None:
                endgame, ply = _endgame(board), ply + 1
        white, black = (_points(board, side) for side in chess.COLORS)
        pawns = len(board.pieces(chess.PAWN, True)) - len(board.pieces(chess.PAWN, False))
        return cls(opening, white - black + pawns, endgame, ply)


def _points(board: chess.Board, side: bool) -> int:
    """The points of a side's pieces, without pawns."""
    return sum(worth * len(board.pieces(kind, side)) for kind, worth in _POINTS.items())


def _endgame(board: chess.Board) -> str | None:
    """The kind of endgame; None before it."""
    if max(_points(board, True), _points(board, False)) > ENDGAME_POINTS:
        return None
    return next((name for kind, name in _KINDS.items() if _has(board, kind)), "king")


def _has(board: chess.Board, kind: int) -> bool:
    return bool(board.pieces(kind, True) | board.pieces(kind, False))
