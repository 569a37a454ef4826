"""Forced playouts: what noise proposes is looked into, and not taught (Wu 2019, section 3.2)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import Forest, search
from sylvan.games import Chess, ConnectFour
from sylvan.planning import BulkForest
from tests.planning.bandit import Bandit, puct
from tests.planning.bandit import play as played
from tests.planning.table_game import order, run
from tests.planning.twins import everything, finish, skewed

A, B = 0, 1
BANDIT = Bandit(0.0, (0.75, 0.25), (0.5, -0.9))
SETTINGS = {"c_puct": 1.5, "fpu": "zero", "forced_playouts": 2.0}


def test_the_order_by_hand():
    """With k P(b) = 1/2, PUCT tries b after six of a; then it is owed more at 7, 9 and 19."""
    expected = [A] * 6 + [B, B, A, B] + [A] * 9 + [B]
    assert order(BANDIT.table(), 20, **SETTINGS) == expected
    without = order(BANDIT.table(), 20, **{**SETTINGS, "forced_playouts": 0.0})
    assert without == [A] * 6 + [B] + [A] * 13


def test_an_edge_that_was_never_tried_is_owed_nothing():
    hopeless = Bandit(0.9, (0.98, 0.02), (0.9, -1.0))
    assert run(hopeless.table(), simulations=30, **{**SETTINGS, "fpu": -1.0}).visits == [30, 0]


def test_the_target_by_hand():
    """Of the 4 visits of b, which ceil(sqrt(10)) = 4 may go. With none left it would score
    -0.9 + 1.5 sqrt(21) / 4 = 0.82, more than a's 0.5 + 1.5 sqrt(21) 3/4 / 17 = 0.80: one stays, and
    one alone is none.
    """
    found = run(BANDIT.table(), simulations=20, **SETTINGS)
    assert found.visits == [16, 4]
    assert found.fast.policy[:2].tolist() == [1, 0]


def test_visits_that_were_earned_stay():
    """With k P(b) N = 0.02 * 0.4 * 40, less than one visit of b was forced."""
    even = Bandit(0.0, (0.6, 0.4), (0.1, 0.1))
    found = run(even.table(), simulations=40, **{**SETTINGS, "forced_playouts": 0.02})
    plain = run(even.table(), simulations=40, **{**SETTINGS, "forced_playouts": 0.0})
    assert found.visits == plain.visits
    assert found.fast.policy[B] >= (found.visits[B] - 1) / 40


@given(
    k=st.sampled_from([0.5, 2.0, 5.0]),
    weights=st.lists(st.integers(1, 20), min_size=2, max_size=5),
    worth=st.lists(st.integers(-9, 9), min_size=5, max_size=5),
    simulations=st.integers(1, 60),
)
def test_visits_follow_the_formula(k, weights, worth, simulations):
    """Once more in doubles: the paper's infinite urgency, then PUCT."""
    priors = [weight / sum(weights) for weight in weights]
    bandit = Bandit(0.0, priors, [w / 10 for w in worth[: len(priors)]])
    plain, close = puct(1.5, lambda b: 0.0), []

    def score(b, a):
        owed = math.sqrt(k * b.priors[a] * sum(b.n)) - b.n[a] if b.n[a] else -1.0
        if abs(owed) < 1e-4:  # rounding may decide
            close.append(sum(b.n))
        return math.inf if owed > 0 else plain(b, a)

    expected = played(bandit, simulations, score, gap=1e-4)
    expected = expected[: min(close, default=len(expected))]
    settings = {"c_puct": 1.5, "fpu": "zero", "forced_playouts": k}
    found = run(bandit.table(), simulations=len(expected), **settings)
    assert found.visits == [expected.count(a) for a in range(len(priors))]


@pytest.mark.parametrize("selection", ["puct", "gumbel"])
def test_a_quiet_search_has_neither_noise_nor_forced_playouts(selection):
    loud = {"selection": selection, "noise": True, "forced_playouts": 3.0}
    plain = {"selection": selection, "gumbel_scale": 0.0}
    states = [ConnectFour("44"), ConnectFour()]
    quiet = BulkForest(states, simulations=40, **loud)
    twin = Forest(states, simulations=40, **plain)
    quiet.begin(quiet=True)
    assert everything(finish(quiet, skewed)) == everything(finish(twin, skewed))
    quiet.begin()  # the next one is loud again
    twin.begin()
    assert everything(finish(quiet, skewed)) != everything(finish(twin, skewed))


def test_forced_playouts_in_a_real_game():
    """Many moves are owed visits; their share of the target is less than that of the visits."""
    forest = Forest([Chess()], simulations=300, noise=True, forced_playouts=4.0, seed=5)
    found = finish(forest, skewed_legal).outcomes()
    shares = found.visits / found.visits.sum()
    best = np.argmax(shares)
    assert found.policy[best] > shares[best]
    assert (found.policy < shares - 1e-6).sum() >= 3


def skewed_legal(leaves):
    """Logits and values that depend on the position's place in the tree."""
    logits = np.sin(leaves.actions * 0.7).astype(np.float32) * 2
    return logits, np.sin(leaves.tickets % 100).astype(np.float32)


QUIET_SACRIFICE = "2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - 0 1"  # Qg6, mate in two


def test_they_find_a_sacrifice_with_a_small_prior():
    """Qg6 loses the queen to its first reply: after one visit PUCT takes 250,000 to come back."""
    settings = {"evaluator": "material", "simulations": 20_000}
    result = search(Chess(QUIET_SACRIFICE), forced_playouts=2.0, **settings)
    assert result.stopped_by == "proven" and result.value == 1.0
    assert Chess(QUIET_SACRIFICE).san(result.best) == "Qg6"
    assert search(Chess(QUIET_SACRIFICE), **settings).stopped_by == "simulations"
