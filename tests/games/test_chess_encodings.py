"""Compares every encoder and codec with a simple one in Python, over random and real games.

Each common mistake of chess encodings has a test: promotions without a piece, moves that share an
output, axes that differ between moves and planes, boards that are flipped for Black while moves are
not, no plane for the side to move, a history that does not advance.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sylvan
from sylvan.games import Chess
from sylvan.games.chess import expand_planes
from sylvan.games.encoding import CODECS, ENCODERS, HISTORY_FILLS, Encoding
from tests.games.chess_games import CHESS960, ENDINGS, KNOWN, boards, history
from tests.games.chess_oracles import (
    LC0_INDEX,
    LC0_OUTPUTS,
    az73_code,
    lc0_index,
    planes,
    played,
)
from tests.games.real_games import REAL_GAMES

LC0 = {encoder: Encoding(encoder, "lc0") for encoder in ENCODERS}
SIDE = {
    "lc0_112": [108],
    "az119": [112],
    "planes19": [12],
    "planes18": [17],
    "planes29": [12, 13],
}
NUMBERS = {
    "lc0_112": {109: 1.0},
    "az119": {113: 0.01, 118: 0.01},
    "planes19": {18: 0.01},
    "planes29": {19: 0.01, 20: 0.01},
}
CLOCK = {"lc0_112": 109, "az119": 118, "planes19": 18, "planes29": 19}
BOARDS = {"lc0_112": 13, "az119": 14}
MOVING = [*BOARDS, "planes29"]
"""Encoders that show the past."""


def random_games(count: int, seed: int = 0) -> Iterator[tuple[chess.Board, Iterator[chess.Move]]]:
    """First positions and moves; a third of the moves reverses the last, for repetitions."""
    rng = random.Random(seed)
    starts = [(fen, False) for fen in KNOWN + ENDINGS] + [(fen, True) for fen in CHESS960]
    for number in range(count):
        fen, chess960 = starts[number % len(starts)]
        yield chess.Board(fen, chess960=chess960), random_moves(fen, chess960, rng)


def random_moves(fen: str, chess960: bool, rng: random.Random) -> Iterator[chess.Move]:
    board = chess.Board(fen, chess960=chess960)
    for _ in range(120):
        moves = list(board.legal_moves)
        if not moves or board.is_insufficient_material():
            return
        move = rng.choice(moves)
        if len(board.move_stack) > 1 and rng.random() < 0.3:
            last = board.move_stack[-2]
            back = chess.Move(last.to_square, last.from_square)
            move = back if back in moves else move
        board.push(move)
        yield move


def real_games() -> Iterator[tuple[chess.Board, list[chess.Move]]]:
    for text in REAL_GAMES.values():
        board = chess.Board()
        for san in text.split():
            board.push_san(san)
        yield chess.Board(), list(board.move_stack)


def check_codecs(ours: Chess, theirs: chess.Board) -> None:
    """Every legal move to its output and back, in both codecs."""
    root = ours.clone()
    root.set_root()
    shown = root.encoded(LC0["lc0_112"])
    actions = root.legal_actions()
    outputs = {}
    for move in theirs.legal_moves:
        action = az73_code(move, theirs.turn)
        assert root.action_to_string(action) == theirs.uci(move)
        assert root.logit_index(action) == action
        index = shown.logit_index(action)
        assert index == lc0_index(theirs, move), theirs.uci(move)
        assert shown.action_at_logit(index) == action
        outputs[index] = action
    if actions:
        assert sorted(outputs.values()) == sorted(actions)
        assert len(outputs) == len(actions)


def check_planes(ours: Chess, past: list[chess.Board], fill: str) -> None:
    for encoder in ENCODERS:
        shown = ours.encoded(Encoding(encoder, history_fill=fill)).observation()
        assert shown.tolist() == planes(encoder, past, fill), (encoder, past[-1].fen())


@pytest.mark.parametrize("games", [17, pytest.param(340, marks=pytest.mark.soak)])
def test_random_games_ply_by_ply(games):
    """From each of 17 first positions; with 340 games about thirty thousand positions."""
    rng = random.Random(1)
    positions = 0
    for start, moves in random_games(games):
        fill = rng.choice(HISTORY_FILLS)
        for ours, theirs, past in played(start, moves):
            check_codecs(ours, theirs)
            check_planes(ours, past, fill)
            positions += 1
    assert positions > 60 * games


def test_real_games_ply_by_ply():
    positions = 0
    for start, moves in real_games():
        for ours, theirs, past in played(start, moves):
            check_codecs(ours, theirs)
            check_planes(ours, past, "fen_only")
            positions += 1
    assert positions == 45 + 33 + 82 + 87 + 4


def test_outputs_of_lc0_have_their_known_places():
    assert len(LC0_OUTPUTS) == len(LC0_INDEX) == CODECS["lc0"] == 1858
    known = {"e2e4": 322, "d2d4": 293, "g1f3": 159}
    game = Chess(codec="lc0")
    for move, index in known.items():
        assert game.logit_index(game.string_to_action(move)) == index == LC0_INDEX[move]
    queen = Chess("2r1r1k1/6p1/p3p2p/4p3/8/qB4Q1/6PP/3R3K w - - 0 34", codec="lc0")
    assert queen.logit_index(queen.string_to_action("g3e5")) == 617


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "fen", ["1n5k/P7/8/8/8/8/8/K7 w - - 0 1", "k7/8/8/8/8/8/p7/1N5K b - - 0 1"]
)
def test_promotions_keep_their_piece(fen, codec):
    game, board = Chess(fen, codec=codec), chess.Board(fen)
    found = {}
    for move in board.legal_moves:
        if move.promotion:
            index = game.logit_index(game.string_to_action(move.uci()))
            after = game.clone()
            after.apply(game.action_at_logit(index))
            board.push(move)
            assert after.fen() == board.fen()
            board.pop()
            found[index] = move.uci()
    assert len(found) == 8
    if codec == "lc0":
        view = {name[0] + "7" + name[2] + "8" + name[4:] for name in found.values()}
        assert view == {step + piece for step in ("a7a8", "a7b8") for piece in "qrbn"}
        knights = [index for index, name in found.items() if name.endswith("n")]
        assert sorted(knights) == [LC0_INDEX["a7a8"], LC0_INDEX["a7b8"]]


def test_a_rook_and_a_pawn_on_the_same_step_differ_in_lc0():
    rook = Chess("7k/R7/8/8/8/8/8/K7 w - - 0 1", codec="lc0")
    pawn = Chess("7k/P7/8/8/8/8/8/K7 w - - 0 1", codec="lc0")
    assert rook.logit_index(rook.string_to_action("a7a8")) == LC0_INDEX["a7a8"]
    assert pawn.logit_index(pawn.string_to_action("a7a8q")) == LC0_INDEX["a7a8q"]


@pytest.mark.parametrize("chess960", [False, True])
@pytest.mark.parametrize("side", "wb")
def test_castling_is_the_capture_of_the_own_rook_in_lc0(chess960, side):
    fen = f"r3k2r/8/8/8/8/8/8/R3K2R {side} KQkq - 0 1"
    game = Chess(fen, chess960=chess960, codec="lc0")
    assert game.logit_index(game.string_to_action("O-O")) == LC0_INDEX["e1h1"]
    assert game.logit_index(game.string_to_action("O-O-O")) == LC0_INDEX["e1a1"]
    # The king's normal step has the output that castling would use otherwise.
    assert (
        game.logit_index(game.string_to_action("Kf1" if side == "w" else "Kf8"))
        == (LC0_INDEX["e1f1"])
    )


def test_castling_with_a_king_beside_its_rook():
    """If king and rook swap squares, the code is a step of one file, but not a king's move."""
    game = Chess("5k2/8/8/8/8/8/8/5KR1 w G - 0 1", chess960=True, codec="lc0")
    castling = game.string_to_action("O-O")
    assert game.logit_index(castling) == LC0_INDEX["f1g1"]
    after = game.clone()
    after.apply(castling)
    assert after.fen().startswith("5k2/8/8/8/8/8/8/5RK1 b")


def test_en_passant_is_a_plain_step_and_a_plane():
    for fen, square, step in (
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", chess.D6, "e5d6"),
        ("4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 1", chess.D6, "e5d6"),  # d3 is Black's d6
    ):
        game = Chess(fen, codec="lc0")
        passing = game.string_to_action("exd6" if " w " in fen else "exd3")
        assert game.logit_index(passing) == LC0_INDEX[step]
        for encoder, plane in (("planes19", 17), ("planes18", 16), ("planes29", 18)):
            packed = Chess(fen, encoder=encoder).observation()
            assert int(packed[plane]) == chess.BB_SQUARES[square]
    # In the FEN, but no pawn can take: not shown, as in the rules.
    nobody = Chess("4k3/8/8/3p4/8/8/8/4K3 w - d6 0 1", encoder="planes19")
    assert nobody.observation()[17] == 0


@given(boards())
def test_a_mirrored_position_has_mirrored_moves_and_only_the_side_tells_it_apart(board):
    board = chess.Board(board.fen(), chess960=board.chess960)
    mirror = board.mirror()
    for encoder, encoding in LC0.items():
        game, mirrored = (Chess.from_board(b).encoded(encoding) for b in (board, mirror))
        assert game.legal_actions() == mirrored.legal_actions()
        for action in game.legal_actions():
            assert game.logit_index(action) == mirrored.logit_index(action)
            there, here = (g.action_to_string(action) for g in (mirrored, game))
            ranks = str.maketrans("12345678", "87654321")
            assert there == here.translate(ranks)
        differing = np.flatnonzero(game.observation() != mirrored.observation())
        if board.board_fen() != chess.STARTING_BOARD_FEN or encoder not in BOARDS:
            assert list(differing) == SIDE[encoder]


@given(boards(), st.sampled_from(list(ENCODERS)))
def test_moves_and_planes_share_their_axes(board, encoder):
    """The expanded planes have the moving piece on the output's from-square."""
    game = Chess.from_board(board, encoder=encoder, codec="lc0")
    cells = expand_planes(game.observation()[None], encoder)[0]
    own = cells[:6].sum(axis=0)
    for action in game.legal_actions():
        name = LC0_OUTPUTS[game.logit_index(action)]
        rank, file = int(name[1]) - 1, ord(name[0]) - ord("a")
        assert own[rank, file] == 1
        if len(name) == 5:
            assert cells[0, rank, file] == 1  # a pawn
        knight = {abs(ord(name[0]) - ord(name[2])), abs(int(name[1]) - int(name[3]))} == {1, 2}
        assert not knight or cells[1, rank, file] == 1


@given(boards(), st.sampled_from(list(ENCODERS)))
def test_expansion_spreads_bits_and_scales_numbers(board, encoder):
    game = Chess.from_board(board, encoder=encoder)
    packed = game.observation()
    cells = expand_planes(packed[None], encoder)[0]
    for plane, value in enumerate(packed.tolist()):
        scale = NUMBERS.get(encoder, {}).get(plane)
        if scale is not None:
            assert (cells[plane] == np.float32(value) * np.float32(scale)).all()
            continue
        bits = [[value >> (8 * rank + file) & 1 for file in range(8)] for rank in range(8)]
        np.testing.assert_array_equal(cells[plane], bits)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_batch_is_its_rows(encoder):
    games = [Chess(moves=moves, encoder=encoder) for moves in ("", "e4", "e4 c5 Nf3 d6 d4 cxd4")]
    packed = np.stack([game.observation() for game in games])
    whole = expand_planes(packed, encoder)
    assert whole.dtype == np.float32 and whole.flags.c_contiguous
    for row, game in zip(whole, games, strict=True):
        alone = expand_planes(game.observation()[None], encoder)[0]
        np.testing.assert_array_equal(row, alone)


@pytest.mark.parametrize("encoder", BOARDS)
def test_history_advances_along_the_path_of_the_tree(encoder):
    """A leaf's planes have the boards of the game and its own line, newest first."""
    per_board = BOARDS[encoder]
    game = Chess(moves="e4 e5 Nf3", encoder=encoder)
    forest = sylvan.Forest([game], simulations=300)
    depths = set()
    for leaves in forest:
        for leaf, row in enumerate(leaves.observations):
            state = leaves.state(leaf)
            assert (state.observation() == row).all()
            shown = [row[per_board * age : per_board * age + 12] for age in range(8)]
            depth = sum(int(board.any()) for board in shown) - 4
            depths.add(depth)
            # Consecutive boards differ: a standing history would show one board again and again.
            for newer, older in pairwise(shown[: 4 + depth]):
                assert (newer != older).any()
            assert not np.stack(shown[4 + depth :] or [np.zeros(12)]).any()
        forest.update(np.zeros(len(leaves.actions), np.float32), np.zeros(len(leaves)))
    assert depths >= {0, 1, 2}


@given(boards(plies=40), st.sampled_from(MOVING), st.sampled_from(HISTORY_FILLS))
def test_history_goes_on_from_the_game_into_a_line(board, encoder, fill):
    """Planes are those of python-chess's boards along game and line."""
    game = Chess.from_board(board, encoder=encoder, history_fill=fill)
    if game.is_terminal():
        return
    past = history(board)
    line, replay = game.clone(), board.copy()
    for _ in range(4):
        actions = line.legal_actions()
        if not actions:
            break
        move = replay.parse_uci(line.action_to_string(actions[len(past) % len(actions)]))
        line.apply(actions[len(past) % len(actions)])
        replay.push(move)
        past.append(replay.copy(stack=False))
        assert line.observation().tolist() == planes(encoder, past, fill)


def test_repetitions_are_counted_in_az119():
    game = Chess(moves="Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8", encoder="az119")
    packed = game.observation().reshape(-1)
    once = [bool(packed[14 * age + 12]) for age in range(8)]
    twice = [bool(packed[14 * age + 13]) for age in range(8)]
    assert once == [True] * 5 + [False] * 3  # the start position came back first four plies ago
    assert twice == [True] + [False] * 7


def test_numbers_are_numbers():
    fen = "3k4/8/8/8/8/8/4R3/4K3 b - - 37 60"
    for encoder, numbers in NUMBERS.items():
        game = Chess(fen, encoder=encoder)
        cells = expand_planes(game.observation()[None], encoder)[0]
        clock = CLOCK[encoder]
        assert int(game.observation()[clock]) == 37
        assert np.allclose(cells[clock], 37 * numbers[clock])
    for encoder, plane in (("az119", 113), ("planes29", 20)):
        cells = expand_planes(Chess(fen, encoder=encoder).observation()[None], encoder)[0]
        assert np.allclose(cells[plane], 0.6)


def test_planes29_show_the_squares_of_the_last_moves():
    game = Chess("r3k3/8/8/8/8/8/8/4K2R w Kq - 0 1", "O-O Ra1 Rxa1", encoder="planes29")
    packed = game.observation()[21:]
    theirs = [[chess.square_mirror(s) for s in chess.SquareSet(int(plane))] for plane in packed]
    shown = [{chess.SQUARE_NAMES[square] for square in squares} for squares in theirs]
    castled = {"e1", "f1", "g1", "h1"}
    assert shown == [{"a1", "f1"}, {"a8", "a1"}, castled, *[set()] * 5]
    passing = Chess("4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1", ["e4", "dxe3"], encoder="planes29")
    masks = [list(chess.SquareSet(int(plane))) for plane in passing.observation()[21:23]]
    assert masks == [[chess.E3, chess.D4, chess.E4], [chess.E2, chess.E4]]
