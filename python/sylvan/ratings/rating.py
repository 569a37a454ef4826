"""Elo ratings of many players from all games they played against each other.

*Model* (Bradley and Terry 1952): a player of strength t_i scores

    p_ij = 1 / (1 + exp(t_j - t_i))

against one of strength t_j; a draw is half a win for both, and Elo = t · 400 / ln 10. The strengths
maximise the likelihood of all results together, so networks that never played each other are
compared through common opponents. One player, the anchor, has Elo 0.

*Prior.* A player that won every game would be infinitely strong. Each pair of opponents therefore
gets one extra game, a draw (`PRIOR`), whose weight falls with the number of real games.

*Interval*: 95 %, from the curvature of the likelihood at its maximum (the Fisher information), for
the difference to the anchor. It counts a draw as half a win and half a loss, so it can only be too
wide.

Newton's method finds the maximum: the logarithm of the likelihood is concave.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError
from sylvan.players.elo import Z95

__all__ = ["PRIOR", "Rated", "Result", "rate_all"]

PRIOR = 1.0
"""Number of drawn games added to each pair of opponents."""
ELO = 400 / math.log(10)
"""Elo per unit of strength."""


@dataclass(frozen=True)
class Result:
    """Games between two players, counted from `a`'s point of view."""

    a: str
    b: str
    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Mean per game, from 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True)
class Rated:
    """A player's Elo relative to the anchor, and its 95 % interval."""

    elo: float
    low: float
    high: float


def rate_all(results: Iterable[Result], anchor: str) -> dict[str, Rated]:
    """Rate all players that are connected to the anchor by games.

    :raises ConfigError: the anchor has played no game.

    >>> ratings = rate_all([Result("a", "b", 60, 20, 20), Result("b", "c", 10, 0, 0)], anchor="b")
    >>> round(ratings["a"].elo), round(ratings["b"].elo), ratings["c"].elo < -400
    (146, 0, True)
    """
    points, names = _connected(list(results), anchor)
    games = points + points.T
    strengths = np.zeros(len(names))  # the anchor is the first, and stays 0
    for _ in range(200):
        expected = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
        slope = (points - games * expected).sum(1)[1:]
        step = np.linalg.solve(_information(games, expected), slope)
        strengths[1:] += np.clip(step, -1, 1)
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    expected = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    variances = np.diag(np.linalg.inv(_information(games, expected)))
    spreads = Z95 * np.sqrt(np.concatenate([[0.0], variances]))
    return {
        name: Rated(ELO * t, ELO * (t - spread), ELO * (t + spread))
        for name, t, spread in zip(names, strengths.tolist(), spreads.tolist(), strict=True)
    }


def _information(games: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """The negative Hessian over all strengths except the anchor's."""
    weights = games * expected * (1 - expected)
    return (np.diag(weights.sum(1)) - weights)[1:, 1:]


def _connected(results: list[Result], anchor: str) -> tuple[NDArray[np.float64], list[str]]:
    """Points `[P, P]` of each player against each other, and their names, the anchor first."""
    opponents: dict[str, set[str]] = {}
    for result in results:
        opponents.setdefault(result.a, set()).add(result.b)
        opponents.setdefault(result.b, set()).add(result.a)
    if anchor not in opponents:
        raise ConfigError(f"The anchor {anchor!r} has no games: give a player that has some.")
    names = [anchor]
    for name in names:  # breadth-first; the list grows during the loop
        names += sorted(opponents[name] - set(names))
    index = {name: i for i, name in enumerate(names)}
    points = np.zeros((len(names), len(names)))
    for result in results:
        if result.a in index:
            i, j = index[result.a], index[result.b]
            points[i, j] += result.wins + result.draws / 2
            points[j, i] += result.losses + result.draws / 2
    points[(points + points.T) > 0] += PRIOR / 2
    return points, names
