"""The documents' programs beside the search: evaluation, views, codecs."""

import json

import chess
import numpy as np
import pytest
import torch
from hypothesis import given

import sylvan
from sylvan import SearchConfig
from sylvan.classic.alphachess import decode, encode
from sylvan.engines.match import Match
from sylvan.engines.match.arbiter import Adjudication
from sylvan.engines.match.report import Report
from sylvan.errors import IllegalAction
from sylvan.evaluators import load_evaluator
from sylvan.evaluators.serving import NetworkServer
from sylvan.evaluators.shipped import NETS
from sylvan.games import Chess, TicTacToe
from sylvan.games.chess import expand_planes
from sylvan.games.naming import GameSpec
from sylvan.learning.examples import ExamplesConfig
from sylvan.learning.pretrain import import_examples
from sylvan.networks import build_network
from sylvan.players.specs import player_spec
from sylvan.players.strength import LADDER, strength
from sylvan.replay.buffer import Replay
from sylvan.runs.plots import PLOTS
from tests.games.chess_games import boards
from tests.games.chess_oracles import az73_code


@pytest.fixture(scope="module")
def played():
    players = (player_spec("material:simulations=20"), player_spec("random"))
    match = Match(players, rules=Adjudication(length=30))
    return match, list(match.play(range(4)))


def test_s0_27_a_match_counts_what_was_asked_for(played):
    facts = json.loads(json.dumps(Report(*played).to_json()))
    assert facts["wins"] + facts["draws"] + facts["losses"] == facts["games"] == 4
    low, high = facts["elo_interval_95"]
    assert low < facts["elo"] < high
    assert facts["plies"]["mean"] > 0 and sum(facts["endings"].values()) == 4
    assert {"captures", "checks"} <= facts.keys()
    assert facts["material"]["least"] <= facts["material"]["mean"]
    assert sum(facts["opening_moves"].values()) == 4 >= facts["endgames"]["games"]


def test_s0_27_colours_alternate_and_openings_are_played_from_both_sides(played):
    games = sorted(played[1], key=lambda game: game.number)
    assert [game.white for game in games] == [0, 1, 0, 1]
    assert [games[0].opening, games[2].opening] == [games[1].opening, games[3].opening]


def test_s0_28_a_picture_of_the_tree_has_its_visits(tmp_path):
    result = sylvan.search(Chess(), evaluator="material", simulations=200)
    result.save(tmp_path / "tree.svg", nodes=10)
    picture = (tmp_path / "tree.svg").read_text()
    best = result.tree.root.edge(result.best)
    assert f">N {best.N}<" in picture and f"{result.tree.root.N} visits" in picture


def test_s0_28_mean_length_and_return_have_plots():
    assert {"length", "returns"} <= {plot.name for plot in PLOTS}


def test_s1_20_the_planes_are_29():
    planes = Chess(moves="e4 d5", encoder="planes29").observation()
    assert planes.shape == (29,)
    # After the 12 planes of pieces: White moves, all may castle, no capture in passing, counters.
    assert planes[12:21].tolist() == [2**64 - 1, 0, *[2**64 - 1] * 4, 0, 0, 2]
    squares = [set(chess.SquareSet(int(plane))) for plane in planes[21:]]
    assert squares == [{chess.D7, chess.D5}, {chess.E2, chess.E4}, *[set()] * 6]


@given(board=boards())
def test_s1_20_encode_and_decode_are_the_codec(board):
    codes = [encode(board, move) for move in board.legal_moves]
    assert codes == [az73_code(move, board.turn) for move in board.legal_moves]
    assert [decode(code, board) for code in codes] == list(board.legal_moves)


@pytest.mark.parametrize("code", [0, 879, 4671, -1, 4672])
def test_s1_20_a_code_without_a_legal_move_is_refused(code):
    with pytest.raises(IllegalAction, match=str(code)):
        decode(code, chess.Board())


def test_s1_20_an_illegal_move_has_no_code():
    with pytest.raises(IllegalAction, match="e2e5"):
        encode(chess.Board(), chess.Move.from_uci("e2e5"))


@given(board=boards())
def test_s1_20_every_move_has_a_code_and_is_read_back_from_it(board):
    game = Chess.from_board(board)
    for move in [] if game.is_terminal() else board.legal_moves:
        action = game.string_to_action(move.uci())
        assert action == az73_code(move, board.turn) and 0 <= action < 4672
        assert game.action_to_string(action) == move.uci()


def test_s1_20_a_queen_promotion_keeps_its_piece():
    game = Chess("8/P6k/8/8/8/8/8/K7 w - - 0 1")
    assert game.action_to_string(game.string_to_action("a7a8q")) == "a7a8q"


@pytest.mark.parametrize("blocks", [10, 20])
def test_s1_20_a_residual_network_with_two_heads(blocks):
    game = Chess(encoder="planes29")
    network = build_network(f"{blocks}x8", game=game, value="scalar", seed=0).eval()
    planes = expand_planes(game.observation()[None], "planes29")
    with torch.no_grad():
        found = network(torch.from_numpy(planes))
    assert found.policy.shape == (1, 4672) and abs(float(found.value)) < 1


def test_s2_22_a_puzzle_is_an_example_to_learn_from(tmp_path):
    puzzles = [
        {"fen": "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "move": "a1a8", "mate": 1},
        {"fen": "r5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1", "move": "a8a1", "mate": 1},
    ]
    source = tmp_path / "puzzles.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in puzzles))
    import_examples([source], tmp_path / "examples", GameSpec("chess"), ExamplesConfig())
    records = list(Replay.read(tmp_path / "examples"))
    assert [record.values[0][record.seats[0]] for record in records] == [1, 1]
    for record, row in zip(records, puzzles, strict=True):
        move = chess.Move.from_uci(row["move"])
        turn = chess.WHITE if " w " in row["fen"] else chess.BLACK
        assert record.actions.tolist() == [az73_code(move, turn)]


def test_s2_22_a_mate_in_two_is_two_examples_for_its_solver(tmp_path):
    source = tmp_path / "mates.csv"
    source.write_text("FEN,Moves\n7k/8/R7/1R6/8/8/8/K7 b - - 0 1,h8g8 b5b7 g8h8 a6a8\n")
    import_examples([source], tmp_path / "examples", GameSpec("chess"), ExamplesConfig())
    (record,) = Replay.read(tmp_path / "examples")
    assert record.weights.tolist() == [0, 1, 0, 1] and record.returns.tolist() == [1, -1]


def test_s2_22_several_processes_are_clients_of_one_network(tmp_path):
    """Here two searches; processes and bad clients are in `test_network_server.py`."""
    network, address = load_evaluator(NETS / "tictactoe.onnx"), f"socket:{tmp_path / 'n'}"
    alone = sylvan.search(TicTacToe(), evaluator=network, simulations=50)
    with NetworkServer(network, address) as server:
        found = [sylvan.search(TicTacToe(), evaluator=address, simulations=50) for _ in range(2)]
    assert server.counts.clients == 2 and server.counts.positions > 50
    assert all(result.policy.tolist() == alone.policy.tolist() for result in found)


def test_s2_22_games_share_the_batches_of_one_network():
    """In one process, where that program had eight and a server between them."""
    sizes = []

    def network(leaves):
        sizes.append(len(leaves))
        return np.zeros((len(leaves), leaves.num_logits), np.float32), np.zeros(len(leaves))

    sylvan.Forest([Chess() for _ in range(8)], simulations=10, proofs=False).run(network)
    assert set(sizes) == {8}


def test_s3_23_the_measured_ladder_passes_1500():
    assert LADDER[0].elo < 1500 < LADDER[-1].elo
    assert strength(1500).elo == 1500


def test_s3_23_leaves_are_batched_only_if_somebody_asks():
    assert SearchConfig().leaves_in_flight == 1
