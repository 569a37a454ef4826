"""Playing weaker on purpose: how many simulations, at which temperature, for an Elo.

Fewer simulations see less; a temperature plays good moves instead of the best one. `LADDER` has
what was measured with the evaluator `material`, and what lies between two rows is interpolated:
simulations by their logarithm, temperature evenly. `benchmarks/elo_ladder.py` measures it again,
and `docs/uci.md` says how.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["LADDER", "STRONGEST", "WEAKEST", "Strength", "strength"]


@dataclass(frozen=True)
class Strength:
    """A way to play that has an Elo."""

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
    """How to play at an Elo; below the first row and above the last as there.

    >>> strength(700) == LADDER[0], strength(9999) == LADDER[-1]
    (True, True)
    """
    elo = min(STRONGEST, max(WEAKEST, elo))
    row = max(i for i, known in enumerate(LADDER[:-1]) if known.elo <= elo)
    weaker, stronger = LADDER[row : row + 2]
    part = (elo - weaker.elo) / (stronger.elo - weaker.elo)
    low, high = math.log(weaker.simulations), math.log(stronger.simulations)
    return Strength(
        elo,
        round(math.exp(low + part * (high - low))),
        weaker.temperature + part * (stronger.temperature - weaker.temperature),
    )
