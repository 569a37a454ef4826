"""Proofs: results that are known, not estimated (Winands et al. 2008; Cazenave and Saffidine 2010).

Duel (two seats, results -1, 0, 1): a node has bounds on seat 0's result. A decision node takes the
best of its edges' bounds for its seat, with -1 to 1 for an untried edge; a chance node the widest.

Other games: a node is exact if it is terminal or if all its edges are exact. A decision node then
has the values of the best edge for its seat (ties: lowest index), a chance node the mean. If one
seat's result determines all, one edge with the highest return is enough.

An edge is closed if its upper bound is below another edge's lower bound, or is the lowest return.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sylvan.reference.node import Node, total

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def prove_terminal(node: Node, returns: list[float], search: Search) -> bool:
    """Store the result of a finished game; return whether it changes the bounds."""
    if search.duel:
        node.bounds = (float(math.floor(returns[0])), float(math.ceil(returns[0])))
        return node.bounds != (-1.0, 1.0)
    node.exact = list(returns)
    return True


def conclude(node: Node, search: Search) -> bool:
    """Close edges and tighten the node's own bounds; return whether the bounds changed."""
    tried = [c for c in node.children.values() if c.tried and node.kind == "decision"]
    surely = max((search.step_bounds(node, c)[0] for c in tried), default=0.0)
    least = search.value_range[0] if search.plain else -math.inf
    for child in tried:
        high = search.step_bounds(node, child)[1]
        child.closed = child.closed or high < surely or high <= least
    return tighten(node) if search.duel else settle(node, search)


def tighten(node: Node) -> bool:
    """Tighten the bounds of a node of a duel; return whether they changed."""
    lows, highs = zip(*(c.bounds for c in node.children.values()), strict=True)
    old, best = node.bounds, max if node.seat == 0 else min
    low, high = (min(lows), max(highs)) if node.kind == "chance" else (best(lows), best(highs))
    node.bounds = (max(low, old[0]), min(high, old[1]))
    return node.bounds != old


def settle(node: Node, search: Search) -> bool:
    """Prove the result of a node of another game, if possible; return whether it is new."""
    edges = list(node.children.values())
    steps = [search.step(c, c.exact) for c in edges if c.exact is not None]
    all_exact = len(steps) == len(edges)
    if node.exact is not None or not steps or (node.kind == "chance" and not all_exact):
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
