"""Selection: the edge a simulation takes from a node.

PUCT, for the seat s to move (Rosin 2011; Silver et al. 2018):

    score(a) = Q_s(a) + c(N) * P(a) * sqrt(N) / (1 + n(a))
    c(N)     = c_puct + c_factor * ln((1 + N + c_base) / c_base)     (the logarithm with c_base)

UCT (Kocsis and Szepesvári 2006): every edge once, then Q_s(a) + c_uct * sqrt(ln N / n(a)).

N and n include visits in flight, and N the node's own evaluation; Q is the mean of finished
visits and before the first the first-play urgency. Ties: higher prior, then lower index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sylvan._native import ln
from sylvan.reference.node import Node, f32

if TYPE_CHECKING:
    from sylvan.reference.search import Search


class Scale(NamedTuple):
    """An affine map from Q to the scale of scores."""

    shift: f32
    factor: f32
    lowest: f32

    def __call__(self, q: f32) -> f32:
        return (q - self.shift) * self.factor


def scale(node: Node, search: Search) -> Scale:
    """Known bounds map to -1..1; the range seen in the tree or among siblings to 0..1."""
    bounds = search.config.bounds(search.facts.value_range)
    if bounds is not None:
        low, high = bounds
        return Scale(f32((low + high) / 2), f32(2 / (high - low)), f32(-1))
    if search.config.value_range == "siblings":
        open_edges = [c for c in node.children.values() if c.N and not c.closed]
        qs = [node.value(node.seat), *(search.q(node, child) for child in open_edges)]
        least, greatest = min(qs), max(qs)
    else:
        least, greatest = search.seen
        if not greatest > least:
            return Scale(f32(0), f32(1), f32(0))
    return Scale(least, f32(1) / max(greatest - least, f32(1e-8)), f32(0))


def fpu(node: Node, search: Search, scaled: Scale) -> f32:
    """First-play urgency, on the scale of scores."""
    rule, number = search.config.fpu_rule(root=node is search.root)
    if rule == "loss":
        return scaled.lowest
    if rule == "value":
        return f32(number)
    value = scaled(node.value(node.seat))
    return value if rule == "parent" else value - f32(number) * np.sqrt(node.mass)


def puct(node: Node, search: Search) -> Node:
    """The child with the highest PUCT score."""
    config, n = search.config, float(node.started)
    c = config.c_puct
    if config.c_base is not None:
        c += config.c_factor * ln((1 + n + config.c_base) / config.c_base)
    explore = f32(c * np.sqrt(n))
    scaled = scale(node, search)
    urgency = fpu(node, search, scaled)

    def key(child: Node) -> tuple[f32, f32, int]:
        q = scaled(search.q(node, child)) if child.N else urgency
        u = explore * (child.prior / f32(1 + child.started))
        return q + u, child.prior, -child.index

    return max(search.open_edges(node), key=key)


def uct(node: Node, search: Search) -> Node:
    """The child with the highest UCT score."""
    scaled = scale(node, search)
    urgency = fpu(node, search, scaled)
    log = ln(float(node.started))

    def key(child: Node) -> tuple[float, f32, int]:
        if not child.tried:
            return np.inf, child.prior, -child.index
        q = scaled(search.q(node, child)) if child.N else urgency
        bonus = search.config.c_uct * np.sqrt(log / max(child.started, 1))
        return float(q) + bonus, child.prior, -child.index

    return max(search.open_edges(node), key=key)
