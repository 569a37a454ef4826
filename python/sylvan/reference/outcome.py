"""What a search found: the policy target and the action to take.

The target is the visit distribution at temperature 1 (PUCT, UCT) or the improved policy (Gumbel),
whatever temperature picks the action. Both respect proofs.
"""

from __future__ import annotations



import numpy as np
from numpy.typing import NDArray

from sylvan._native import exp, ln
from sylvan.reference import gumbel
from sylvan.reference.search import Search


def eligible(search: Search) -> list[bool]:
    """The edges of the root that an action may be chosen from."""
    root, edges = search.root, list(search.root.children.values())
    chosen = [not c.closed for c in edges]
    if search.config.proofs and root.proven is not None:
        value = root.proven[root.seat]
        chosen = [c.tried and search.step_bounds(root, c)[0] >= value for c in edges]
    return chosen if any(chosen) else [True] * len(edges)


def policy(search: Search) -> NDArray[np.float32]:
    """The policy target over the root's legal actions."""
    edges, mask = list(search.root.children.values()), eligible(search)
    if search.config.selection == "gumbel":
        weights = gumbel.improved_policy(search.root, search).astype(np.float64)
    else:
        weights = np.array([c.N for c in edges], np.float64)
    weights = np.where(mask, weights, 0.0)
    if not weights.any():
        weights = np.where(mask, [float(c.prior) for c in edges], 0.0)
    total = 0.0
    for weight in weights:  # in order: NumPy's own sum adds pairwise
        total += weight
    return (weights / total).astype(np.float32)


def best(search: Search) -> int:
    """The action with most visits; ties by Gumbel score or prior, then the lower index."""
    edges = [c for c, ok in zip(search.root.children.values(), eligible(search), strict=True) if ok]
    scores = gumbel.root_scores(search) if search.config.selection == "gumbel" else None

    def key(child: object) -> tuple[float, ...]:
        c = search.root.children[child]  # type: ignore[index]
        score = scores[c.index] if scores else float(c.prior)
        return c.N, score, float(c.prior), -c.index

    return max((c.action for c in edges), key=key)


def pick(search: Search) -> int:
    """The action picked at the search's temperature."""
    if search.config.temperature == 0:
        return best(search)
    target = policy(search)
    top = ln(float(target.max()))
    scaled = [(ln(float(p)) - top) / search.config.temperature if p > 0 else None for p in target]
    weights = [exp(x) if x is not None else 0.0 for x in scaled]
    total = sum(weights)
    place = search.rng.pick([w / total for w in weights])
    return list(search.root.children)[place]
