"""Gumbel search (Danihelka et al. 2022): sequential halving at the root, and inside the rule that
makes visits follow the improved policy.

    sigma(q)  = (c_visit + max_b N(b)) * c_scale * q
    v_mix     = (v + sum N * (sum_visited P q / sum_visited P)) / (1 + sum N)
    completed = q for visited edges, v_mix for the others, then mapped to 0..1 over the node
    pi'       = softmax(ln P + sigma(completed))
    root:       argmax of g + ln P + sigma(completed) among edges with the scheduled new visits
    inside:     argmax of pi' - n / (1 + sum n)

`v` is the evaluator's value for the seat to move, `g` the noise drawn once per search. Doubles up
to the input of the softmax.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sylvan._native import ln, softmax
from sylvan.reference.node import Node

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def schedule(considered: int, simulations: int) -> list[int]:
    """The visit count that each simulation considers (sequential halving, Karnin et al. 2013)."""
    if considered <= 1:
        return list(range(simulations))
    phases = math.ceil(math.log2(considered))
    visits, counts = [0] * considered, list[int]()
    while len(counts) < simulations:
        for _ in range(max(1, simulations // (phases * considered))):
            counts += visits[:considered]
            visits[:considered] = [n + 1 for n in visits[:considered]]
        considered = max(2, considered // 2)
    return counts[:simulations]


def sigma(node: Node, search: Search) -> list[float]:
    """sigma(completed Q) of every edge."""
    edges = list(node.children.values())
    qs = {c.index: float(search.q(node, c)) for c in edges if c.N}
    visited = [c for c in edges if c.N]
    total = float(sum(c.N for c in visited))
    mass = sum(float(c.prior) for c in visited)
    weighted = sum(float(c.prior) * qs[c.index] for c in visited)
    mean = weighted / mass if mass > 0 else 0.0
    mixed = (float(node.raw) + total * mean) / (1.0 + total)
    completed = [qs.get(c.index, mixed) for c in edges]
    least, greatest = min(completed), max(completed)
    most = max(c.N for c in edges)
    factor = (search.config.c_visit + most) * search.config.c_scale
    factor /= max(greatest - least, 1e-8)
    return [(q - least) * factor for q in completed]


def improved_policy(node: Node, search: Search) -> NDArray[np.float32]:
    """pi'."""
    edges = node.children.values()
    logits = [ln(float(c.prior)) + s for c, s in zip(edges, sigma(node, search), strict=True)]
    return softmax(np.array(logits, np.float32))


def interior(node: Node, search: Search) -> Node:
    """The edge whose share of visits lags furthest behind the improved policy."""
    policy = improved_policy(node, search)
    total = float(sum(c.started for c in node.children.values()))

    def key(child: Node) -> tuple[float, float, int]:
        lag = float(policy[child.index]) - child.started / (1.0 + total)
        return lag, float(child.prior), -child.index

    return max(search.open_edges(node), key=key)


def root_scores(search: Search) -> list[float]:
    """g + ln P + sigma(completed) of every edge of the root."""
    parts = zip(
        search.gumbel, search.root.children.values(), sigma(search.root, search), strict=True
    )
    return [g + ln(float(child.prior)) + s for g, child, s in parts]


def at_root(search: Search) -> Node:
    """The best-scored edge among those with the scheduled number of new visits."""
    new = {c.index: c.started - search.base[c.index] for c in search.root.children.values()}
    edges = search.open_edges(search.root)
    scheduled = search.schedule[search.started]
    below = [new[c.index] for c in edges if new[c.index] <= scheduled]
    considered = max(below) if below else min(new[c.index] for c in edges)
    scores = root_scores(search)
    candidates = [c for c in edges if new[c.index] == considered]
    return max(candidates, key=lambda c: (scores[c.index], float(c.prior), -c.index))


def choose(node: Node, search: Search) -> Node:
    """The Gumbel rule at the root and inside."""
    return at_root(search) if node is search.root else interior(node, search)
