"""Selection: the edge a simulation takes from a node.

PUCT, for the seat s to move (Rosin 2011; Silver et al. 2018):

    score(a) = Q_s(a) + c(N) * P(a) * sqrt(N) / (1 + n(a))
    c(N)     = c_puct + c_factor * ln((1 + N + c_base) / c_base)     (the logarithm with c_base)

Forced playouts (Wu 2019): a tried edge of the root has n(a) >= sqrt(k * P(a) * sum n).
Progressive widening (Coulom 2007): at most ceil(widening * N ** widening_power) edges are tried,
in the order of their priors.
RAVE (Gelly and Silver 2011): Q becomes (1 - b) Q + b AMAF with b = sqrt(k / (3 N + k)).
UCT (Kocsis and Szepesvári 2006): every edge once, then Q_s(a) + c_uct * sqrt(ln N / n(a)).
N and n include visits in flight, and N the node's own evaluation; Q is the mean of finished
visits and before the first the first-play urgency. Ties: higher prior, then lower index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sylvan._native import ln
from sylvan.reference import deviation
from sylvan.reference.node import ONE, ZERO, Node, f32

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def scale(node: Node, search: Search) -> tuple[f32, f32, f32]:
    """Return shift, factor and lowest value of the map from Q to scores: known bounds map to -1..1,
    the range seen in the tree or among siblings to 0..1.
    """
    bounds = search.config.bounds(search.value_range)
    if bounds is not None:
        low, high = bounds
        return f32((low + high) / 2), f32(2 / (high - low)), f32(-1)
    least, greatest = search.seen
    if search.config.value_range == "siblings":
        qs = [search.q(node, c) for c in search.open_edges(node) if c.N] + [node.value(node.seat)]
        least, greatest = min(qs), max(qs)
    elif not greatest > least:
        return ZERO, ONE, ZERO
    return least, ONE / max(greatest - least, f32(1e-8)), ZERO


def values(node: Node, search: Search) -> dict[int, f32]:
    """Return Q of every edge on the scale of scores, by action; first-play urgency if unvisited."""
    shift, factor, lowest = scale(node, search)
    rule, number = search.config.fpu_rule(root=node is search.root)
    fpu = lowest if rule == "loss" else f32(number)
    if rule in ("parent", "reduction"):  # the number of "parent" is 0
        fpu = (node.value(node.seat) - shift) * factor - f32(number) * np.sqrt(node.mass)
    edges = node.children.items()
    return {a: (search.q(node, c) - shift) * factor if c.N else fpu for a, c in edges}


def puct_score(q: f32, prior: f32, n: int, explore: f32) -> f32:
    """Q + c(N) * sqrt(N) * P / (1 + n), where `explore` is c(N) * sqrt(N)."""
    return q + explore * (prior / f32(1 + n))


def mixed(node: Node, child: Node, q: f32, search: Search) -> f32:
    """RAVE: mix Q with the mean value of the action when the node's seat took it here or later."""
    k, (n, total) = search.config.rave, node.amaf.get(child.action, (0, 0.0))
    if not n:
        return q
    beta, (shift, factor, _) = f32(np.sqrt(k / (3 * node.started + k))), scale(node, search)
    return (ONE - beta) * q + beta * ((f32(total / n) - shift) * factor)


def candidates(node: Node, search: Search) -> list[Node]:
    """Return the edges to choose from: progressive widening leaves out untried ones, or all of them
    but the likeliest.
    """
    edges = search.open_edges(node)
    tried = [child for child in edges if child.tried]
    if search.config.widening is None or len(tried) == len(edges):
        return edges
    closed = sum(child.closed for child in node.children.values())
    if tried and len(tried) + closed >= search.config.width(node.started):
        return tried
    untried = (child for child in edges if not child.tried)
    return [*tried, max(untried, key=lambda child: (child.prior, -child.index))]


def puct(node: Node, search: Search) -> Node:
    """Return the child with the highest PUCT score; forced playouts at the root score infinity."""
    q, factor = values(node, search), deviation.factor(node, search.config, scale(node, search)[1])

    def key(child: Node) -> tuple[f32, f32, int]:
        explore = factor * f32(search.config.exploration(float(search.available(node, child))))
        value = mixed(node, child, q[child.action], search)
        score = puct_score(value, child.prior, child.started, explore)
        forced = search.config.forced_visits(float(child.prior), node.started - 1)
        is_forced = node is search.root and 0 < child.started < forced
        return f32(np.inf) if is_forced else score, child.prior, -child.index

    return max(candidates(node, search), key=key)


def uct(node: Node, search: Search) -> Node:
    """Return the child with the highest UCT score."""
    q = values(node, search)

    def key(child: Node) -> tuple[float, f32, int]:
        log = ln(float(search.available(node, child)))
        bonus = search.config.c_uct * np.sqrt(log / max(child.started, 1))
        score = float(mixed(node, child, q[child.action], search)) + bonus
        return score if child.tried else np.inf, child.prior, -child.index

    return max(candidates(node, search), key=key)
