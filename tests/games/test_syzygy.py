"""Compares endgame tables with python-chess's reader of the same files."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Iterator
from itertools import combinations_with_replacement

import chess
import chess.syzygy
import pytest

import sylvan
from sylvan.errors import ConfigError
from sylvan.games import Chess

TABLES = os.environ.get("SYLVAN_SYZYGY", "")

needs_tables = pytest.mark.skipif(
    not os.path.isdir(TABLES), reason="SYLVAN_SYZYGY names no folder with Syzygy tables"
)


@pytest.fixture(scope="module")
def oracle() -> Iterator[chess.syzygy.Tablebase]:
    with chess.syzygy.open_tablebase(TABLES) as tables:
        yield tables


def random_boards(count: int, seed: int, clock: int = 0) -> Iterator[chess.Board]:
    """Legal positions of three and four pieces, both sides to move."""
    rng = random.Random(seed)
    kinds = [
        [chess.Piece.from_symbol(symbol) for symbol in symbols]
        for size in (1, 2)
        for symbols in combinations_with_replacement("QRBNPqrbnp", size)
    ]
    while count:
        board = chess.Board(None)
        squares = rng.sample(range(64), 4)
        board.set_piece_at(squares[0], chess.Piece(chess.KING, chess.WHITE))
        board.set_piece_at(squares[1], chess.Piece(chess.KING, chess.BLACK))
        for square, piece in zip(squares[2:], rng.choice(kinds), strict=False):
            board.set_piece_at(square, piece)
        board.turn = rng.random() < 0.5
        board.halfmove_clock = clock
        if board.is_valid() and not board.is_game_over() and len(board.checkers()) < 2:
            count -= 1
            yield board


@pytest.mark.slow
@needs_tables
def test_probes_are_those_of_python_chess(oracle):
    seen = set()
    for board in random_boards(1500, seed=1):
        game = Chess(board.fen(), syzygy=TABLES)
        wdl = oracle.get_wdl(board)
        found = game.probe()
        if wdl is None:
            assert found is None
            continue
        assert found == (wdl, oracle.get_dtz(board)), board.fen()
        seen.add(wdl)
    assert seen >= {-2, 0, 2}


@needs_tables
def test_a_line_of_a_search_ends_in_the_tables_with_its_exact_value(oracle):
    """After a capture or a pawn move at the root, no evaluation is needed."""
    ends = 0
    for board in random_boards(1000, seed=2):
        game = Chess(board.fen(), syzygy=TABLES)
        game.set_root()
        for action in game.legal_actions():
            after = game.clone()
            after.apply(action)
            theirs = chess.Board(after.fen())
            if (
                theirs.halfmove_clock
                or theirs.is_game_over()
                or (wdl := oracle.get_wdl(theirs)) is None
            ):
                assert after.outcome != "tablebase"
                continue
            ends += 1
            value = {2: 1, -2: -1}.get(wdl, 0)
            signed = value if theirs.turn == chess.WHITE else -value
            assert after.is_terminal() and after.outcome == "tablebase"
            assert after.returns() == (signed, -signed) and after.legal_actions() == []
    assert ends > 300


# Three knights' moves from mate in more than fifty moves need larger tables than tests have, so
# cursed wins here come from a high clock.
@needs_tables
def test_wins_that_fifty_moves_frustrate_are_draws_only_at_their_clock(oracle):
    fen = "8/8/8/8/8/2k5/8/KBN5 w - - {} 80"
    plies = oracle.probe_dtz(chess.Board(fen.format(0)))
    assert plies > 30
    for clock in (0, 100 - plies - 2, 100 - plies + 2):
        game = Chess(fen.format(clock), syzygy=TABLES)
        assert game.probe() == (2, plies)
    # Inside the tree, positions with a clock above zero are searched.
    game = Chess(fen.format(60), syzygy=TABLES)
    game.set_root()
    game.apply(game.legal_actions()[0])
    assert not game.is_terminal()


def recommended(oracle: chess.syzygy.Tablebase, board: chess.Board) -> set[str]:
    """The moves with the best result; of wins, the shortest."""
    ranks = {}
    for move in board.legal_moves:
        board.push(move)
        clock = board.halfmove_clock
        if board.is_checkmate():
            rank = (9, 0)
        elif board.is_stalemate() or board.is_insufficient_material() or clock >= 100:
            rank = (0, 0)
        else:
            dtz = -oracle.probe_dtz(board)
            plies = abs(dtz)
            if dtz == 0:
                rank = (0, 0)
            elif plies + clock > 100:  # the clock saves the loser
                rank = (1, -plies) if dtz > 0 else (-1, plies)
            elif dtz > 0:
                rank = (2, -plies if clock else 0)
            else:
                rank = (-2, plies)
        board.pop()
        ranks[board.uci(move)] = rank
    best = max(ranks.values())
    return {move for move, rank in ranks.items() if rank == best}


@pytest.mark.slow
@needs_tables
@pytest.mark.parametrize("clock", [0, 37])
def test_a_root_chooses_from_what_the_tables_recommend(oracle, clock):
    narrowed = 0
    for board in random_boards(90, seed=3 + clock, clock=clock):
        try:
            expected = recommended(oracle, board)
        except KeyError:
            continue  # a table is missing: no recommendation
        game = Chess(board.fen(), syzygy=TABLES)
        root = sylvan.search(game, simulations=2, evaluator="uniform").tree.root
        chosen = {game.action_to_string(edge.action) for edge in root.edges}
        assert chosen == expected, board.fen()
        narrowed += len(expected) < board.legal_moves.count()
    assert narrowed > 30


@needs_tables
@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/8/8/2k5/8/KBN5 w - - 0 1",  # bishop and knight, the longest of the four-man mates
        "8/8/3k4/8/8/3K4/8/7R b - - 40 60",
        "8/8/8/3k4/8/8/3KP3/8 w - - 0 1",
        "8/1k6/8/8/3K4/8/8/Q5r1 w - - 0 1",
    ],
)
def test_won_games_are_won_and_never_repeat(fen, oracle):
    game = Chess(fen, syzygy=TABLES)
    board = game.board()
    expected = oracle.probe_wdl(board)
    assert abs(expected) == 2
    winner = board.turn if expected > 0 else not board.turn
    while not game.is_terminal():
        game.apply(sylvan.search(game, simulations=4, evaluator="uniform").best)
        assert len(game.moves) < 200
    assert game.outcome == "checkmate"
    assert game.returns() == ((1, -1) if winner == chess.WHITE else (-1, 1))


@needs_tables
def test_search_proves_what_the_tables_know():
    """A pawn's step to a won position is a win, without a search of what follows."""
    for fen in ("8/8/8/8/8/1k6/7P/K7 w - - 0 1", "k7/7p/1K6/8/8/8/8/8 b - - 0 1"):
        game = Chess(fen, syzygy=TABLES)
        result = sylvan.search(game, simulations=50, evaluator="uniform")
        assert (result.value, result.stopped_by) == (1, "proven")
        blind = sylvan.search(Chess(fen), simulations=50, evaluator="uniform")
        assert blind.stopped_by == "simulations"


@needs_tables
def test_reusing_the_tree_goes_on_where_tables_had_ended_it():
    game = Chess("8/8/3k4/8/8/3K4/4P3/7r w - - 0 1", syzygy=TABLES)
    search = sylvan.Search("uniform", simulations=200)
    search.run(game)
    for move in ("e4", "Kc5", "e5"):  # not recommended by the tables, but legal
        search.advance(search.state.string_to_action(move))
        assert not search.state.is_terminal()  # the game itself continues
        result = search.run()
        assert result.tree.root.edges
    assert search.state.fen().startswith("8/8/8/2k1P3")


@needs_tables
def test_the_game_itself_goes_on_and_copies_keep_their_tables():
    game = Chess("8/8/3k4/8/8/3K4/8/7R w - - 0 1", syzygy=TABLES)
    assert not game.is_terminal() and game.outcome is None and len(game.legal_actions()) == 22
    assert game.syzygy == TABLES and game != Chess(game.fen())
    for twin in (game.clone(), pickle.loads(pickle.dumps(game))):  # noqa: S301
        assert twin.syzygy == TABLES and twin == game
    assert eval(repr(game), {"Chess": Chess}) == game  # noqa: S307
    before = game.table_hits
    sylvan.search(game, simulations=10)
    assert game.table_hits > before
    assert Chess().syzygy is None and Chess().table_hits == 0 and Chess().probe() is None


@needs_tables
def test_positions_that_tables_do_not_have():
    for fen in (chess.STARTING_FEN, "4k3/8/8/8/8/8/8/4K2R w K - 0 1"):
        assert Chess(fen, syzygy=TABLES).probe() is None
    several = os.pathsep.join([TABLES, TABLES])
    assert Chess("8/8/3k4/8/8/3K4/8/7R w - - 0 1", syzygy=several).probe() == (2, 23)


def test_folders_without_tables_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere.*folder"):
        Chess(syzygy=tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="KQvK"):
        Chess(syzygy=tmp_path)
    (tmp_path / "KQvK.rtbw").write_bytes(b"broken")
    with pytest.raises(ConfigError, match=r"\(unexpected file size\)"):
        Chess(syzygy=tmp_path)
    (tmp_path / "KQvK.rtbw").write_bytes(bytes(80))
    game = Chess("8/8/3k4/8/8/3K4/8/7Q w - - 0 1", syzygy=tmp_path)
    assert game.probe() is None
    sylvan.search(game, simulations=10)
