"""Random games of chess for tests, by python-chess, the reference."""

from __future__ import annotations

from collections.abc import Iterator

import chess
from hypothesis import strategies as st

from sylvan.games import Chess

# Castling, promotions, pins, en passant, checks: difficult for move generators
# (chessprogramming.org, "Perft Results").
KNOWN = [
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
]
# Few pieces, high clocks, pawns close to promotion: games that end soon.
ENDINGS = [
    "8/P5k1/8/8/8/8/1K5p/8 w - - 0 60",
    "4k3/8/8/8/8/8/8/R3K2R w KQ - 95 80",
    "8/8/4k3/8/8/3NB3/4K3/8 w - - 92 90",
    "k7/8/1K6/8/8/8/8/7R w - - 0 1",
    "8/8/8/2k5/3Pp3/8/8/4K2B b - d3 0 40",
    "5k2/8/8/8/3p4/2b5/8/1K1B4 b - - 10 70",
]
CHESS960 = [chess.Board.from_chess960_pos(number).fen() for number in (0, 155, 518, 700, 959)]

starts = st.one_of(
    st.tuples(st.sampled_from(KNOWN + ENDINGS), st.just(False)),
    st.tuples(st.sampled_from(CHESS960), st.just(True)),
)


@st.composite
def boards(draw: st.DrawFn, plies: int = 60) -> chess.Board:
    """A board after random moves, with its move stack."""
    fen, chess960 = draw(starts)
    board = chess.Board(fen, chess960=chess960)
    length = draw(st.integers(0, plies))
    for choice in draw(st.lists(st.integers(0, 1000), min_size=length, max_size=length)):
        moves = list(board.legal_moves)
        if not moves:
            break
        # Some moves twice in a row and back again, so that positions repeat.
        back = _reversal(board) if choice % 3 == 0 else None
        board.push(back if back in moves else moves[choice % len(moves)])
    return board


def _reversal(board: chess.Board) -> chess.Move | None:
    """The move that reverses the mover's last move."""
    if len(board.move_stack) < 2:
        return None
    last = board.move_stack[-2]
    return chess.Move(last.to_square, last.from_square)


def history(board: chess.Board) -> list[chess.Board]:
    """All positions of the game, the first one first."""
    replay = board.root()
    positions = [replay.copy(stack=False)]
    for move in board.move_stack:
        replay.push(move)
        positions.append(replay.copy(stack=False))
    return positions


def side_by_side(board: chess.Board) -> Iterator[tuple[Chess, chess.Board]]:
    """Our game and theirs, ply by ply."""
    theirs = board.root()
    ours = Chess.from_board(theirs)
    yield ours, theirs
    for move in board.move_stack:
        theirs.push(move)
        ours.push(theirs.move_stack[-1].uci())
        yield ours, theirs
