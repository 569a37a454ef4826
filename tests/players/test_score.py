"""Centipawns, mates and win-draw-loss shares, against their definitions."""

import math
import os
from pathlib import Path

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sylvan
from sylvan.evaluators import load_evaluator
from sylvan.games import Chess
from sylvan.players.score import (
    DRAWS,
    MOST,
    Score,
    centipawns,
    draw_share,
    draws_between_equals,
    edge_score,
    q_of_centipawns,
    result_score,
    wdl,
)

NETS = os.environ.get("SYLVAN_NETS")
results = st.floats(-1.0, 1.0)


@given(st.integers(-9000, 9000))
def test_centipawns_and_back(cp):
    assert centipawns(q_of_centipawns(cp)) == cp


@given(results, results)
def test_a_better_result_never_shows_as_a_lower_score(a, b):
    low, high = sorted((a, b))
    assert centipawns(low) <= centipawns(high)
    assert -MOST <= centipawns(low) == -centipawns(-low)


def solved(q, draws):
    """The model's shares by bisection on x, from its definition."""
    a = math.log((1 + draws) / (1 - draws))

    def shares(x):
        return 1 / (1 + math.exp(a - x)), 1 / (1 + math.exp(a + x))

    low, high = -60.0, 60.0
    for _ in range(200):
        x = (low + high) / 2
        win, loss = shares(x)
        low, high = (x, high) if win - loss < q else (low, x)
    return shares(low)


@given(st.floats(-0.999, 0.999), st.sampled_from([0.05, DRAWS, 0.7]))
def test_shares_are_the_models(q, draws):
    wins, drawn, losses = wdl(q, draws)
    win, loss = solved(q, draws)
    assert wins + drawn + losses == 1000 and min(wins, drawn, losses) >= 0
    assert abs(wins - 1000 * win) <= 1.01 and abs(losses - 1000 * loss) <= 1.01


@given(st.floats(-0.99, 0.99), st.floats(0.01, 0.95))
def test_the_share_of_draws_is_found_again(q, draws):
    assert math.isclose(draws_between_equals(*solved(q, draws)), draws, rel_tol=1e-3)


@pytest.mark.skipif(NETS is None, reason="SYLVAN_NETS does not say where networks are")
def test_a_network_gives_the_share_of_draws():
    """At the root's own value, the shares are the network's."""
    maia, game = load_evaluator(Path(NETS) / "maia-1500.pb.gz"), Chess(moves="e4 e5 Nf3")
    win, draw, loss = maia.infer(game.encoded(maia.encoding).observation()[None]).value[0]
    shares = Score(float(win - loss)).shares(draw_share(maia, game))
    assert shares == pytest.approx((1000 * win, 1000 * draw, 1000 * loss), abs=2)
    assert draw_share("material", game) == DRAWS


@given(results)
def test_the_other_side_has_the_other_shares(q):
    assert wdl(-q) == wdl(q)[::-1]
    assert (-Score(q)).cp == -Score(q).cp


def test_material_scores_are_shown_unchanged():
    """A pawn up, on the curve of `material` (400 centipawns: Q = sqrt(1/2))."""
    assert centipawns(100 / math.hypot(100, 400)) == 100
    assert centipawns(math.sqrt(0.5)) == 400


MATES = [
    ("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", 1),
    ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2),
    ("1r2k1r1/pbppnp1p/1b3P2/8/Q7/B1PB1q2/P4PPP/3R2K1 w - - 0 21", 4),
]


@pytest.mark.parametrize(("fen", "moves"), MATES)
def test_a_mate_is_as_long_as_it_says(fen, moves):
    result = sylvan.search(Chess(fen), evaluator="material", simulations=200_000)
    score = result_score(result)
    assert score.mate is not None and score.mate >= moves  # the shortest mate is known
    assert score.proven and score.wdl == (1000, 0, 0) and score.uci() == f"mate {score.mate}"
    assert mates_within(chess.Board(fen), score.mate)


def mates_within(board, moves):
    """Whether the side to move can mate in `moves` moves, by brute force."""
    for move in list(board.legal_moves):
        board.push(move)
        forced = board.is_checkmate() or (
            moves > 1 and board.is_check() and all_replies_lose(board, moves - 1)
        )
        board.pop()
        if forced:
            return True
    # Try quiet first moves only in short mates, where it is fast.
    for move in list(board.legal_moves) if moves <= 2 else []:
        board.push(move)
        forced = moves > 1 and not board.is_stalemate() and all_replies_lose(board, moves - 1)
        board.pop()
        if forced:
            return True
    return False


def all_replies_lose(board, moves):
    replies = list(board.legal_moves)
    for move in replies:
        board.push(move)
        lost = mates_within(board, moves)
        board.pop()
        if not lost:
            return False
    return bool(replies)


def test_a_lost_position_has_a_mate_distance():
    lost = Chess("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", ["a1a6"])  # then White mates
    score = result_score(sylvan.search(lost, simulations=1000))
    assert (score.mate, score.q, score.wdl, str(score)) == (-1, -1.0, (0, 0, 1000), "#-1")


def test_a_move_never_tried_has_no_score():
    result = sylvan.search(Chess(), simulations=0)
    assert edge_score(result.tree.root.edges[0]) is None
    assert result_score(result) == Score(result.value)


def test_a_proven_draw_is_a_draw():
    only_move = Chess("k7/8/8/8/8/8/1q6/K7 w - - 0 1")  # Kxb2 leaves two kings
    score = result_score(sylvan.search(only_move, simulations=10))
    assert score == Score(0.0, proven=True)
    assert score.wdl == (0, 1000, 0) and score.uci() == "cp 0"
