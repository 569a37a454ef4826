"""Values of chess in hundredths of a pawn, and back; `sylvan.players.score` has the reasons.

cp = 400 * Q / sqrt(1 - Q**2)         Q = cp / sqrt(cp**2 + 400**2)
"""

from __future__ import annotations

import math

__all__ = ["MOST", "centipawns", "q_of_centipawns"]

SCALE = 400.0
"""Centipawns at Q = sqrt(1/2)."""

MOST = 10_000
"""The highest score in centipawns: a proven win of unknown length."""


def centipawns(q: float) -> int:
    """Convert a mean result from -1 to 1 to hundredths of a pawn, at most `MOST`.

    >>> centipawns(0.0), centipawns(0.2425), centipawns(-0.6), centipawns(1.0)
    (0, 100, -300, 10000)
    """
    q = min(1.0, max(-1.0, q))
    rest = math.sqrt((1 - q) * (1 + q))
    if SCALE * abs(q) >= MOST * rest:
        return int(math.copysign(MOST, q))
    return round(SCALE * q / rest)


def q_of_centipawns(cp: float) -> float:
    """Convert hundredths of a pawn to a mean result: the inverse of `centipawns`.

    >>> round(q_of_centipawns(-300), 3)
    -0.6
    """
    return cp / math.hypot(cp, SCALE)
