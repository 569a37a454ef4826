"""Mates that the finder claims are mates, judged by python-chess, and the search proves them."""

import chess
import numpy as np
import pytest

from sylvan import Forest, Search
from sylvan.evaluators import Cached, load_evaluator
from sylvan.evaluators.cached import cache_of, network_of
from sylvan.evaluators.mates import MateFinder
from sylvan.evaluators.shipped import NETS
from sylvan.games import Chess, ConnectFour

QUIET = "2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - 0 1"
"""1. Qg6 threatens mate in two ways."""
RETI = "rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq - 0 9"
"""1. Qd8+ Kxd8 2. Bg5+ and 3. Bd8 or Rd8 mate."""
GENEROUS = {"budget": 100_000, "root_budget": 100_000}


def found(fen, budgets=GENEROUS):
    """Return the mating move at the root of a search, or None."""
    forest = Forest([Chess(fen)], simulations=1)
    leaves = next(iter(forest))
    marks, values = forest._native.evaluate("mates", budgets)
    assert set(marks) <= {0, 1} and marks.sum() == values.reshape(1, 2)[0, leaves.seats[0]]
    moves = leaves.actions[marks == 1]
    return Chess(fen).action_to_string(int(moves[0])) if len(moves) else None


def positions(count, seed=0):
    """Yield positions of random games that are not over, with checks more often than by chance."""
    random = np.random.default_rng(seed)
    board = chess.Board()
    while count:
        if board.is_game_over() or board.fullmove_number > 60:
            board = chess.Board()
        moves = list(board.legal_moves)
        checks = [move for move in moves if board.gives_check(move)]
        board.push(random.choice(checks if checks and random.random() < 0.3 else moves))
        if not board.is_game_over():
            count -= 1
            yield board.copy(stack=False)


def mates_in_one(board):
    for move in board.legal_moves:
        board.push(move)
        mate = board.is_checkmate()
        board.pop()
        if mate:
            yield move


def test_every_mate_in_one_is_found():
    mates = 0
    for board in positions(1500):
        known = {move.uci() for move in mates_in_one(board)}
        if known:
            assert found(board.fen()) in known
            mates += 1
    assert mates >= 5


def prove(board, moves_left=4):
    """Check a claimed mate: after the move, every reply allows a claimed mate in fewer moves."""
    assert moves_left > 0, "the mate takes more than four moves"
    claimed = found(board.fen())
    assert claimed is not None, board.fen()
    board.push_uci(claimed)
    if not board.is_checkmate():
        assert not board.is_game_over()
        for reply in list(board.legal_moves):
            board.push(reply)
            prove(board, moves_left - 1)
            board.pop()
    board.pop()


def test_every_claim_is_a_forced_mate():
    claims = 0
    for board in positions(1200, seed=1):
        if found(board.fen(), {"budget": 500, "root_budget": 2_000}):
            prove(board)
            claims += 1
    assert claims >= 5
    prove(chess.Board(QUIET))
    prove(chess.Board(RETI))


def hidden(leaves):
    """Priors that hide checks and quiet sacrifices: the queen's moves are last."""
    priors = np.zeros(len(leaves.actions), np.float32)
    for leaf, state in enumerate(leaves.states):
        board = chess.Board(state.fen())
        for at in range(leaves.offsets[leaf], leaves.offsets[leaf + 1]):
            move = board.parse_uci(state.action_to_string(int(leaves.actions[at])))
            priors[at] = -8.0 if board.piece_type_at(move.from_square) == chess.QUEEN else 0.0
    return priors, np.zeros(len(leaves), np.float32)


@pytest.mark.parametrize(("fen", "best"), [(QUIET, "Qg6"), (RETI, "Qd8+")])
def test_a_search_proves_a_mate_that_priors_hide(fen, best):
    blind = Search(hidden, simulations=300).run(Chess(fen))
    assert blind.stopped_by == "simulations"
    result = Search(MateFinder(hidden), simulations=300).run(Chess(fen))
    assert (result.best_label, result.value, result.stopped_by) == (best, 1.0, "proven")


def test_both_forms_of_answers_are_understood():
    def whole(leaves):
        logits, values = np.zeros((len(leaves), leaves.num_logits)), np.zeros(len(leaves))
        return logits, np.stack([values, values], axis=1)

    results = [
        Search(MateFinder(evaluator), simulations=50).run(Chess(RETI))
        for evaluator in (
            whole,
            lambda leaves: (np.zeros(len(leaves.actions)), np.zeros(len(leaves))),
        )
    ]
    assert results[0].policy.tolist() == results[1].policy.tolist()
    assert results[0].value == results[1].value


def test_other_games_and_positions_without_mates_are_left_alone():
    def flat(leaves):
        return np.zeros(len(leaves.actions), np.float32), np.zeros(len(leaves), np.float32)

    for game in (ConnectFour(), Chess()):
        with_finder = Search(MateFinder(flat), simulations=100, seed=3).run(game)
        assert (
            with_finder.policy.tolist()
            == Search(flat, simulations=100, seed=3).run(game).policy.tolist()
        )


def test_a_network_keeps_its_name_and_its_cache():
    evaluator = load_evaluator(NETS / "chess.onnx", mates=True, cache_bytes=2**20, name="net")
    assert isinstance(evaluator, MateFinder) and evaluator.name == "net"
    assert isinstance(cache_of(evaluator), Cached)
    assert network_of(evaluator) is network_of(cache_of(evaluator))
    assert evaluator.encoding == network_of(evaluator).encoding
    result = Search(evaluator, simulations=200).run(Chess(QUIET))
    assert result.stopped_by == "proven" and len(result.pv) == 3
    again = Search(evaluator, simulations=200).run(Chess(QUIET))
    assert again.policy.tolist() == result.policy.tolist()
