"""Choose a move: sample from the policy target with a temperature, or take the search's best.

    p(a) proportional to target(a) ** (1 / T)

A move with target 0 is never drawn. At T = 0 it is the search's best move: the most visited one, or
the result of sequential halving.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sylvan.planning.outcomes import Outcomes

__all__ = ["picked"]


def picked(
    found: Outcomes, temperatures: NDArray[np.float64], uniforms: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Choose an action per tree; -1 in trees without edges.

    :param temperatures: `[N]`
    :param uniforms: `[N]` random numbers in [0, 1), one per draw.
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
    # Relative to the most likely move, small temperatures cannot underflow everywhere.
    relative = target / np.repeat(np.maximum.reduceat(target, starts), sizes)
    sums = np.zeros(len(edges) + 1)
    np.cumsum(relative ** np.repeat(1 / temperatures[warm], sizes), out=sums[1:])
    thresholds = sums[starts] + uniforms[warm] * (sums[ends] - sums[starts])
    indices = np.clip(np.searchsorted(sums, thresholds, side="right") - 1, starts, ends - 1)
    drawn = found.actions[edges[indices]]
    # Rounding can select a move of weight 0: then take the best.
    actions[warm] = np.where(target[indices] > 0, drawn, actions[warm])
    return actions
