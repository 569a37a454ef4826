"""Action codes of chess: AlphaZero's 8×8×73 from the mover's side, by a second implementation.

Each common mistake of such codes has a test: promotions without a piece,
underpromotions that collide with them, axes that differ between actions and observations, and
boards that are flipped for Black while moves are not.
"""

from __future__ import annotations

import chess
import numpy as np
from hypothesis import given

from sylvan.games import Chess
from tests.games.chess_games import boards
from tests.games.chess_oracles import az73_code


@given(boards())
def test_codes_follow_the_formula_and_never_collide(board):
    game = Chess.from_board(board)
    game.set_root()
    expected = {az73_code(move, board.turn): board.uci(move) for move in board.legal_moves}
    assert len(expected) == board.legal_moves.count()
    if not game.is_terminal():
        assert {a: game.action_to_string(a) for a in game.legal_actions()} == expected
    assert all(0 <= action < Chess.num_actions for action in expected)


@given(boards())
def test_a_mirrored_position_has_the_same_codes_and_sees_the_same(board):
    board = chess.Board(board.fen(), chess960=board.chess960)
    game, mirrored = Chess.from_board(board), Chess.from_board(board.mirror())
    assert game.legal_actions() == mirrored.legal_actions()
    assert game.zobrist != mirrored.zobrist
    # They differ only in the plane of the side to move; the start position has no history.
    differing = np.flatnonzero(game.observation() != mirrored.observation())
    assert set(differing) <= {108, *range(13, 104)} and 108 in differing
    if chess.STARTING_FEN.split()[0] != board.board_fen():
        assert list(differing) == [108]


@given(boards())
def test_actions_and_observations_share_their_axes(board):
    """Bit `code // 73` of the own pieces' planes is set: the from-square of the action."""
    game = Chess.from_board(board)
    planes = [int(plane) for plane in game.observation()[:12]]
    own = sum(planes[:6])
    for action in game.legal_actions():
        square, plane = divmod(action, 73)
        assert own >> square & 1
        if 56 <= plane < 64:
            assert planes[1] >> square & 1  # a knight
        if plane >= 64:
            assert planes[0] >> square & 1 and 48 <= square < 56  # a pawn on its seventh rank


def test_promotions_keep_their_piece_and_their_code():
    for fen in ("1n5k/P7/8/8/8/8/8/K7 w - - 0 1", "k7/8/8/8/8/8/p7/1N5K b - - 0 1"):
        game = Chess(fen)
        texts = {game.action_to_string(a): a for a in game.legal_actions()}
        promotions = {text: a for text, a in texts.items() if len(text) == 5}
        assert sorted(text[-1] for text in promotions) == sorted("qrbn" * 2)
        assert len(set(promotions.values())) == 8
        for text, action in promotions.items():
            after = game.clone()
            after.apply(action)
            board = chess.Board(fen)
            board.push_uci(text)
            assert after.fen() == board.fen()
            assert after.board().piece_at(chess.parse_square(text[2:4])) == board.piece_at(
                chess.parse_square(text[2:4])
            )


def test_castling_is_the_kings_step_or_in_chess960_the_capture_of_its_rook():
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    king = 4 * 73
    game = Chess(fen)
    assert game.string_to_action("O-O") == game.string_to_action("e1g1") == king + 15
    assert game.string_to_action("e1h1") == king + 15
    assert game.string_to_action("O-O-O") == king + 43
    game = Chess(fen, chess960=True)
    assert game.string_to_action("O-O") == king + 16  # three files east, to h1
    assert game.string_to_action("O-O-O") == king + 45  # four files west, to a1
    assert game.action_to_string(king + 16) == "e1h1"
