"""Compares the 112 planes of an observation with a slow encoder over python-chess boards.

The layout is lc0's input format 1; `encode` below is written from its description alone, square by
square, so that both must have the same mistake to agree.
"""

from __future__ import annotations

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import sylvan
from sylvan.errors import ConfigError
from sylvan.games import Chess
from sylvan.games.chess import expand_planes
from tests.games.chess_games import boards, history, side_by_side
from tests.games.chess_oracles import before_the_first

PIECES = [chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING]
FILLS = ["no", "fen_only", "always"]


def encode(board: chess.Board, fill: str = "fen_only") -> NDArray[np.float32]:
    """float32 [112, 8, 8], row = rank and column = file from the mover's side."""
    mover = board.turn
    planes = np.zeros((112, 8, 8), np.float32)
    past = history(board)
    for age in range(8):
        index = len(past) - 1 - age
        if index >= 0:
            draw_board(planes[13 * age : 13 * age + 13], past[index], mover)
            if past[index].epd() in {earlier.epd() for earlier in past[:index]}:
                planes[13 * age + 12] = 1
        elif (shown := before_the_first(past[0], fill, index)) is not None:
            draw_board(planes[13 * age : 13 * age + 13], shown, mover)
    planes[104] = board.has_queenside_castling_rights(mover)
    planes[105] = board.has_kingside_castling_rights(mover)
    planes[106] = board.has_queenside_castling_rights(not mover)
    planes[107] = board.has_kingside_castling_rights(not mover)
    planes[108] = mover == chess.BLACK
    planes[109] = board.halfmove_clock
    planes[111] = 1
    return planes


def draw_board(planes: NDArray[np.float32], board: chess.Board, mover: chess.Color) -> None:
    for square, piece in board.piece_map().items():
        rank, file = chess.square_rank(square), chess.square_file(square)
        if mover == chess.BLACK:
            rank = 7 - rank
        theirs = 6 if piece.color != mover else 0
        planes[PIECES.index(piece.piece_type) + theirs, rank, file] = 1


def planes_of(game: Chess) -> NDArray[np.float32]:
    packed = game.observation()
    assert packed.dtype == np.uint64 and packed.shape == (112,)
    expanded = expand_planes(packed[None])
    assert expanded.dtype == np.float32 and expanded.shape == (1, 112, 8, 8)
    return expanded[0]


@pytest.mark.slow
@given(boards(), st.sampled_from(FILLS))
def test_planes_are_those_of_the_slow_encoder(board, fill):
    game = Chess.from_board(board, history_fill=fill)
    np.testing.assert_array_equal(planes_of(game), encode(board, fill))


@settings(max_examples=10)
@given(boards(plies=30))
def test_planes_follow_the_game_ply_by_ply(board):
    for ours, theirs in side_by_side(board):
        np.testing.assert_array_equal(planes_of(ours), encode(theirs))
        copy = ours.clone()
        assert (copy.observation() == ours.observation()).all()


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize(
    ("fen", "moves"),
    [
        (chess.STARTING_FEN, ""),
        (chess.STARTING_FEN, "e4 e5 Nf3"),
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", ""),
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", "e5 Nf3 Nc6 Bb5 a6"),
        ("rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", ""),
        ("rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", "exf6 Nh6 fxg7"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w Kq - 42 60", "O-O Ke7 Rae1+"),
        ("4k3/8/8/8/8/8/4P3/4K3 b - - 7 9", "Kd8 Kd1 Ke8 Ke1 Kd8 Kd1 Ke8"),
    ],
)
def test_missing_history_is_filled_as_asked(fen, moves, fill):
    game = Chess(fen, moves, history_fill=fill)
    np.testing.assert_array_equal(planes_of(game), encode(game.board(), fill))


def test_what_the_fills_differ_in():
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    shown = {fill: planes_of(Chess(fen, history_fill=fill))[13:104].any() for fill in FILLS}
    assert shown == {"no": False, "fen_only": True, "always": True}
    shown = {fill: planes_of(Chess(history_fill=fill))[13:104].any() for fill in FILLS}
    assert shown == {"no": False, "fen_only": False, "always": True}
    # The pawn that has just made two steps shows one earlier board even without filling.
    pushed = Chess("4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1", history_fill="no")
    planes = planes_of(pushed)
    assert planes[13 + 6, 6, 4] == 1 and planes[6, 4, 4] == 1  # Black's view: e2 is on its 7th rank
    assert not planes[26:104].any()


def test_a_position_that_came_back_says_so_in_all_boards_that_show_it():
    game = Chess(moves="Nf3 Nf6 Ng1 Ng8 Nf3")
    planes = planes_of(game)
    assert [bool(planes[13 * age + 12].all()) for age in range(8)] == [True, True] + [False] * 6
    np.testing.assert_array_equal(planes, encode(game.board()))


def test_the_clock_is_a_number_and_not_a_mask():
    game = Chess("3k4/8/8/8/8/8/4R3/4K3 w - - 37 60")
    assert int(game.observation()[109]) == 37
    assert (planes_of(game)[109] == 37).all()


def test_expansion_checks_its_input():
    with pytest.raises(ConfigError, match="112"):
        expand_planes(np.zeros((2, 111), np.uint64))
    with pytest.raises(TypeError):
        expand_planes(np.zeros((2, 112), np.float32))
    packed = np.stack([Chess().observation(), Chess(moves="e4").observation()])
    whole = expand_planes(packed)
    np.testing.assert_array_equal(expand_planes(packed[::-1]), whole[::-1])
    assert expand_planes(packed[:0]).shape == (0, 112, 8, 8)


def test_leaves_of_a_search_see_the_moves_that_led_to_them():
    """History continues inside the tree: a leaf's planes equal those of a real game."""
    played = Chess("4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1", "Kd1 Kd8 Ke1 Ke8 e4")
    lines, seen = [played], {played.observation().tobytes()}
    for _ in range(4):
        lines = [after(game, action) for game in lines for action in game.legal_actions()]
        seen.update(game.observation().tobytes() for game in lines)
    forest = sylvan.Forest([played], simulations=60)
    rows = 0
    for leaves in forest:
        rows += len(leaves.observations)
        assert all(row.tobytes() in seen for row in leaves.observations)
        shape = (len(leaves.observations), Chess.num_actions)
        forest.update(np.zeros(shape, np.float32), np.zeros(shape[0], np.float32))
    assert rows > 30


def after(game: Chess, action: int) -> Chess:
    """A copy of the game in which the action was played."""
    game = game.clone()
    game.apply(action)
    return game
