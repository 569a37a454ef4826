"""Which move is played: drawn from the policy target at a temperature, or the search's best.

    p(a) proportional to target(a) ** (1 / T)

A move that the target gives nothing is never drawn. At T = 0 the search's own preference counts:
most visits, or what sequential halving arrived at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sylvan.planning.outcomes import Outcomes

__all__ = ["picked"]


def picked(
    found: Outcomes, temperatures: NDArray[np.float64], uniforms: NDArray[np.float64]
) -> NDArray[np.int64]:
    """An action per tree; -1 in trees without edges.

    :param temperatures: `[N]`
    :param uniforms: `[N]` numbers from 0 to below 1, each of which decides one draw.
    """
    actions = found.best.astype(np.int64)
    warm = np.flatnonzero((temperatures > 0) & (actions >= 0))
    if not len(warm):
        return actions
    counts = np.diff(found.offsets)
    edges = np.flatnonzero(np.repeat((temperatures > 0) & (actions >= 0), counts))
    sizes = counts[warm]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    target = found.policy[edges].astype(np.float64)
    # Relative to the likeliest move, small temperatures cannot underflow everywhere.
    relative = target / np.repeat(np.maximum.reduceat(target, starts), sizes)
    sums = np.zeros(len(edges) + 1)
    np.cumsum(relative ** np.repeat(1 / temperatures[warm], sizes), out=sums[1:])
    aims = sums[starts] + uniforms[warm] * (sums[ends] - sums[starts])
    places = np.clip(np.searchsorted(sums, aims, side="right") - 1, starts, ends - 1)
    drawn = found.actions[edges[places]]
    # Rounding can end at a move of no weight: then the best.
    actions[warm] = np.where(target[places] > 0, drawn, actions[warm])
    return actions
