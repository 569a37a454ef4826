"""A chess board for the terminal, seen from either side."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from sylvan.games import Chess

__all__ = ["coloured_board", "plain_board"]

PIECES = dict(zip("KQRBNPkqrbnp", "♚♛♜♝♞♟♚♛♜♝♞♟", strict=True))
LIGHT, DARK, LAST = "#b7c0a0", "#6f8a5a", "#c9b458"
WHITE, BLACK = "#ffffff", "#101010"


def _ranks(game: Chess) -> list[list[str]]:
    """The pieces, `.` where there is none, from White's side: the eighth rank first."""
    placement = game.fen().split()[0]
    for number in range(1, 9):
        placement = placement.replace(str(number), "." * number)
    return [list(rank) for rank in placement.split("/")]


def plain_board(game: Chess, seat: int) -> str:
    """Letters and dots, with the person's own side below.

    >>> from sylvan.games import Chess
    >>> print(plain_board(Chess(moves="e4"), seat=1))
    1  R N B K Q B N R
    2  P P P . P P P P
    3  . . . . . . . .
    4  . . . P . . . .
    5  . . . . . . . .
    6  . . . . . . . .
    7  p p p p p p p p
    8  r n b k q b n r
       h g f e d c b a
    """
    turn = 1 if seat == 0 else -1
    rows = [f"{8 - i}  {' '.join(rank[::turn])}" for i, rank in enumerate(_ranks(game))][::turn]
    return "\n".join([*rows, f"   {' '.join('abcdefgh'[::turn])}"])


def coloured_board(game: Chess, seat: int) -> Text:
    """Figures on coloured squares; those of the last move stand out."""
    from rich.text import Text

    text = Text()
    turn = 1 if seat == 0 else -1
    last = game.moves[-1] if game.moves else ""
    for rank, pieces in list(enumerate(_ranks(game)))[::turn]:
        text.append(f"{8 - rank} ")
        for file, piece in list(enumerate(pieces))[::turn]:
            square = f"{'abcdefgh'[file]}{8 - rank}"
            ground = LAST if square in (last[:2], last[2:4]) else (LIGHT, DARK)[(file + rank) % 2]
            colour = WHITE if piece.isupper() else BLACK
            text.append(f" {PIECES.get(piece, ' ')} ", style=f"{colour} on {ground}")
        text.append("\n")
    return text.append(f"   {'  '.join('abcdefgh'[::turn])}")
