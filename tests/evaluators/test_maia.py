"""Maia's networks: published values, and an independent computation for every kind of position.

The expected answer comes from python-chess boards, an encoder of them written for the tests and a
forward pass in NumPy; see tests/networks/lc0/files.py and tests/games/test_chess_planes.py.
"""

import re
from functools import cache
from pathlib import Path

import chess
import numpy as np
import pytest

from sylvan import Forest, Search
from sylvan.evaluators import load_evaluator
from sylvan.games import Chess
from sylvan.games.encoding import Encoding
from tests.games.test_chess_planes import encode
from tests.networks.lc0.files import FileNet, policy_index
from tests.networks.nets import maia, needs_nets

pytestmark = needs_nets

FEN = "2r1r1k1/6p1/p3p2p/4p3/8/qB4Q1/6PP/3R3K w - - 0 34"


@cache
def evaluator(rating, fill="fen_only"):
    return load_evaluator(maia(rating), history_fill=fill)


def judged(game, rating, fill="fen_only"):
    """W, D, L and the probability of every legal move, in UCI."""
    network = evaluator(rating, fill)
    game = game.encoded(network.encoding)
    wdl = network.infer(game.observation()[None]).value[0]
    result = Search(network, simulations=0, prior_bits=32).run(game)
    policy = {game.action_to_string(edge.action): edge.P for edge in result.tree.root.edges}
    assert result.value == pytest.approx(wdl[0] - wdl[2], abs=1e-6)
    return wdl, policy


# --- published values ----------------------------------------------------------------------------

# Of lc0 itself: 1100's value at the start, 1900's of the position. The rest was computed once with
# a loader that gives these.
START = {
    1100: (0.04558, 0.03867, {"e2e4": 0.6606, "d2d4": 0.2098, "e2e3": 0.0301}),
    1500: (0.04016, 0.04019, {"e2e4": 0.6515, "d2d4": 0.2295, "c2c4": 0.0280}),
    1900: (0.03373, 0.05467, {"e2e4": 0.5639, "d2d4": 0.2891, "c2c4": 0.0487}),
}
FILLED = {1100: (-0.34449, 0.2567), 1500: (-0.43913, 0.4080), 1900: (-0.36067, 0.5638)}


@pytest.mark.parametrize("rating", START)
def test_the_start_is_judged_as_published(rating):
    value, draw, best = START[rating]
    wdl, policy = judged(Chess(), rating)
    assert wdl[0] - wdl[2] == pytest.approx(value, abs=1e-4)
    assert wdl[1] == pytest.approx(draw, abs=1e-4)
    assert sorted(policy, key=policy.get, reverse=True)[:3] == list(best)
    assert {move: policy[move] for move in best} == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("rating", FILLED)
def test_a_position_without_history_is_judged_as_published(rating):
    value, share = FILLED[rating]
    wdl, policy = judged(Chess(FEN), rating)
    assert wdl[0] - wdl[2] == pytest.approx(value, abs=1e-4)
    assert max(policy, key=policy.get) == "g3e5"
    assert policy["g3e5"] == pytest.approx(share, abs=1e-4)


def test_history_that_is_not_filled_is_another_position():
    wdl, policy = judged(Chess(FEN), 1900, fill="no")
    assert wdl[0] - wdl[2] == pytest.approx(-0.931, abs=1e-3)
    assert max(policy, key=policy.get) == "d1e1"


def test_policy_temperature_flattens():
    """lc0's own percentages at its default temperature of 1.359."""
    network = load_evaluator(maia(1900))
    root = Search(network, simulations=0, policy_temperature=1.359).run(Chess(FEN)).tree.root
    shares = {Chess(FEN).action_to_string(edge.action): edge.P for edge in root.edges}
    published = {"g3f4": 0.0003, "g3g5": 0.0008, "d1d4": 0.0008, "d1d5": 0.0009}
    assert {move: shares[move] for move in published} == pytest.approx(published, abs=5.1e-5)


# --- every kind of position, computed independently ----------------------------------------------

POSITIONS = {
    "black to move": (chess.STARTING_FEN, "e4 e5 Nf3"),
    "castling both ways": (
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "",
    ),
    "castling as black": (
        "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R b KQkq - 5 9",
        "",
    ),
    "one right lost": (chess.STARTING_FEN, "e4 e5 Nf3 Nc6 Bc4 Bc5 Rg1 Nf6"),
    "en passant as white": (chess.STARTING_FEN, "e4 a6 e5 d5"),
    "en passant as black": ("4k3/8/8/8/2p5/8/1P6/4K3 w - - 0 1", "b4"),
    "en passant from a FEN": ("8/8/8/2k5/3Pp3/8/8/4K2B b - d3 0 40", ""),
    "promotion as white": ("1n2k3/P1P5/8/8/8/8/5p2/4K1N1 w - - 0 1", ""),
    "promotion as black": ("4k3/8/8/8/8/8/p5p1/1N2KR2 b - - 0 1", ""),
    "a clock": ("4k3/8/8/8/8/8/8/R3K3 w Q - 95 80", ""),
    "a clock that runs": ("4k3/1r6/8/8/8/8/8/R3K3 w Q - 3 80", "Ra5 Rb1 Ke2"),
    "repetition": (chess.STARTING_FEN, "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6"),
    "a long game": (
        chess.STARTING_FEN,
        "e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6 Be2 e5 Nb3 Be7 O-O O-O Be3 Be6 Qd2 Nbd7",
    ),
}


def computed(board, rating):
    """The network's true output for a python-chess board: W, D, L and the policy by UCI."""
    policy, value, _ = network_in_numpy(rating).answer(encode(board)[None])
    moves = list(board.legal_moves)
    logits = np.array([policy[0, policy_index(seen_by_mover(board, move))] for move in moves])
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    return value[0], dict(zip([move.uci() for move in moves], shares, strict=True))


def seen_by_mover(board, move):
    """A move as lc0 names it: ranks from the mover's side, castling as king takes rook, a knight
    where the new piece of a pawn is not named.
    """
    end = move.to_square
    if board.is_castling(move):
        side = 7 if chess.square_file(end) == 6 else 0
        end = chess.square(side, chess.square_rank(end))
    squares = [move.from_square, end]
    if board.turn == chess.BLACK:
        squares = [chess.square_mirror(square) for square in squares]
    piece = chess.piece_symbol(move.promotion) if move.promotion else ""
    return "".join(map(chess.square_name, squares)) + piece.replace("n", "")


@cache
def network_in_numpy(rating):
    return FileNet(maia(rating))


@pytest.mark.parametrize(("fen", "moves"), POSITIONS.values(), ids=POSITIONS)
def test_positions_are_judged_as_computed(fen, moves):
    board = chess.Board(fen)
    for move in moves.split():
        board.push_san(move)
    wdl, policy = judged(Chess(fen, moves), 1500)
    expected_wdl, expected = computed(board, 1500)
    assert wdl == pytest.approx(expected_wdl, abs=1e-5)
    assert policy == pytest.approx(expected, abs=1e-5)


def test_leaves_of_a_search_are_judged_as_computed():
    """Positions inside the tree have the history of their path."""
    network = evaluator(1500)
    game = Chess(moves="e4 e5 Nf3 Nc6").encoded(network.encoding)
    near = {board.fen(en_passant="fen"): board for board in boards_after(game.board(), 2)}
    forest = Forest([game], simulations=80, leaves_in_flight=4)
    seen = []
    for leaves in forest:
        logits, values = network(leaves)
        rows = np.split(logits, leaves.offsets[1:-1])
        seen += [
            (state, row, value)
            for state, row, value in zip(leaves.states, rows, values, strict=True)
            if state.fen() in near
        ]
        forest.update(logits, values)
    assert len(seen) > 12
    for state, logits, value in (seen[0], seen[1], seen[9], seen[-1]):
        wdl, policy = computed(near[state.fen()], 1500)
        assert value == pytest.approx(wdl[0] - wdl[2], abs=1e-5)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        moves = [state.action_to_string(action) for action in state.legal_actions()]
        assert dict(zip(moves, shares, strict=True)) == pytest.approx(policy, abs=1e-5)


def boards_after(board, plies):
    """Copies of all boards up to so many plies on, with their stacks."""
    yield board.copy()
    if plies:
        for move in list(board.legal_moves):
            board.push(move)
            yield from boards_after(board, plies - 1)
            board.pop()


def test_a_mirrored_position_is_the_same_but_for_the_colour():
    """Planes and moves are seen from the mover's side; only plane 108 knows who it is."""
    network = evaluator(1500)
    board = chess.Board("r1bqk2r/ppp2ppp/2np1n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQK2R w KQkq - 2 6")
    games = [Chess(each.fen()).encoded(network.encoding) for each in (board, board.mirror())]
    planes = [network.expanded(game.observation()[None]) for game in games]
    assert planes[0][0, 108].max() == 0 and planes[1][0, 108].min() == 1
    planes[1][0, 108] = 0
    np.testing.assert_array_equal(planes[0], planes[1])
    first, second = (network.forward(each) for each in planes)
    np.testing.assert_array_equal(first.policy, second.policy)
    for move in board.legal_moves:
        twin = chess.Move(
            chess.square_mirror(move.from_square), chess.square_mirror(move.to_square)
        )
        indices = [
            game.logit_index(game.string_to_action(each.uci()))
            for game, each in zip(games, (move, twin), strict=True)
        ]
        assert indices[0] == indices[1]


def test_the_file_says_what_the_network_is():
    network = evaluator(1500)
    assert network.encoding == Encoding("lc0_112", "lc0", "fen_only")
    assert network.header.training_step == 400_000 and network.header.value == "wdl"
    architecture = network.header.architecture
    assert (architecture["blocks"], architecture["channels"], architecture["squeeze"]) == (6, 64, 8)
    assert network.name == "maia-1500.pb.gz"


def test_the_page_about_these_networks_runs(tmp_path, monkeypatch):
    """Its code is not run with the other pages, because it needs a file."""
    page = (Path(__file__).parents[2] / "docs" / "lc0-networks.md").read_text()
    (tmp_path / "maia-1500.pb.gz").symlink_to(maia(1500))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) > 4
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(block, namespace)
    assert namespace["on_gpu"].header == namespace["evaluator"].header
