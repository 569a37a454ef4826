"""Elo of many players: two players by hand, chains, perfect scores, intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ConfigError
from sylvan.players.elo import Z95, elo_of_score, score_of_elo
from sylvan.ratings.rating import PRIOR, Rated, Result, rate_all

counts = st.integers(0, 60)


@given(counts, counts, counts)
def test_two_players_are_apart_by_the_elo_of_their_score(wins, draws, losses):
    games = wins + draws + losses
    if games == 0:
        return
    mean = (wins + draws / 2 + PRIOR / 2) / (games + PRIOR)
    ratings = rate_all([Result("a", "b", wins, draws, losses)], anchor="b")
    assert ratings["b"] == Rated(0, 0, 0)
    assert ratings["a"].elo == pytest.approx(elo_of_score(mean), abs=1e-6)
    # The variance of a logit of a mean of n games is 1 / (n p (1 - p)).
    spread = Z95 / math.sqrt((games + PRIOR) * mean * (1 - mean)) * 400 / math.log(10)
    assert ratings["a"].high - ratings["a"].elo == pytest.approx(spread)
    assert ratings["a"].elo - ratings["a"].low == pytest.approx(spread)


def test_a_chain_adds_up():
    """Players without games against each other are compared through common opponents."""
    chain = [Result("b", "a", 75, 0, 25), Result("c", "b", 75, 0, 25)]
    ratings = rate_all(chain, anchor="a")
    step = elo_of_score(75.5 / 101)
    assert ratings["b"].elo == pytest.approx(step)
    assert ratings["c"].elo == pytest.approx(2 * step)
    widths = [ratings[name].high - ratings[name].elo for name in "abc"]
    assert widths[0] == 0 and widths[2] == pytest.approx(math.sqrt(2) * widths[1])


def test_true_strengths_are_found_from_expected_scores():
    true = {"a": 0.0, "b": 120.0, "c": -80.0, "d": 400.0}
    games = 100_000
    results = []
    for i, a in enumerate(true):
        for b in list(true)[i + 1 :]:
            wins = round(games * score_of_elo(true[a] - true[b]))
            results.append(Result(a, b, wins, 0, games - wins))
    ratings = rate_all(results, anchor="a")
    for name, elo in true.items():
        assert ratings[name].elo == pytest.approx(elo, abs=0.5)


def test_at_the_maximum_points_equal_expected_points():
    rng = np.random.default_rng(0)
    names = "abcdef"
    results = [
        Result(a, b, *map(int, rng.integers(0, 20, 3))) for a in names for b in names if a < b
    ]
    ratings = rate_all(results, anchor="c")
    for name in names:
        points = expected = 0.0
        for result in results:
            if name in (result.a, result.b):
                other = result.b if name == result.a else result.a
                won = result.wins if name == result.a else result.losses
                points += won + result.draws / 2 + PRIOR / 2
                gap = ratings[name].elo - ratings[other].elo
                expected += (result.games + PRIOR) * score_of_elo(gap)
        assert points == pytest.approx(expected)


def test_results_add_up_in_either_order():
    apart = [Result("a", "b", 10, 2, 3), Result("b", "a", 1, 4, 5)]
    joined = [Result("a", "b", 15, 6, 4)]
    assert rate_all(apart, "b")["a"].elo == pytest.approx(rate_all(joined, "b")["a"].elo)


def test_a_player_that_won_everything_has_a_finite_rating():
    few, many = (rate_all([Result("a", "b", n, 0, 0)], "b")["a"] for n in (10, 1000))
    assert 0 < few.elo < many.elo < math.inf
    assert all(math.isfinite(end) for end in (few.low, few.high))


def test_players_not_connected_to_the_anchor_are_omitted():
    results = [Result("a", "b", 1, 0, 0), Result("c", "d", 1, 0, 0)]
    assert set(rate_all(results, "a")) == {"a", "b"}
    with pytest.raises(ConfigError, match="'e'"):
        rate_all(results, "e")
