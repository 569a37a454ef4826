"""Elo difference of a match, its confidence interval, and a sequential test.

*Model*: a difference of d Elo is an expected score of s = 1 / (1 + 10^(-d / 400)) per game.

*Interval*: Wilson's score interval, with the draws. The mean of n games at expected score s has
variance (s (1 - s) - D / 4) / n, where D is the probability of a draw, estimated as draws /
(n + z^2), so that a few games, all drawn, do not give D = 1. The s within z = 1.96 standard
deviations of the observed mean m,

    (m - s)^2 <= z^2 / n · (s (1 - s) - D / 4),

lie between the roots of a quadratic. Unlike the usual m ± z σ / √n, the interval stays within 0 and
1 and has a positive width even if all games ended alike. Games of a pair (one opening, colours
swapped) are negatively correlated, so the true interval can only be narrower.

*Sequential test*: the generalised sequential probability ratio test. With N the number of units
(games, or pairs of games), p_i the observed share of score a_i and p_i(s) the most likely shares
with mean s,

    LLR = N · sum_i  p_i · ln(p_i(s1) / p_i(s0)),      p_i(s) = p_i / (1 + θ (a_i - s)),

where θ is chosen such that the mean is s. The test accepts H1 (at least elo1) above
ln((1 - β) / α) and H0 (at most elo0) below ln(β / (1 - α)).

Papers: Wilson 1927; Owen, *Empirical Likelihood*, 2001 (p_i(s)); Van den Bergh, *A practical
introduction to the GSPRT*, 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sylvan.errors import ConfigError

__all__ = ["Elo", "Sprt", "elo_difference", "elo_of_score", "score_of_elo"]

Z95 = 1.959963984540054
"""Standard deviations on either side that contain 95 % of a normal distribution."""

GAME_SCORES = (0.0, 0.5, 1.0)
PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)

# Count of a score that never occurred, so that every logarithm is finite.
LEAST_COUNT = 1e-3


@dataclass(frozen=True)
class Elo:
    """The Elo difference of two players, from the first one's point of view."""

    wins: int
    draws: int
    losses: int
    elo: float
    """The difference; infinite if every game was won, or lost."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""
    superiority: float
    """Probability that the first player is stronger, given that they differ."""

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Mean score per game; 0.5 before the first."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5

    def __str__(self) -> str:
        if not self.games:
            return "no games"
        low, high = (_signed(end) for end in (self.low, self.high))
        return f"Elo {_signed(self.elo)} ({low} to {high})"


def elo_difference(wins: int, draws: int, losses: int) -> Elo:
    """Estimate the Elo difference from a result, with its 95 % interval.

    >>> print(elo_difference(60, 20, 20))
    Elo +147 (+81 to +210)
    >>> print(elo_difference(200, 0, 0))
    Elo +inf (+687 to +inf)
    """
    if min(wins, draws, losses) < 0:
        raise ConfigError(f"The counts are {wins}, {draws}, {losses}: none may be negative.")
    games = wins + draws + losses
    if games == 0:
        return Elo(0, 0, 0, 0.0, -math.inf, math.inf, 0.5)
    mean = (wins + draws / 2) / games
    low, high = _interval(mean, draws, games)
    decided = wins + losses
    superiority = _normal((wins - losses) / math.sqrt(decided)) if decided else 0.5
    ends = elo_of_score(low), elo_of_score(high)
    return Elo(wins, draws, losses, elo_of_score(mean), *ends, superiority)


def _interval(mean: float, draws: int, games: int) -> tuple[float, float]:
    """The ends of the interval: the roots of the quadratic above."""
    k = Z95**2 / games
    drawn = draws / (games + Z95**2)
    half = mean + k / 2
    root = math.sqrt(max(0.0, half**2 - (1 + k) * (mean**2 + k * drawn / 4)))
    # Rounding must not exclude the mean from the interval.
    return min(mean, (half - root) / (1 + k)), max(mean, (half + root) / (1 + k))


def elo_of_score(score: float) -> float:
    """The Elo difference at which this mean score is expected.

    >>> round(elo_of_score(0.75), 1), elo_of_score(1.0)
    (190.8, inf)
    """
    if not 0 < score < 1:
        return math.inf if score >= 1 else -math.inf
    return -400 * math.log10(1 / score - 1)


def score_of_elo(elo: float) -> float:
    """The expected mean score at an Elo difference.

    >>> score_of_elo(0.0), round(score_of_elo(400.0), 4)
    (0.5, 0.9091)
    """
    return 1 / (1 + 10 ** (-elo / 400)) if elo > -4000 else 0.0


Verdict = Literal["H0", "H1"]


@dataclass(frozen=True)
class Sprt:
    """A sequential test that ends a match once one of two Elo differences is accepted.

    >>> test = Sprt(elo0=0, elo1=50)
    >>> test.verdict(test.llr((10, 20, 80)))
    'H1'
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    """Probability of accepting H1 if the difference is `elo0`."""
    beta: float = 0.05
    """Probability of accepting H0 if the difference is `elo1`."""

    def __post_init__(self) -> None:
        if not (self.elo0 < self.elo1 and math.isfinite(self.elo0) and math.isfinite(self.elo1)):
            raise ConfigError(
                f"elo0 is {self.elo0} and elo1 is {self.elo1}: elo1 must be larger, both finite."
            )
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be within 0 and 0.5.")

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which H0 and H1 are accepted."""
        lower = math.log(self.beta / (1 - self.alpha))
        return lower, math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[int]) -> float:
        """The log-likelihood ratio of H1 to H0.

        Args:
            counts: games lost, drawn and won; or pairs of games that scored 0, 1/2, 1, 3/2 and 2
        """
        scores = {3: GAME_SCORES, 5: PAIR_SCORES}.get(len(counts))
        if scores is None or min(counts) < 0:
            raise ConfigError(
                f"The counts are {list(counts)}: give 3 counts of games or 5 of pairs, from 0 up."
            )
        units = sum(counts)
        if units == 0:
            return 0.0
        total = sum(max(count, LEAST_COUNT) for count in counts)
        shares = [max(count, LEAST_COUNT) / total for count in counts]
        null, alternative = (
            _most_likely(shares, scores, score_of_elo(elo)) for elo in (self.elo0, self.elo1)
        )
        ratios = zip(shares, null, alternative, strict=True)
        return units * sum(share * math.log(p1 / p0) for share, p0, p1 in ratios)

    def verdict(self, llr: float) -> Verdict | None:
        """The accepted hypothesis; None while more games are needed."""
        lower, upper = self.bounds
        return "H0" if llr <= lower else "H1" if llr >= upper else None


def _most_likely(shares: Sequence[float], scores: Sequence[float], mean: float) -> list[float]:
    """The most likely distribution over `scores` with this mean, given the observed shares.

    The sum of p_i (a_i - mean) / (1 + θ (a_i - mean)) falls in θ between the two poles, where a
    probability would become infinite; bisection finds its root.
    """
    low, high = -1 / (max(scores) - mean), 1 / (mean - min(scores))

    def excess(theta: float) -> float:
        return sum(
            p * (a - mean) / (1 + theta * (a - mean)) for p, a in zip(shares, scores, strict=True)
        )

    for _ in range(100):
        theta = (low + high) / 2
        if excess(theta) > 0:
            low = theta
        else:
            high = theta
    return [p / (1 + theta * (a - mean)) for p, a in zip(shares, scores, strict=True)]


def _normal(z: float) -> float:
    """The share of a normal distribution below `z` deviations."""
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def _signed(elo: float) -> str:
    return f"{elo:+.0f}" if elo else "0"
