"""Chess through its Python class: boards, PGN, copies, pictures and errors."""

from __future__ import annotations

import contextlib
import copy
import pickle
import xml.etree.ElementTree as ElementTree

import chess
import chess.pgn
import chess.variant
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sylvan
from sylvan.errors import ConfigError, GameOver, IllegalAction, IllegalPosition, SylvanError
from sylvan.games import Chess, Game
from sylvan.games.encoding import ENCODERS
from sylvan.testing import check_game
from tests.games.chess_games import CHESS960, ENDINGS, KNOWN, boards


@pytest.mark.slow
def test_it_keeps_the_contract_of_a_game():
    assert isinstance(Chess(), Game)
    assert (Chess.num_players, Chess.num_actions, Chess.value_range) == (2, 4672, (-1.0, 1.0))
    assert Chess().zero_sum and Chess().symmetries() == ()
    check_game(Chess, games=2)
    check_game(Chess(ENDINGS[0]), games=5)
    check_game(Chess(CHESS960[1], chess960=True), games=1)


@given(boards())
def test_a_board_and_its_moves_come_back(board):
    game = Chess.from_board(board)
    back = game.board()
    assert back == board and back.root() == board.root() and back.chess960 == board.chess960
    assert [back.uci(m) for m in back.move_stack] == [board.uci(m) for m in board.move_stack]
    assert game.fen() == board.fen()


@given(boards(), st.sampled_from(["no", "fen_only", "always"]), st.sampled_from([2, 3]))
def test_copies_are_equal_and_independent(board, fill, repetitions):
    game = Chess.from_board(board, history_fill=fill, repetitions=repetitions)
    unpickled = pickle.loads(pickle.dumps(game))  # noqa: S301
    rebuilt = eval(repr(game), {"Chess": Chess})  # noqa: S307
    for twin in (game.clone(), copy.copy(game), copy.deepcopy(game), unpickled, rebuilt):
        assert type(twin) is Chess and twin == game
        assert twin.key() == game.key() and twin.moves == game.moves
        assert (twin.history_fill, twin.repetitions) == (fill, repetitions)
        assert (twin.observation() == game.observation()).all()
        if twin.legal_actions():
            twin.apply(twin.legal_actions()[0])
            assert twin != game and game.fen() == board.fen()


def test_equality_is_of_position_past_and_options():
    assert Chess() == Chess() and Chess() != Chess(moves="e4")
    assert Chess() != Chess(repetitions=2) and Chess() != "chess"
    there_and_back = Chess(moves="Nf3 Nf6 Ng1 Ng8")
    assert there_and_back.zobrist == Chess().zobrist and there_and_back != Chess()


@given(boards(plies=40), boards(plies=40), st.sampled_from(list(ENCODERS)))
def test_equal_keys_mean_equal_observations(one, two, encoder):
    a, b = (Chess.from_board(board, encoder=encoder) for board in (one, two))
    same = (a.observation() == b.observation()).all()
    assert a.key() != b.key() or same
    assert len(a.key()) == 16


def test_moves_may_be_given_in_every_form():
    game = Chess(moves="e4 e7e5 Nf3")
    e4 = Chess().string_to_action("e4")
    assert Chess(moves=[e4, "e5", chess.Move.from_uci("g1f3")]) == game
    assert Chess(moves=np.array([e4])).moves == ["e2e4"]
    assert Chess(moves=iter(["e4", "e5", "Nf3"])) == game
    game.push("Nc6")
    game.push(chess.Move.from_uci("f1b5"))
    assert game.moves[-2:] == ["b8c6", "f1b5"]
    with pytest.raises(IllegalAction, match="code"):
        Chess(moves=[3.5])


def test_play_may_go_on_where_a_draw_was_not_claimed():
    game = Chess(moves="Nf3 Nf6 Ng1 Ng8 " * 3)
    assert game.outcome == "repetition"
    with pytest.raises(GameOver, match="repetition"):
        game.apply(Chess().legal_actions()[0])
    game.push("e4")
    assert not game.is_terminal() and len(game.moves) == 13


PGN = """[Event "Test"]
[Variant "Chess960"]
[FEN "{fen}"]
[SetUp "1"]

1. e4 e5 2. f4 *
"""


def test_a_pgn_is_read_up_to_a_ply():
    text = "1. e4 {good} e5 (1... c5 2. Nf3) 2. Nf3 Nc6 1/2-1/2\n\n1. d4 *"
    assert Chess.from_pgn(text).moves == ["e2e4", "e7e5", "g1f3", "b8c6"]
    assert Chess.from_pgn(text, ply=1).moves == ["e2e4"]
    assert Chess.from_pgn(text, ply=0) == Chess()
    shuffled = Chess.from_pgn(PGN.format(fen=CHESS960[1]), history_fill="no")
    assert shuffled.chess960 and len(shuffled.moves) == 3 and shuffled.history_fill == "no"
    with pytest.raises(IllegalAction, match="0 to 4"):
        Chess.from_pgn(text, ply=5)
    with pytest.raises(IllegalAction, match="Nf6"):
        Chess.from_pgn("1. e4 e5 2. Nf6")
    for nothing in ("", "hello"):
        with pytest.raises(IllegalPosition, match="has no game"):
            Chess.from_pgn(nothing)
    with pytest.raises(SylvanError):
        Chess.from_pgn('[FEN "nonsense"]\n\n1. e4 *')


def test_boards_that_are_no_chess_are_refused():
    with pytest.raises(IllegalPosition, match="AtomicBoard"):
        Chess.from_board(chess.variant.AtomicBoard())
    passed = chess.Board()
    passed.push(chess.Move.null())
    with pytest.raises(IllegalAction, match="0000"):
        Chess.from_board(passed)
    with pytest.raises(IllegalPosition, match="king"):
        Chess.from_board(chess.Board(None))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Chess("8/8/8/8/8/8/8/4K3 w - - 0 1"), IllegalPosition, ["king is missing"]),
        (lambda: Chess("not a fen"), IllegalPosition, ["not a fen", "8 ranks"]),
        (lambda: Chess(CHESS960[1]), IllegalPosition, ["Chess960"]),
        (lambda: Chess(moves="e4 e5 Nf6"), IllegalAction, ["Nf6", "Nf3"]),
        (lambda: Chess(moves="e2e5"), IllegalAction, ["e2e5", "e2e4"]),
        (lambda: Chess(moves="hello"), IllegalAction, ["hello", "UCI"]),
        (lambda: Chess(moves="f3 e5 g4 Qh4 e4"), GameOver, ["Black has mated"]),
        (lambda: Chess().apply(0), IllegalAction, ["Action 0", "a1a2"]),
        (lambda: Chess().apply(4672), IllegalAction, ["no move has this code"]),
        (lambda: Chess().apply(-1), IllegalAction, ["-1", "4671"]),
        (lambda: Chess().apply(2**80), IllegalAction, ["4671"]),
        (lambda: Chess().san(0), IllegalAction, ["Action 0"]),
        (lambda: Chess().action_to_string(73 * 28), IllegalAction, ["Action 2044"]),
        (lambda: Chess().perft(-1), ConfigError, ["-1", "255"]),
        (lambda: Chess(repetitions=4), ConfigError, ["repetitions is 4"]),
        (lambda: Chess(history_fill="all"), ConfigError, ["all", "always"]),
        (lambda: Chess().apply("e4"), IllegalAction, ["'e4' is not an action", "string_to_action"]),
        (lambda: Chess().apply(None), IllegalAction, ["None is not an action"]),
    ],
)
def test_wrong_input_is_told_the_rule_and_the_fix(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), str(caught.value)


@given(st.text(max_size=90) | st.sampled_from(KNOWN).map(lambda fen: fen.replace("/", "//", 1)))
def test_any_text_gives_a_game_or_a_typed_error(text):
    for make in (lambda: Chess(text), lambda: Chess(moves=text), lambda: Chess.from_pgn(text)):
        with contextlib.suppress(IllegalPosition, IllegalAction, GameOver):
            assert isinstance(make(), Chess)


def test_an_error_changes_nothing():
    game = Chess(moves="e4 e5")
    key, moves = game.key(), game.moves
    for wrong in (lambda: game.apply(1), lambda: game.push("Ke3"), lambda: game.push("xyz")):
        with pytest.raises(IllegalAction):
            wrong()
    assert (game.key(), game.moves) == (key, moves)


def test_pictures():
    game = Chess(moves="e4 e5 Qh5 Nc6 Qxf7")
    assert str(game).splitlines()[0] == "8  r . b q k b n r"
    assert str(game).endswith("a b c d e f g h   Black to move")
    mated = Chess(moves="f3 e5 g4 Qh4")
    assert str(mated).endswith("Black has mated")
    assert "draw by stalemate" in str(Chess("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"))
    for state in (Chess(), game, mated, Chess(CHESS960[1], chess960=True)):
        ElementTree.fromstring(state._repr_svg_())


@pytest.mark.parametrize(
    ("fen", "best"),
    [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", {"Rd8#"}),
        ("3r2k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", {"Rd1#"}),
        ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", {"exd5"}),  # a queen hangs
        ("4k3/8/8/8/8/2p5/1P6/4K3 w - - 0 1", {"bxc3"}),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", {"a8=Q+", "a8=R+"}),
        ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", {"Qxf7#"}),
        # Mates in two and three that begin with a sacrifice.
        ("4kb1r/p2n1ppp/4q3/4p1B1/4P3/1Q6/PPP2PPP/2KR4 w k - 1 1", {"Qb8+"}),
        ("2kr4/ppp2ppp/1q6/4p3/4P1b1/4Q3/P2N1PPP/4KB1R b K - 1 1", {"Qb1+"}),
        ("r1b3kr/ppp1Bp1p/1b6/n2P4/2p3q1/2Q2N2/P4PPP/RN2R1K1 w - - 1 1", {"Qxh8+"}),
    ],
)
def test_without_a_network_search_takes_what_hangs_and_mates(fen, best):
    game = Chess(fen)
    result = sylvan.search(game, evaluator="material", simulations=400)
    assert game.san(result.best) in best


@pytest.mark.parametrize("piece", ["Q", "R"])
def test_without_a_network_search_mates_a_bare_king(piece):
    game = Chess(f"8/8/3k4/8/8/3K4/8/7{piece} w - - 0 1")
    while not game.is_terminal():
        game.apply(sylvan.search(game, evaluator="material", simulations=2000).best)
    assert game.outcome == "checkmate" and game.returns() == (1, -1)
    assert len(game.moves) < 70
