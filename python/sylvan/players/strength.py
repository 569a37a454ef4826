"""Limit the strength: the simulations and the temperature for an Elo.

Fewer simulations play weaker, and so does a temperature above 0. `LADDER` was measured with the
evaluator `material` by `benchmarks/elo_ladder.py` (see `docs/uci.md`). Between two rows,
simulations are interpolated by their logarithm, the temperature linearly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["LADDER", "STRONGEST", "WEAKEST", "Strength", "strength"]


@dataclass(frozen=True)
class Strength:
    """Settings of a search, and their Elo."""

    elo: int
    simulations: int
    temperature: float


LADDER = (
    Strength(790, 12, 1.0),
    Strength(1270, 100, 0.5),
    Strength(1800, 1_600, 0.25),
    Strength(2020, 20_000, 0.0),
)
"""From weakest to strongest."""

WEAKEST, STRONGEST = LADDER[0].elo, LADDER[-1].elo


def strength(elo: int) -> Strength:
    """The settings for an Elo, which is clipped to the range of `LADDER`.

    >>> strength(700) == LADDER[0], strength(9999) == LADDER[-1]
    (True, True)
    """
    elo = min(STRONGEST, max(WEAKEST, elo))
    row = max(i for i, measured in enumerate(LADDER[:-1]) if measured.elo <= elo)
    weaker, stronger = LADDER[row : row + 2]
    part = (elo - weaker.elo) / (stronger.elo - weaker.elo)
    low, high = math.log(weaker.simulations), math.log(stronger.simulations)
    return Strength(
        elo,
        round(math.exp(low + part * (high - low))),
        weaker.temperature + part * (stronger.temperature - weaker.temperature),
    )
