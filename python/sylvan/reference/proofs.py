"""Proofs: results that are known, not estimated (Winands et al. 2008; Cazenave and Saffidine 2010).

A duel's node has bounds on seat 0's result. A decision node has, for its seat, the highest lower
and the highest upper bound of its edges, an untried edge being anything from -1 to 1; a chance
node the lowest lower and the highest upper. Any other game: a node is exact when it is finished
or when all its edges are; a decision then has the values of the edge best for its seat (the
lowest index among equals), a chance node the mean. Where one seat's result fixes all, an edge that
reaches the highest return is enough.

An edge is closed when it is proven to be worth less than another surely is, or proven to be worth
the least there is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sylvan.reference.node import Node

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def prove_terminal(node: Node, returns: list[float], search: Search) -> bool:
    """Record the result of a finished game; whether that tells anything."""
    if search.facts.duel:
        node.bounds = (float(math.floor(returns[0])), float(math.ceil(returns[0])))
        return node.bounds != (-1.0, 1.0)
    node.exact = list(returns)
    return True


def conclude(node: Node, search: Search) -> bool:
    """Draw conclusions from the children; whether the node's own bounds changed."""
    if node.kind == "decision":
        close_edges(node, search)
    return (duel if search.facts.duel else others)(node, search)


def close_edges(node: Node, search: Search) -> None:
    """Close the edges that are proven not to be worth taking."""
    tried = [c for c in node.children.values() if c.tried]
    bounds = [search.step_bounds(node, c) for c in tried]
    surely = max(low for low, _ in bounds)
    plain = search.facts.plain and search.config.discount == 1.0
    least = search.facts.value_range[0] if plain else -math.inf
    for child, (_, high) in zip(tried, bounds, strict=True):
        if high < surely or high <= least:
            child.closed = True


def duel(node: Node, search: Search) -> bool:
    """Tighten the bounds of a node of a duel."""
    lows, highs = zip(*(c.bounds for c in node.children.values()), strict=True)
    if node.kind == "chance":
        low, high = min(lows), max(highs)
    else:
        best = max if node.seat == 0 else min
        low, high = best(lows), best(highs)
    old = node.bounds
    node.bounds = (max(low, old[0]), min(high, old[1]))
    return node.bounds != old


def others(node: Node, search: Search) -> bool:
    """Prove the result of a node of another game."""
    if node.exact is not None:
        return False
    facts, discount = search.facts, search.config.discount
    edges = list(node.children.values())
    all_exact = all(c.exact is not None for c in edges)

    def step(child: Node) -> list[float]:
        exact = child.exact or []
        return [r + discount * e for r, e in zip(child.reward, exact, strict=True)]

    if node.kind == "chance":
        if all_exact:
            node.exact = [0.0] * facts.num_players
            for c in edges:
                paid = zip(node.exact, step(c), strict=True)
                node.exact = [total + float(c.prior) * x for total, x in paid]
        return all_exact
    steps = [step(c) for c in edges if c.exact is not None]
    best = max(steps, key=lambda values: values[node.seat])  # the first of equals
    fixes_all = facts.num_players == 1 or facts.zero_sum
    decisive = fixes_all and facts.plain and discount == 1.0
    if all_exact or (decisive and best[node.seat] >= facts.value_range[1]):
        node.exact = best
        return True
    return False
