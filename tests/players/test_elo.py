"""Elo differences and the sequential test: hand-computed values, oracles, simulation."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ConfigError
from sylvan.players.elo import Sprt, elo_difference, elo_of_score, score_of_elo

COUNTS = st.integers(0, 300)


def test_by_hand():
    # 3 of 4 points: 400 log10(0.75 / 0.25) = 400 log10 3 = 190.848...
    assert elo_difference(3, 0, 1).elo == pytest.approx(190.8485, abs=1e-4)
    assert elo_difference(10, 5, 10).elo == 0.0
    assert elo_difference(5, 0, 0).elo == math.inf


def test_the_interval_without_draws_is_wilsons():
    # 8 of 10 by Wilson's formula: (0.8 + z²/20 ± z sqrt(0.016 + z²/400)) / (1 + z²/10)
    low, high = (
        score_of_elo(end) for end in (elo_difference(8, 0, 2).low, elo_difference(8, 0, 2).high)
    )
    assert (low, high) == (pytest.approx(0.49016, abs=1e-5), pytest.approx(0.94332, abs=1e-5))


def test_the_interval_when_everything_was_won():
    estimate = elo_difference(200, 0, 0)
    # Wilson: 1 / (1 + z² / n)
    assert score_of_elo(estimate.low) == pytest.approx(1 / (1 + 1.959964**2 / 200), abs=1e-9)
    assert estimate.high == math.inf


def test_draws_alone_give_a_wide_interval():
    few, many = elo_difference(0, 5, 0), elo_difference(0, 500, 0)
    assert few.elo == many.elo == 0
    assert few.high > 100 and few.low == pytest.approx(-few.high)
    assert 1 < many.high < few.high / 10


@given(COUNTS, COUNTS, COUNTS)
def test_swapping_wins_and_losses_changes_the_sign(wins, draws, losses):
    one, other = elo_difference(wins, draws, losses), elo_difference(losses, draws, wins)
    assert one.elo == pytest.approx(-other.elo)
    assert one.low == pytest.approx(-other.high)
    assert one.superiority == pytest.approx(1 - other.superiority)


@given(COUNTS, COUNTS, COUNTS)
def test_the_estimate_lies_in_its_interval(wins, draws, losses):
    estimate = elo_difference(wins, draws, losses)
    assert estimate.low <= estimate.elo <= estimate.high


def test_the_interval_covers_the_truth_in_95_percent():
    """In simulated matches with draws, the interval contains the truth in at least 95 %."""
    rng = np.random.default_rng(1)
    for win, draw in [(0.5, 0.3), (0.2, 0.5), (0.75, 0.1), (0.9, 0.08)]:
        truth = elo_of_score(win + draw / 2)
        matches = rng.multinomial(100, [win, draw, 1 - win - draw], size=2000).tolist()
        inside = [e.low <= truth <= e.high for e in (elo_difference(*match) for match in matches)]
        assert 0.93 < np.mean(inside) < 0.985


@given(st.floats(-1000, 1000))
def test_score_and_elo_are_inverse(elo):
    assert elo_of_score(score_of_elo(elo)) == pytest.approx(elo, abs=1e-6)


def test_superiority_by_hand():
    # 16 wins, 0 losses: Φ(16 / √16) = Φ(4)
    assert elo_difference(16, 4, 0).superiority == pytest.approx(0.99996833, abs=1e-7)
    assert elo_difference(0, 9, 0).superiority == 0.5


@given(st.integers(1, 500), st.integers(1, 500))
def test_without_draws_the_ratio_is_the_binomial_one(wins, losses):
    """The mean determines the shares of two outcomes, so the ratio has a closed form."""
    s0, s1 = score_of_elo(-10), score_of_elo(30)
    binomial = wins * math.log(s1 / s0) + losses * math.log((1 - s1) / (1 - s0))
    assert Sprt(-10, 30).llr((losses, 0, wins)) == pytest.approx(binomial, abs=0.02, rel=1e-2)


def constrained(counts, scores, mean):
    """The maximum log-likelihood of shares with this mean, over a fine grid of draws."""
    best = -math.inf
    for draws in np.linspace(1e-6, 2 * min(mean, 1 - mean) - 1e-6, 20001):
        shares = [1 - mean - draws / 2, draws, mean - draws / 2]
        if min(shares) > 0:
            best = max(best, sum(n * math.log(p) for n, p in zip(counts, shares, strict=True)))
    return best


@pytest.mark.parametrize("counts", [(20, 50, 30), (5, 10, 60), (100, 3, 90)])
def test_the_ratio_is_that_of_the_greatest_likelihoods(counts):
    likelihoods = [constrained(counts, (0, 0.5, 1), score_of_elo(elo)) for elo in (0, 40)]
    assert Sprt(0, 40).llr(counts) == pytest.approx(likelihoods[1] - likelihoods[0], abs=1e-4)


def test_the_ratio_of_pairs_near_its_normal_limit():
    """For small differences it is N (s1 - s0) (2 m - s0 - s1) / (2 σ²)."""
    counts, scores = np.array([40, 200, 420, 260, 60]), np.array([0, 0.25, 0.5, 0.75, 1])
    shares = counts / counts.sum()
    mean = float(shares @ scores)
    variance = float(shares @ (scores - mean) ** 2)
    s0, s1 = score_of_elo(0), score_of_elo(5)
    normal = counts.sum() * (s1 - s0) * (2 * mean - s0 - s1) / (2 * variance)
    assert Sprt(0, 5).llr(counts.tolist()) == pytest.approx(normal, rel=0.03)


def test_bounds():
    lower, upper = Sprt(0, 10).bounds
    assert (lower, upper) == (pytest.approx(-math.log(19)), pytest.approx(math.log(19)))
    assert Sprt(0, 10).verdict(lower) == "H0"
    assert Sprt(0, 10).verdict(upper) == "H1"
    assert Sprt(0, 10).verdict(0.0) is None
    assert Sprt(0, 10).llr((0, 0, 0)) == 0.0


@pytest.mark.parametrize(("elo", "wrong"), [(0.0, "H1"), (80.0, "H0")])
def test_the_error_rate_of_the_sequential_test(elo, wrong):
    """Simulated matches of pairs at either hypothesis: the other is accepted in about 5 %."""
    test, rng, verdicts = Sprt(0, 80), random.Random(7), []
    win = score_of_elo(elo) - 0.15  # with 30 % draws
    for _ in range(150):
        counts, verdict = [0] * 5, None
        while verdict is None:
            for _ in range(4):
                draws = (rng.random() for _ in range(2))
                counts[sum(2 if x < win else 1 if x < win + 0.3 else 0 for x in draws)] += 1
            verdict = test.verdict(test.llr(counts))
        verdicts.append(verdict)
    assert verdicts.count(wrong) <= 0.1 * len(verdicts)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: elo_difference(-1, 0, 0), "-1, 0, 0"),
        (lambda: Sprt(5, 5), "elo1"),
        (lambda: Sprt(0, math.nan), "elo1"),
        (lambda: Sprt(0, 5, alpha=0.7), r"alpha.*0.7"),
        (lambda: Sprt(0, 5).llr((1, 2)), r"3 .*5 "),
    ],
)
def test_refused(call, sentence):
    with pytest.raises(ConfigError, match=sentence):
        call()
