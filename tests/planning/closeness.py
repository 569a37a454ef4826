"""How close two moves ever came in a search: where that is a matter of rounding, peers may differ.

Peers compute in other orders and precisions, so an equal tree can only be asked for if no choice
hung on the last digits. `watched` runs the reference and measures that along the way, in doubles.
It knows the settings that peers share: a known range or siblings, urgency "zero" or "loss".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sylvan import SearchConfig, reference
from sylvan.reference.gumbel import schedule
from sylvan.reference.search import RULES
from tests.planning.bandit import Bandit, improved, puct, sigma, uct


def watched(
    game: Any,
    evaluate: Any,
    config: SearchConfig,
    noise: Sequence[float] | None = None,
    own_scores: Callable[[reference.Node], dict[int, float]] | None = None,
) -> tuple[reference.Search, float]:
    """A finished search of the reference, and the least lead that a chosen move ever had.

    `own_scores`, by action, take the place of the formula of the settings.

    The lead is relative to what rounding errors are multiplied by: scaling by a small range makes
    large ones of small ones.
    """
    closest = math.inf

    def spy(node: reference.Node, search: reference.Search) -> reference.Node:
        nonlocal closest
        own = own_scores(node) if own_scores else {}
        if own:
            scores, magnified = list(own.values()), 1.0
        elif config.selection != "gumbel":
            scores, magnified = plain_scores(node, config)
        else:
            scores, magnified = gumbel_scores(node, config, noise if node is search.root else None)
        *_, second, best = [-math.inf, -math.inf, *sorted(scores)]
        if best != second:
            closest = min(closest, (best - second) / magnified)
        if own:
            edges = node.children.values()
            return max(edges, key=lambda c: (own[c.action], c.prior, -c.index))
        chosen: reference.Node = RULES[config.selection](node, search)
        return chosen

    search = reference.Search(game, evaluate, config, rule=spy)
    search.run(noise)
    return search, closest


def as_bandit(node: reference.Node, config: SearchConfig) -> Bandit:
    """A node's statistics of its edges, with Q unchanged."""
    edges, seat = list(node.children.values()), node.seat
    worth = [c.reward[seat] + config.discount * c.W[seat] / c.N if c.N else 0.0 for c in edges]
    bandit = Bandit(float(node.raw), [float(c.prior) for c in edges], worth)
    bandit.n = [c.N for c in edges]
    return bandit


def plain_scores(node: reference.Node, config: SearchConfig) -> tuple[list[float], float]:
    b, magnified = as_bandit(node, config), 1.0
    if config.value_range == "siblings":
        own = node.W[node.seat] / node.N
        seen = [own] + [q for q, n in zip(b.worth, b.n, strict=True) if n]
        factor = 1 / max(max(seen) - min(seen), 1e-8)
        b.worth = [(q - min(seen)) * factor for q in b.worth]
        magnified = factor if any(b.n) else 1.0
    elif isinstance(config.value_range, tuple):
        low, high = config.value_range
        b.worth = [(2 * q - low - high) / (high - low) for q in b.worth]
    if config.selection == "uct":
        score = uct(config.c_uct)
    else:
        untried = {"zero": 0.0, "loss": -1.0}[str(config.fpu)]
        score = puct(config.c_puct, lambda _: untried, config.c_base, config.c_factor)
    scores = [score(b, a) for a in range(len(b.priors))]
    return ([] if math.inf in scores else scores), 1 + magnified


def gumbel_scores(
    node: reference.Node, config: SearchConfig, noise: Sequence[float] | None
) -> tuple[list[float], float]:
    b = as_bandit(node, config)
    scaled = sigma(b)
    seen = [b.value] + [q for q, n in zip(b.worth, b.n, strict=True) if n]
    magnified = 1 + max(scaled) / max(max(seen) - min(seen), 1e-8)
    if noise is None:
        total = sum(b.n)
        return [p - n / (1 + total) for p, n in zip(improved(b), b.n, strict=True)], magnified
    considered = min(config.max_considered, len(b.priors))
    count = schedule(considered, config.simulations or 0)[sum(b.n)]
    rows = zip(noise, b.priors, scaled, b.n, strict=True)
    return [g + math.log(p) + s for g, p, s, n in rows if n == count], magnified
