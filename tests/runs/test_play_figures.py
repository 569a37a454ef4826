"""Statistics of games, against records made by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.runs.play_figures import play_figures
from tests.replay.games import game


def test_figures_by_hand():
    records = [
        game("a1 b1 c1 d1", returns=(1, -1), policies=[[0.5, 0.5], [1.0], [0.25] * 4, [1.0, 0.0]]),
        game("a1 b1 c2", returns=(0, 0), policies=[[0.5, 0.5], None, [1.0]]),
        game("b1", returns=(-1, 1), policies=[[0.5, 0.5]], ending="resign"),
        game("a1 b1 c1 a9 a9", returns=(0, 0), policies=[None] * 5, ending="limit"),
    ]
    figures = play_figures(records, opening=3)
    two, four = math.log(2), math.log(4)
    assert figures == {
        "selfplay.length": (4 + 3 + 1 + 5) / 4,
        "selfplay.openings": 3 / 4,  # a1 b1 c1 twice
        "selfplay.first_seat": 0.0,
        "selfplay.draws": 0.5,
        "selfplay.resigned": 0.25,
        "selfplay.unfinished": 0.25,
        "selfplay.entropy": pytest.approx((two + 0 + four + 0 + two + 0 + two) / 7),
        "selfplay.surprise": pytest.approx(0.1),
    }


def test_policy_figures_omit_fast_searches():
    record = game("a1 b1", policies=[[0.5, 0.5], [1.0]], weights=[1, 0])
    assert play_figures([record])["selfplay.entropy"] == pytest.approx(math.log(2))
    assert "selfplay.entropy" not in play_figures([game("a1", policies=[[1.0]], weights=[0])])


def test_another_start_is_another_opening():
    same = [game("a1"), game("a1")]
    assert play_figures(same)["selfplay.openings"] == 0.5
    assert play_figures([game("a1"), game("a1", start="x")])["selfplay.openings"] == 1.0


def test_games_that_differ_later_share_their_opening():
    records = [game("a1 b1 c1 d1 e1 f1 " + last) for last in ("a2", "b2", "c2")]
    assert play_figures(records)["selfplay.openings"] == pytest.approx(1 / 3)
    assert play_figures(records, opening=7)["selfplay.openings"] == 1.0


def test_no_games_have_no_figures():
    assert play_figures([]) == {}


@given(st.lists(st.lists(st.floats(0.01, 1), min_size=1, max_size=6), min_size=1, max_size=5))
def test_entropy_is_that_of_the_policies(weights):
    policies = [np.array(w) / sum(w) for w in weights]
    record = game(" ".join(["a1"] * len(policies)), policies=policies)
    entropies = [-sum(p * math.log(p) for p in policy) for policy in policies]
    found = play_figures([record])["selfplay.entropy"]
    assert found == pytest.approx(float(np.mean(entropies)), abs=1e-5)
