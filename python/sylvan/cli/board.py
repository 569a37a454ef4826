"""Boards for the terminal: chess, seen from either side, Connect Four, tic-tac-toe."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from sylvan.games import Chess, ConnectFour, Game, TicTacToe

__all__ = ["coloured", "coloured_board", "plain", "plain_board"]

PIECES = dict(zip("KQRBNPkqrbnp", "♚♛♜♝♞♟♚♛♜♝♞♟", strict=True))
LIGHT, DARK, LAST = "#b7c0a0", "#6f8a5a", "#c9b458"
WHITE, BLACK = "#ffffff", "#101010"
RED, YELLOW, EMPTY, FRAME = "#e0453c", "#f5c832", "#123f86", "#2b5fb3"


def plain(game: Game, seat: int) -> str:
    """Format any game as text; chess with the person's side at the bottom.

    A game without `__str__` and `__repr__` is shown as the observation of the seat to move.
    """
    from sylvan.games import Chess

    if isinstance(game, Chess):
        return plain_board(game, seat)
    kind = type(game)
    no_text = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    return str(game.observation()) if no_text and not game.is_terminal() else str(game)


def coloured(game: Game, seat: int, last: int | None = None) -> Text | None:
    """Format a game's board in colours, its last move marked; None if there is no coloured
    board.
    """
    from sylvan.games import Chess, ConnectFour, TicTacToe

    if isinstance(game, Chess):
        return coloured_board(game, seat)
    if isinstance(game, ConnectFour):
        return _connect_four(game, last)
    if isinstance(game, TicTacToe):
        return _tic_tac_toe(game, last)
    return None


def _connect_four(game: ConnectFour, last: int | None) -> Text:
    """Draw red and yellow stones in a blue frame with column numbers; the last stone is ringed."""
    from rich.text import Text

    text = Text()
    for row in reversed(range(game.rows)):
        for column in range(game.columns):
            owner = game.stone(column, row)
            full = row + 1 == game.rows or game.stone(column, row + 1) is None
            is_last = column == last and owner is not None and full
            colour = {None: EMPTY, 0: RED, 1: YELLOW}[owner]
            text.append(f" {'◉' if is_last else '●'} ", style=f"{colour} on {FRAME}")
        text.append("\n")
    return text.append("".join(f"{column + 1:^3}" for column in range(game.columns)))


def _tic_tac_toe(game: TicTacToe, last: int | None) -> Text:
    """Draw crosses, noughts and the numbers of free cells; the last mark is highlighted."""
    from rich.text import Text

    text = Text()
    for cell in range(9):
        owner = game.mark(cell)
        colour = {None: "dim", 0: f"bold {RED}", 1: f"bold {FRAME}"}[owner]
        ground = " on #3a3f45" if cell == last else ""
        mark = str(cell) if owner is None else "✕○"[owner]
        text.append(f" {mark} ", style=colour + ground)
        text.append("│" if cell % 3 < 2 else "\n───┼───┼───\n" if cell < 8 else "")
    return text


def _ranks(game: Chess) -> list[list[str]]:
    """Return the pieces, `.` for empty squares, rank 8 first."""
    placement = game.fen().split()[0]
    for number in range(1, 9):
        placement = placement.replace(str(number), "." * number)
    return [list(rank) for rank in placement.split("/")]


def plain_board(game: Chess, seat: int) -> str:
    """Format the board in letters and dots, the person's side at the bottom.

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
    """Draw pieces on coloured squares; the last move is highlighted."""
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
