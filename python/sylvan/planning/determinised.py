"""Determinised search (PIMC): a tree for each of some deals, and their values merged.

A view is completed to `deals` deals; each gets a tree of its own, which knows all of it, and an
even share of the simulations. What they found of the root's actions is merged by value, every deal
counting the same:

    Q(a)      = mean of Q over the deals in which a was tried
    completed = Q(a), or the root's own mean value where a was tried in none
    policy    = softmax(ln P + (c_visit + max n) * c_scale * completed), completed mapped to 0..1

where n are visits per deal. Summed visits would be a vote instead: each tree piles its visits on
what is best in its own deal, however little that is better by.

Its known fault: inside a deal everyone plays as if he saw it, so plans are made that nobody can
carry out (strategy fusion). A kept tree would go on planning for deals that are refuted by now:
`advance` draws new ones.

`DealtForest` stands between `Forest` and the native forest, in which the trees of one view follow
one another. Twin: `sylvan.reference.determinised`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan._native import Rng, exp, ln, softmax

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning.config import SearchConfig

__all__ = ["DealtForest", "merge", "picked", "share"]

DEALING = 2**32
"""Streams of the seed from here on are those that deals are drawn from."""


def share(simulations: int | None, deals: int) -> int | None:
    """Simulations of each deal's tree."""
    return simulations and max(1, simulations // deals)


def merge(
    priors: Sequence[Sequence[float]],
    visits: Sequence[Sequence[int]],
    qs: Sequence[Sequence[float]],
    values: Sequence[float],
    config: SearchConfig,
) -> tuple[NDArray[np.float32], int]:
    """The policy over the root's actions and the place of the best.

    `priors`, `visits` and `qs` are `[deals][actions]`, `values` the root's mean for the seat to
    move in each deal.
    """
    deals, actions = len(priors), range(len(priors[0]))
    prior = [sum(row[a] for row in priors) / deals for a in actions]
    own = sum(values) / deals
    completed = []
    for a in actions:
        tried = [q[a] for q, n in zip(qs, visits, strict=True) if n[a]]
        completed.append(sum(tried) / len(tried) if tried else own)
    most = max(sum(row[a] for row in visits) for a in actions) / deals
    least, greatest = min(completed), max(completed)
    factor = (config.c_visit + most) * config.c_scale / max(greatest - least, 1e-8)
    scores = [ln(p) + (q - least) * factor for p, q in zip(prior, completed, strict=True)]
    best = max(actions, key=lambda a: (scores[a], prior[a], -a))
    return softmax(np.array(scores, np.float32)), best


def picked(policy: NDArray[np.float32], temperature: float, rng: Rng) -> int:
    """The place of an action drawn at a temperature above 0: p^(1/T), in logarithms."""
    top = ln(float(policy.max()))
    weights = [exp((ln(float(p)) - top) / temperature) if p > 0 else 0.0 for p in policy]
    total = sum(weights)
    return rng.pick([weight / total for weight in weights])


class DealtForest:
    """A native forest with `deals` trees for every view, seen as one tree for each."""

    def __init__(self, views: Sequence[Game], config: SearchConfig, settings: dict[str, Any]):
        self.config, self.deals = config, config.deals
        self.views = list(views)
        self._rngs = [Rng(config.seed, DEALING + i) for i in range(len(self.views))]
        self._picked: dict[int, tuple[int, int]] = {}
        settings["simulations"] = share(config.simulations, config.deals)
        dealt = [deal for tree in range(len(self.views)) for deal in self._dealt(tree)]
        self._native = _native.Forest(dealt, settings)

    def __getattr__(self, name: str) -> Any:
        """What goes for all trees alike: `update_all`, `observations`, `stop`, ..."""
        return getattr(self._native, name)

    def _dealt(self, tree: int) -> list[Game]:
        """Deals that fit a view."""
        return [self.views[tree].sample(self._rngs[tree].split()) for _ in range(self.deals)]

    def _trees(self, tree: int) -> range:
        """The native trees of a view."""
        return range(tree * self.deals, (tree + 1) * self.deals)

    # --- searching --------------------------------------------------------------------------------

    def begin(self, noise: Sequence[Any] | None = None, quiet: bool = False) -> None:
        """Start a new search of every tree; all deals of a view have the noise that is given."""
        rows = None if noise is None else [row for row in noise for _ in range(self.deals)]
        self._native.begin(rows, quiet)

    def select(self) -> tuple[Any, ...] | None:
        """A batch, whose trees are numbered by their views."""
        arrays = self._native.select()
        return None if arrays is None else (arrays[0] // self.deals, *arrays[1:])

    def limit(
        self,
        simulations: int | None,
        nodes: int | None,
        depth: int | None,
        seconds: float | None,
    ) -> None:
        """End searches otherwise."""
        self._native.limit(share(simulations, self.deals), nodes, depth, seconds)

    def end(self, tree: int) -> None:
        """End the search of one view."""
        for deal in self._trees(tree):
            self._native.end(deal)

    def flatten(self, flat: bool) -> None:
        """Deals have nothing to hide."""

    # --- what was found ---------------------------------------------------------------------------

    def _roots(self, tree: int) -> list[Any] | None:
        nodes = [self._native.node(deal, []) for deal in self._trees(tree)]
        kinds = {None if node is None else node[0] for node in nodes}
        return nodes if kinds == {"decision"} else None

    def _merged(self, tree: int) -> tuple[list[int], NDArray[np.float32], int] | None:
        """The root's actions, the policy over them, and the place of the best."""
        nodes = self._roots(tree)
        if nodes is None:
            return None
        seat, edges = nodes[0][1], [node[5] for node in nodes]
        policy, best = merge(
            [[edge[3] for edge in row] for row in edges],
            [[edge[1] for edge in row] for row in edges],
            [[_q(edge) for edge in row] for row in edges],
            [node[3][seat] / node[2] for node in nodes],
            self.config,
        )
        return [edge[0] for edge in edges[0]], policy, best

    def outcome(self, tree: int) -> tuple[Any, ...] | None:
        """Actions, policy, best action, expected line of a view."""
        found = self._merged(tree)
        if found is None:
            return None
        actions, policy, best = found
        line = [actions[best], *self.line(tree, [actions[best]])]
        return np.array(actions, np.int64), policy, actions[best], line

    def pick(self, tree: int) -> int:
        """The action picked at the search's temperature; the same when asked again."""
        found = self._merged(tree)
        assert found is not None  # a result was read before
        actions, policy, best = found
        if self.config.temperature == 0:
            return actions[best]
        finished = self.progress(tree)[0]
        if self._picked.get(tree, (None, 0))[0] != finished:
            place = picked(policy, self.config.temperature, self._rngs[tree])
            self._picked[tree] = finished, actions[place]
        return self._picked[tree][1]

    def node(self, tree: int, path: Sequence[int]) -> tuple[Any, ...] | None:
        """The sums of what all deals have at a path of actions."""
        found = [self._native.node(deal, path) for deal in self._trees(tree)]
        nodes = [node for node in found if node is not None]
        if not nodes:
            return None
        kind, seat = max((node[0], node[1]) for node in nodes if node[0] == _kind(nodes))
        rows: dict[int, list[Any]] = {}
        for node in nodes:
            for edge in node[5]:
                rows.setdefault(edge[0], []).append(edge)
        total = [sum(w) for w in zip(*(node[3] for node in nodes), strict=True)]
        edges = [_added(rows[action]) for action in rows]
        return kind, seat, sum(node[2] for node in nodes), total, None, edges

    def line(self, tree: int, path: Sequence[int]) -> list[int]:
        """What is visited most after a path, step by step."""
        line: list[int] = []
        while (node := self.node(tree, [*path, *line])) is not None and node[0] == "decision":
            best = max(node[5], key=lambda edge: (edge[1], edge[3], -edge[0]), default=None)
            if best is None or not best[1]:
                break
            line.append(best[0])
        return line

    def progress(self, tree: int) -> tuple[int, int, int, int, str | None]:
        """Simulations, nodes, bytes, depth, what ended the search."""
        deals = [self._native.progress(deal) for deal in self._trees(tree)]
        ends = [deal[4] for deal in deals]
        stop = None if None in ends else next((end for end in ends if end != "proven"), "proven")
        simulations, nodes = sum(deal[0] for deal in deals), sum(deal[1] for deal in deals)
        size, depth = sum(deal[2] for deal in deals), max(deal[3] for deal in deals)
        return simulations, nodes, size, depth, stop

    def signature(self, tree: int) -> int:
        """One number over all trees of a view."""
        number = 0
        for deal in self._trees(tree):
            number = _native.mix(number, self._native.signature(deal))
        return number

    # --- moving on --------------------------------------------------------------------------------

    def state(self, tree: int) -> Game:
        """The view at the root."""
        return self.views[tree]

    def advance_to(self, tree: int, actions: Sequence[int], view: Game) -> None:  # noqa: ARG002
        """Draw new deals from what is known now."""
        self.plant(tree, view)

    def plant(self, tree: int, view: Game) -> None:
        """Draw new deals from another view."""
        self.views[tree] = view.clone()
        self._picked.pop(tree, None)
        for deal, state in zip(self._trees(tree), self._dealt(tree), strict=True):
            self._native.plant(deal, state)


def _q(edge: Any) -> float:
    """The mean of an edge for the seat that chooses, inside its proven bounds."""
    _, visits, total, _, low, high, *_ = edge
    return float(min(max(total / visits, low), high)) if visits else 0.0


def _kind(nodes: Sequence[Any]) -> str:
    """What most of some nodes are."""
    kinds = [str(node[0]) for node in nodes]
    return max(kinds, key=lambda kind: (kinds.count(kind), kind))


def _added(edges: Sequence[Any]) -> tuple[Any, ...]:
    """The edges of one action in several deals as one, with the mean of their priors."""
    sums: Callable[[int], Any] = lambda i: sum(edge[i] for edge in edges)  # noqa: E731
    prior = sums(3) / len(edges)
    return edges[0][0], sums(1), sums(2), prior, -np.inf, np.inf, edges[0][6], sums(7)
