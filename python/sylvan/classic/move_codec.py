"""The codec of the program around `alphachess`: moves as codes of 8 x 8 x 73, and back.

    code = encode(board, chess.Move.from_uci("e2e4"))   # 877
    move = decode(code, board)

The codes are those of the codec `az73` (`docs/chess-encodings.md`): from the mover's side, with
flipped ranks for Black. So a code means a move only on a board, which `decode` needs as well: it
says who moves, and whether a piece that reaches the last rank is a pawn, which becomes a queen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylvan.errors import IllegalAction
from sylvan.games.chess import Chess

if TYPE_CHECKING:
    import chess

__all__ = ["decode", "encode"]


def encode(board: chess.Board, move: chess.Move) -> int:
    """Return the code of a legal move, 0 to 4671.

    >>> import chess
    >>> encode(chess.Board(), chess.Move.from_uci("g1f3"))
    501

    :raises IllegalAction: the move is not legal on the board.
    """
    return _game(board).string_to_action(board.uci(move))


def decode(code: int, board: chess.Board) -> chess.Move:
    """Return the legal move with a code; queen promotions have their piece.

    >>> import chess
    >>> decode(3504, chess.Board("7k/P7/8/8/8/8/8/K7 w - - 0 1")).uci()
    'a7a8q'

    :raises IllegalAction: no legal move of the board has this code.
    """
    text = _game(board).action_to_string(code)  # of any move, legal or not
    try:
        return board.parse_uci(text)
    except ValueError:
        raise IllegalAction(f"Code {code} is {text}, not legal in {board.fen()!r}.") from None


def _game(board: chess.Board) -> Chess:
    return Chess(board.fen(en_passant="fen"), chess960=board.chess960)
