"""Compares the rules of chess with python-chess: moves, counts, keys and ends."""

from __future__ import annotations

import chess
import pytest
from hypothesis import given

import sylvan
from sylvan.games import Chess
from tests.games.chess_games import CHESS960, KNOWN, boards, side_by_side


def perft(board: chess.Board, depth: int) -> int:
    """The count by python-chess."""
    if depth == 0:
        return 1
    if depth == 1:
        return board.legal_moves.count()
    total = 0
    for move in list(board.legal_moves):
        board.push(move)
        total += perft(board, depth - 1)
        board.pop()
    return total


@pytest.mark.parametrize("fen", KNOWN + CHESS960)
def test_perft_of_known_positions(fen):
    chess960 = fen in CHESS960
    game = Chess(fen, chess960=chess960)
    board = chess.Board(fen, chess960=chess960)
    assert game.perft(0) == 1 and game.divide(0) == {}
    assert game.perft(3) == perft(board, 3)
    assert sum(game.divide(3).values()) == game.perft(3)


@given(boards())
def test_perft_of_random_positions(board):
    assert Chess.from_board(board).perft(2) == perft(board, 2)


@pytest.mark.slow
@given(boards())
def test_legal_moves_and_their_texts_are_those_of_python_chess(board):
    for ours, theirs in side_by_side(board):
        assert ours.fen() == theirs.fen()
        assert ours.to_play() == (0 if theirs.turn == chess.WHITE else 1)
        assert ours.is_check() == theirs.is_check()
        if ours.is_terminal():
            continue
        moves = {theirs.uci(move): theirs.san(move) for move in theirs.legal_moves}
        actions = ours.legal_actions()
        assert {ours.action_to_string(a): ours.san(a) for a in actions} == moves
        assert len(set(actions)) == len(actions)
        for action in actions:
            assert ours.string_to_action(ours.action_to_string(action)) == action
            assert ours.string_to_action(ours.san(action)) == action


@given(boards(plies=150))
def test_games_end_where_python_chess_says(board):
    for ours, theirs in side_by_side(board):
        white, black = ours.returns() if ours.is_terminal() else (None, None)
        if theirs.is_checkmate():
            assert ours.outcome == "checkmate"
            assert (white, black) == ((-1, 1) if theirs.turn == chess.WHITE else (1, -1))
            continue
        drawn = {
            "insufficient_material": theirs.is_insufficient_material(),
            "stalemate": theirs.is_stalemate(),
            "repetition": theirs.is_repetition(3),
            "fifty_moves": theirs.halfmove_clock >= 100,
        }
        assert ours.is_terminal() == any(drawn.values())
        assert ours.outcome is None or drawn[ours.outcome]
        assert white is None or (white, black) == (0, 0)
        assert bool(ours.legal_actions()) != ours.is_terminal()


@pytest.mark.parametrize(
    ("fen", "outcome", "returns"),
    [
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "stalemate", (0, 0)),
        ("8/8/8/8/8/6k1/5q2/7K w - - 0 1", "stalemate", (0, 0)),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "checkmate", (1, -1)),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 100 80", "checkmate", (1, -1)),
        ("8/8/8/8/8/6k1/6q1/7K w - - 0 1", "checkmate", (-1, 1)),
        ("7k/8/6K1/8/8/8/8/5Q2 b - - 100 80", "fifty_moves", (0, 0)),
        ("7k/8/6K1/8/8/8/8/5B2 b - - 0 1", "insufficient_material", (0, 0)),
    ],
)
def test_finished_positions_pay_what_they_should(fen, outcome, returns):
    game = Chess(fen)
    assert game.is_terminal() and game.legal_actions() == []
    assert (game.outcome, game.returns()) == (outcome, returns)


def test_transpositions_share_the_position_key_but_not_the_key_of_past_and_observation():
    one, two = Chess(moves="e4 e5 Nf3 Nc6"), Chess(moves="Nf3 Nc6 e4 e5")
    assert one.fen().split()[:4] == two.fen().split()[:4]
    assert one.zobrist == two.zobrist
    assert one.key() != two.key()  # their clocks and earlier boards differ
    assert Chess(moves="e4").zobrist != Chess(moves="e3").zobrist
    # No pawn can take en passant on e6, so one step and two lead to the same position.
    assert Chess(moves="e4 e5").zobrist == Chess(moves="e3 e6 e4 e5").zobrist
    # Here a pawn can.
    assert Chess(moves="e4 a6 e5 d5").zobrist != Chess(moves="e3 a6 e4 d6 e5 d5").zobrist


@given(boards(plies=120))
def test_position_keys_are_equal_exactly_for_equal_positions(board):
    keys: dict[int, str] = {}
    for ours, theirs in side_by_side(board):
        position = theirs.epd(en_passant="legal")
        assert keys.setdefault(ours.zobrist, position) == position
        again = Chess(theirs.fen(en_passant="legal"), chess960=theirs.chess960)
        assert again.zobrist == ours.zobrist
    assert len(set(keys.values())) == len(keys)


def test_a_search_root_is_never_over_while_it_has_moves():
    drawn = Chess(moves="Nf3 Nf6 Ng1 Ng8 " * 2)
    assert drawn.is_terminal() and drawn.legal_actions() == []
    drawn.set_root()
    assert not drawn.is_terminal() and len(drawn.legal_actions()) == 20
    drawn.apply(drawn.string_to_action("Nf3"))  # for the third time
    assert drawn.outcome == "repetition"


def test_twofold_inside_the_tree_is_an_option():
    for repetitions, outcome in ((3, None), (2, "repetition")):
        game = Chess(moves="e4 e5", repetitions=repetitions)
        game.set_root()
        for move in ("Nf3", "Nf6", "Ng1", "Ng8"):
            game.push(move)
        assert game.outcome == outcome


def test_a_drawn_root_is_searched_and_its_tree_knows_the_game_before():
    drawn = Chess(moves="Nf3 Nf6 Ng1 Ng8 " * 2)
    result = sylvan.search(drawn, simulations=200)
    assert result.best in Chess().legal_actions()
    # One more cycle is a draw, because the position occurred twice before the search.
    again = next(e for e in result.tree.root.edges if drawn.action_to_string(e.action) == "g1f3")
    assert again.N == 0 or again.Q == 0
