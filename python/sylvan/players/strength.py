"""Limit the strength: the simulations and the temperature for an Elo.

`LADDER` was measured with the chess network by `benchmarks/elo_ladder.py` (see `docs/uci.md`). Weak
players do not search: they draw a move from the network's policy, which was learned from people's
games, so they make human mistakes rather than random blunders. Stronger ones search. Between two
rows, the temperature is interpolated linearly, simulations by the logarithm of one more.
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

    @property
    def mates(self) -> bool:
        """Whether it looks for short mates: who does not search overlooks them."""
        return self.simulations > 0


LADDER = (
    Strength(590, 0, 5.0),
    Strength(750, 0, 3.0),
    Strength(955, 0, 2.0),
    Strength(1110, 0, 1.5),
    Strength(1310, 0, 1.0),
    Strength(1700, 0, 0.5),
    Strength(1900, 0, 0.0),
    Strength(2155, 8, 0.0),
)
"""From weakest to strongest."""

WEAKEST, STRONGEST = LADDER[0].elo, LADDER[-1].elo


def strength(elo: int) -> Strength:
    """The settings for an Elo, which is clipped to the range of `LADDER`.

    >>> strength(0) == LADDER[0], strength(9999) == LADDER[-1]
    (True, True)
    """
    elo = min(STRONGEST, max(WEAKEST, elo))
    row = max(i for i, measured in enumerate(LADDER[:-1]) if measured.elo <= elo)
    weaker, stronger = LADDER[row : row + 2]
    part = (elo - weaker.elo) / (stronger.elo - weaker.elo)
    low, high = math.log1p(weaker.simulations), math.log1p(stronger.simulations)
    return Strength(
        elo,
        round(math.expm1(low + part * (high - low))),
        weaker.temperature + part * (stronger.temperature - weaker.temperature),
    )
