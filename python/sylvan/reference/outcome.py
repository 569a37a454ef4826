"""What a search found. The policy target is the visit distribution at temperature 1 (PUCT, UCT) or
the improved policy (Gumbel), whatever temperature picks the action. Both respect proofs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sylvan._native import exp, ln
from sylvan.reference import gumbel
from sylvan.reference.node import Node, total
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
    weights = np.array([c.N for c in edges], np.float64)
    if search.config.selection == "gumbel":
        weights = gumbel.improved_policy(search.root, search).astype(np.float64)
    weights = np.where(mask, weights, 0.0)
    if not weights.any():
        weights = np.where(mask, [float(c.prior) for c in edges], 0.0)
    return (weights / total(weights)).astype(np.float32)


def best(search: Search) -> int:
    """The action with most visits (Gumbel: new ones, then score); ties: prior, then lower index."""
    edges = [c for c, ok in zip(search.root.children.values(), eligible(search), strict=True) if ok]
    halving = search.config.selection == "gumbel"
    scores = gumbel.root_scores(search) if halving else [0.0] * len(search.root.children)

    def key(c: Node) -> tuple[float, ...]:
        new = c.N - search.base[c.index] if halving else c.N
        return new, scores[c.index], float(c.prior), -c.index

    return max(edges, key=key).action


def pick(search: Search) -> int:
    """The action picked at the search's temperature: p^(1/T), in logarithms."""
    temperature, target = search.config.temperature, policy(search)
    if temperature == 0:
        return best(search)
    top = ln(float(target.max()))
    weights = [exp((ln(float(p)) - top) / temperature) if p > 0 else 0.0 for p in target]
    place = search.rng.pick([w / total(weights) for w in weights])
    return list(search.root.children)[place]
