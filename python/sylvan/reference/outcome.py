"""The result of a search. The policy target is the visit distribution at temperature 1 (PUCT, UCT)
or the improved policy (Gumbel); it does not depend on the temperature that picks the action. Both
respect proofs.
"""

import numpy as np
from numpy.typing import NDArray

from sylvan._native import exp, ln
from sylvan.reference import deviation, endings, gumbel
from sylvan.reference.node import Node, f32, total
from sylvan.reference.search import Search
from sylvan.reference.selection import puct_score, scale, values


def eligible(search: Search) -> list[bool]:
    """Return, for each edge of the root, whether its action may be chosen."""
    root, edges = search.root, list(search.root.children.values())
    chosen = [not c.closed for c in edges]
    if search.config.proofs and root.proven is not None:
        value = root.proven[root.seat]
        chosen = [c.tried and search.step_bounds(root, c)[0] >= value for c in edges]
    return chosen if any(chosen) else [True] * len(edges)


def policy(search: Search) -> NDArray[np.float32]:
    """Return the policy target over the root's legal actions."""
    edges, mask = list(search.root.children.values()), eligible(search)
    halving = search.config.selection == "gumbel"
    found = gumbel.improved_policy(search.root, search) if halving else earned_visits(search)
    weights = np.where(mask, np.array(found, np.float64), 0.0)
    if not weights.any():
        weights = np.where(mask, [float(c.prior) for c in edges], 0.0)
    return (weights / total(weights)).astype(np.float32)


def earned_visits(search: Search) -> list[int]:
    """Return the visits of the root's edges without forced ones (policy target pruning, Wu 2019):
    remove visits one by one while the edge's score stays below the best edge's. A single visit
    counts as forced.
    """
    root, config, edges = search.root, search.config, list(search.root.children.values())
    if config.selection != "puct" or not config.forced_playouts or root.proven is not None:
        return [c.N for c in edges]
    q, explore = values(root, search), f32(config.exploration(float(root.started)))
    explore *= deviation.factor(root, config, scale(root, search)[1])
    top, visits = root.children[best(search)], list[int]()
    bar = puct_score(q[top.action], top.prior, top.N, explore)
    for c in edges:
        forced = int(np.ceil(config.forced_visits(float(c.prior), root.started - 1)))
        n, least = c.N, c.N if c is top else max(0, c.N - forced)
        while n > least and puct_score(q[c.action], c.prior, n - 1, explore) < bar:
            n -= 1
        visits.append(n if n > 1 or c is top else 0)
    return visits


def best(search: Search) -> int:
    """The action with most visits (Gumbel: new visits, then score); ties: prior, lower index."""
    edges = [c for c, ok in zip(search.root.children.values(), eligible(search), strict=True) if ok]
    chosen = endings.best_ending(search, edges)
    chosen = best_by_bound(search, edges) if chosen is None else chosen
    if chosen is not None:
        return chosen.action
    halving, none = search.config.selection == "gumbel", [0] * len(search.root.children)
    scores, base = (gumbel.root_scores(search), search.base) if halving else (none, none)
    order = {c.action: (c.N - base[c.index], scores[c.index], c.prior, -c.index) for c in edges}
    return max(order, key=lambda action: order[action])


def best_by_bound(search: Search, edges: list[Node]) -> Node | None:
    """Return the edge with the highest Q - lcb * sqrt((high - Q) * (Q - low) / N), where low and
    high are the ends of the scale of scores: the product is the greatest variance of results with
    this mean. Edges with less than a tenth of the most visits do not take part.
    """
    most = max(c.N for c in edges)
    if not search.config.lcb or search.root.proven is not None or not most:
        return None
    q, (_, _, low) = values(search.root, search), scale(search.root, search)

    def key(c: Node) -> tuple[float, f32, int]:
        mean = float(q[c.action])
        spread = max((1.0 - mean) * (mean - float(low)), 0.0)
        return mean - search.config.lcb * float(np.sqrt(spread / c.N)), c.prior, -c.index

    return max((c for c in edges if c.N and 10 * c.N >= most), key=key)


def pick(search: Search) -> int:
    """Draw an action at the search's temperature: p^(1/T), in logarithms."""
    temperature, target = search.config.temperature, policy(search)
    if temperature == 0:
        return best(search)
    top = ln(float(target.max()))
    weights = [exp((ln(float(p)) - top) / temperature) if p > 0 else 0.0 for p in target]
    index = search.rng.pick([w / total(weights) for w in weights])
    return list(search.root.children)[index]
