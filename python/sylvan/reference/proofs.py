"""Proofs: results that are known, not estimated (Winands et al. 2008; Cazenave and Saffidine 2010).

A duel's node has bounds on seat 0's result: at a decision the best for its seat of its edges'
bounds, an untried edge being anything from -1 to 1; at a chance node the widest. Any other game: a
node is exact when it is finished or when all its edges are; a decision then has the values of the
edge best for its seat (the lowest index among equals), a chance node the mean. Where one seat's
result fixes all, an edge that reaches the highest return is enough. An edge is closed when it is
proven to be worth less than another surely is, or proven to be worth the least there is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sylvan.reference.node import Node, total

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def prove_terminal(node: Node, returns: list[float], search: Search) -> bool:
    """Record the result of a finished game; whether that tells anything."""
    if search.duel:
        node.bounds = (float(math.floor(returns[0])), float(math.ceil(returns[0])))
        return node.bounds != (-1.0, 1.0)
    node.exact = list(returns)
    return True


def conclude(node: Node, search: Search) -> bool:
    """Close edges and tighten the node's own bounds; whether those changed."""
    tried = [c for c in node.children.values() if c.tried and node.kind == "decision"]
    surely = max((search.step_bounds(node, c)[0] for c in tried), default=0.0)
    least = search.value_range[0] if search.plain else -math.inf
    for child in tried:
        high = search.step_bounds(node, child)[1]
        child.closed = child.closed or high < surely or high <= least
    return tighten(node) if search.duel else settle(node, search)


def tighten(node: Node) -> bool:
    """Tighten the bounds of a node of a duel."""
    lows, highs = zip(*(c.bounds for c in node.children.values()), strict=True)
    old, best = node.bounds, max if node.seat == 0 else min
    low, high = (min(lows), max(highs)) if node.kind == "chance" else (best(lows), best(highs))
    node.bounds = (max(low, old[0]), min(high, old[1]))
    return node.bounds != old


def settle(node: Node, search: Search) -> bool:
    """Prove the result of a node of another game, if it can be; whether that is new."""
    edges = list(node.children.values())
    steps = [search.step(c, c.exact) for c in edges if c.exact is not None]
    all_exact = len(steps) == len(edges)
    if node.exact is not None or (node.kind == "chance" and not all_exact):
        return False
    if node.kind == "chance":
        shares = [[float(c.prior) * x for x in step] for c, step in zip(edges, steps, strict=True)]
        node.exact = [total(column) for column in zip(*shares, strict=True)]
        return True
    best = max(steps, key=lambda values: values[node.seat])  # the first of equals
    decisive = search.plain and (search.seats == 1 or search.zero_sum)
    if all_exact or (decisive and best[node.seat] >= search.value_range[1]):
        node.exact = best
    return node.exact is not None
