"""Centipawns as probabilities of win, draw and loss, fitted to the results of games.

    P(win | c)  = σ(a₁ + b₁ c)         logistic regression: wins against the rest
    P(loss | c) = σ(a₂ + b₂ c)         losses against the rest
    P(draw | c) = 1 − P(win) − P(loss), not below 0

c is in pawns for the side to move, clipped to ±`LIMIT`; both fits use Newton's method. Engines
scale their evaluations differently, so the curve is a mean over the engines of the given games.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LIMIT", "UNKNOWN", "OutcomeCurve", "fit_outcomes"]

UNKNOWN = -32768
"""Marks an unknown evaluation."""

LIMIT = 20.0
"""Clip evaluations to this many pawns: mates and won endings are alike."""

RIDGE = 1e-3
"""L2 penalty of the coefficients; keeps the fit finite for few games."""


@dataclass(frozen=True)
class OutcomeCurve:
    """Outcome probabilities by evaluation.

    >>> curve = OutcomeCurve((-1.0, 2.0), (-1.0, -2.0))
    >>> [round(float(p), 2) for p in curve.chances(np.array([0]))[0]]
    [0.27, 0.46, 0.27]
    """

    win: tuple[float, float]
    """Intercept, and slope per pawn."""
    loss: tuple[float, float]

    def chances(self, centipawns: NDArray[np.integer]) -> NDArray[np.float64]:
        """`[N, 3]` probabilities of win, draw and loss for the side to move."""
        pawns = _pawns(centipawns)
        win = _sigmoid(self.win[0] + self.win[1] * pawns)
        loss = _sigmoid(self.loss[0] + self.loss[1] * pawns)
        three = np.stack([win, np.maximum(0.0, 1.0 - win - loss), loss], axis=1)
        chances: NDArray[np.float64] = three / three.sum(axis=1, keepdims=True)
        return chances

    def table(self) -> NDArray[np.float32]:
        """`[65536, 3]` probabilities of every int16 evaluation, at index value + 32768."""
        return self.chances(np.arange(-32768, 32768)).astype(np.float32)


def fit_outcomes(centipawns: NDArray[np.int16], results: NDArray[np.uint8]) -> OutcomeCurve | None:
    """Fit outcome probabilities to positions of games.

    Args:
        centipawns: `[N]` for the side to move; `UNKNOWN` is ignored.
        results: `[N]` 0 the side to move lost, 1 draw, 2 it won.

    :return: None if no evaluation is known.
    """
    known = centipawns != UNKNOWN
    if not known.any():
        return None
    pawns, results = _pawns(centipawns[known]), results[known]
    return OutcomeCurve(_logistic(pawns, results == 2), _logistic(pawns, results == 0))


def _pawns(centipawns: NDArray[np.integer]) -> NDArray[np.float64]:
    pawns: NDArray[np.float64] = np.clip(centipawns / 100.0, -LIMIT, LIMIT)
    return pawns


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / (1.0 + np.exp(-x))


def _logistic(pawns: NDArray[np.float64], happened: NDArray[np.bool_]) -> tuple[float, float]:
    """Intercept and slope of a logistic regression."""
    # Group positions with equal evaluations: a few thousand sums instead of millions.
    values, group = np.unique(pawns, return_inverse=True)
    count = np.bincount(group).astype(np.float64)
    events = np.bincount(group, weights=happened.astype(np.float64))
    inputs = np.stack([np.ones_like(values), values], axis=1)
    found = np.zeros(2)
    for _ in range(50):
        chance = _sigmoid(inputs @ found)
        gradient = inputs.T @ (events - count * chance) - RIDGE * found
        curvature = (inputs.T * (count * chance * (1.0 - chance))) @ inputs + RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        found += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-9:
            break
    return float(found[0]), float(found[1])
