"""The position as SVG: the game's own picture, or a chess board with arrows for the best moves."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sylvan.views.protocol import Edge, Result

if TYPE_CHECKING:
    import chess
    import chess.svg

ARROWS = 3
SIZE = 340  # pixels


def board_svg(result: Result) -> str | None:
    """Return an SVG document of the state at the root, or `None` if the game has no picture.

    If `board()` returns a python-chess board, draw it with arrows for the best moves, stronger for
    more visits; otherwise use `_repr_svg_()`.
    """
    board = _chess_board(result.game)
    if board is not None:
        return _chess_svg(board, result)
    own = getattr(result.game, "_repr_svg_", None)
    picture = own() if callable(own) else None
    return picture if isinstance(picture, str) else None


def _chess_board(game: object) -> "chess.Board | None":
    method = getattr(game, "board", None)
    try:
        board = method() if callable(method) else None
    except TypeError:  # another game's `board`, which takes arguments
        return None
    chess = sys.modules.get("chess")  # if there is such a board, it is imported
    return board if chess is not None and isinstance(board, chess.Board) else None


def _chess_svg(board: "chess.Board", result: Result) -> str:
    import chess.svg

    edges = result.tree.root.edges
    return chess.svg.board(
        board,
        arrows=list(_arrows(board, edges[:ARROWS])),
        lastmove=board.peek() if board.move_stack else None,
        check=board.king(board.turn) if board.is_check() else None,
        size=SIZE,
    )


def _arrows(board: "chess.Board", edges: Sequence[Edge]) -> "Iterator[chess.svg.Arrow]":
    """Iterate over the arrows, the strongest last, so that it is on top."""
    import chess.svg

    most = max((edge.N for edge in edges), default=0)
    for rank, edge in reversed(list(enumerate(edges))):
        move = _move(board, edge.label)
        if move is not None:
            strength = edge.N / most if most else 0.0
            alpha = 230 if rank == 0 else round(60 + 120 * strength)
            colour = f"#{'1f6fb5' if rank == 0 else '4f6b85'}{alpha:02x}"
            yield chess.svg.Arrow(move.from_square, move.to_square, color=colour)


def _move(board: "chess.Board", label: str) -> "chess.Move | None":
    """Parse a label in SAN or UCI: `parse_san` reads both."""
    try:
        return board.parse_san(label)
    except ValueError:
        return None
