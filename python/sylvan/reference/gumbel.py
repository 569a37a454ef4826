"""Gumbel search (Danihelka et al. 2022): sequential halving at the root, and inside the rule that
makes visits follow the improved policy.

    sigma(q)  = (c_visit + max_b N(b)) * c_scale * q
    v_mix     = (v + sum N * (sum_visited P q / sum_visited P)) / (1 + sum N)
    completed = q for visited edges, v_mix for the others, then mapped to 0..1 over the node
    pi'       = softmax(ln P + sigma(completed))
    root:       argmax of g + ln P + sigma(completed) among edges with the scheduled new visits
    inside:     argmax of pi' - n / (1 + sum n)

v: the evaluator's value for the seat to move; g: noise, drawn once. Doubles up to the softmax.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sylvan._native import ln, softmax
from sylvan.reference.node import Node, total

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


def scores(node: Node, search: Search) -> list[float]:
    """The logarithm of the prior plus sigma(completed Q), for every edge."""
    edges, config = list(node.children.values()), search.config
    visited = {c.index: (float(c.prior), float(search.q(node, c))) for c in edges if c.N}
    visits = float(sum(c.N for c in edges))
    mass = total(p for p, _ in visited.values())
    mean = total(p * q for p, q in visited.values()) / mass if mass > 0 else 0.0
    mixed = (float(node.raw) + visits * mean) / (1.0 + visits)
    completed = [visited[c.index][1] if c.N else mixed for c in edges]
    least, greatest = min(completed), max(completed)
    factor = (config.c_visit + max(c.N for c in edges)) * config.c_scale
    sigma = [(q - least) * (factor / max(greatest - least, 1e-8)) for q in completed]
    return [ln(float(c.prior)) + s for c, s in zip(edges, sigma, strict=True)]


def improved_policy(node: Node, search: Search) -> NDArray[np.float32]:
    """The policy that visits should follow."""
    return softmax(np.array(scores(node, search), np.float32))


def root_scores(search: Search) -> list[float]:
    """The same scores at the root, with the noise."""
    return [g + s for g, s in zip(search.gumbel, scores(search.root, search), strict=True)]


def choose(node: Node, search: Search) -> Node:
    """Inside: the edge furthest behind its share. Root: the best with the scheduled visits."""
    edges = search.open_edges(node)
    if node is not search.root:
        policy = improved_policy(node, search)
        visits = sum(c.started for c in node.children.values())
        lag = {c.index: float(policy[c.index]) - c.started / (1.0 + visits) for c in edges}
        return max(edges, key=lambda c: (lag[c.index], float(c.prior), -c.index))
    new = {c.index: c.started - search.base[c.index] for c in edges}
    below = [n for n in new.values() if n <= search.schedule[search.started]]
    considered = max(below) if below else min(new.values())
    best = root_scores(search)
    candidates = [c for c in edges if new[c.index] == considered]
    return max(candidates, key=lambda c: (best[c.index], float(c.prior), -c.index))
