"""Gumbel search (Danihelka et al. 2022): sequential halving at the root; below it, visits follow
the improved policy.

    sigma(q)  = (c_visit + max_b N(b)) * c_scale * q
    v_mix     = (v + sum N * (sum_visited P q / sum_visited P)) / (1 + sum N)
    completed = q for visited edges, v_mix for the others, then mapped to 0..1 over the node
    pi'       = P * exp(sigma(completed)) / their sum
    root:       argmax of g + ln P + sigma(completed) among edges with the scheduled new visits
    inside:     argmax of pi' - n / (1 + sum n)

v: the evaluator's value for the seat to move; g: noise. Doubles up to exp; sums by falling prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylvan._native import exp_single, ln
from sylvan.reference.node import ONE, ZERO, Node, f32, total

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def schedule(considered: int, simulations: int) -> list[int]:
    """Return the visit count that each simulation considers (Karnin et al. 2013)."""
    if considered <= 1:
        return list(range(simulations))
    phases, visits, counts = (considered - 1).bit_length(), [0] * considered, list[int]()
    while len(counts) < simulations:
        for _ in range(max(1, simulations // (phases * considered))):
            counts += visits[:considered]
            visits[:considered] = [n + 1 for n in visits[:considered]]
        considered = max(2, considered // 2)
    return counts[:simulations]


def sigma(node: Node, search: Search) -> list[float]:
    """Return sigma of the completed Q of every edge."""
    edges, config = list(node.children.values()), search.config
    falling = sorted(edges, key=lambda c: (-c.prior, c.index))
    visited = [(float(c.prior), float(search.q(node, c))) for c in falling if c.N]
    visits, mass = float(sum(c.N for c in edges)), total(p for p, _ in visited)
    mean = total(p * q for p, q in visited) / mass if mass > 0 else 0.0
    mixed = (float(node.raw) + visits * mean) / (1.0 + visits)
    completed = [float(search.q(node, c)) if c.N else mixed for c in edges]
    scale = (config.c_visit + max(c.N for c in edges)) * config.c_scale
    scale /= max(max(completed) - min(completed), 1e-8)
    return [(q - min(completed)) * scale for q in completed]


def improved_policy(node: Node, search: Search) -> list[f32]:
    """Return the improved policy; the sum counts the untried edges as one, with the rest of P."""
    edges, scaled = list(node.children.values()), sigma(node, search)
    grown = [f32(exp_single(s - max(scaled))) for s in scaled]
    everything, falling = ZERO, sorted(edges, key=lambda c: (-c.prior, c.index))
    for c in [c for c in falling if c.tried] + [c for c in falling if not c.tried][:1]:
        everything += (c.prior if c.tried else max(ONE - node.mass, c.prior)) * grown[c.index]
    return [c.prior * grown[c.index] / everything for c in edges]


def root_scores(search: Search) -> list[tuple[float, float]]:
    """Return the scores of sequential halving for every root edge: with and without sigma."""
    logs = [ln(float(c.prior)) for c in search.root.children.values()]
    edges = zip(search.gumbel, logs, sigma(search.root, search), strict=True)
    return [(g + log + s, g + log) for g, log, s in edges]


def choose(node: Node, search: Search) -> Node:
    """Root: the best edge with the scheduled visits. Below: the edge furthest below its share."""
    edges = search.open_edges(node)
    if node is not search.root:
        policy = improved_policy(node, search)
        visits = sum(c.started for c in node.children.values())
        lag = {c.index: float(policy[c.index]) - c.started / (1.0 + visits) for c in edges}
        return max(edges, key=lambda c: (lag[c.index], float(c.prior), -c.index))
    new = {c.index: c.started - search.base[c.index] for c in edges}
    below = [n for n in new.values() if n <= search.schedule[search.started]]
    considered, best = max(below or [min(new.values())]), root_scores(search)
    candidates = [c for c in edges if new[c.index] == considered]
    return max(candidates, key=lambda c: (best[c.index], float(c.prior), -c.index))
