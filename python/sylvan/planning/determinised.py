"""Determinised search (PIMC): one tree with perfect information per sampled deal, values merged.

A view is completed to `deals` deals. Each gets its own tree, which sees all cards, and an equal
share of the simulations. The values of the root's actions are merged with equal weights:

    Q(a)      = mean of Q over the deals in which a was tried
    completed = Q(a), or the root's own mean value if a was tried in none
    policy    = softmax(ln P + (c_visit + max n) * c_scale * completed), completed mapped to 0..1

where n are visits per deal. Visits are not added up: each tree spends most of its visits on the
best action of its own deal, however small the advantage, so the sum would be a vote.

Known weakness (strategy fusion): inside a deal every seat plays as if it saw all cards, so the
search counts on plans that no seat can carry out. For the same reason `advance` keeps no tree: it
would still plan for deals that are impossible now.

`DealtForest` has the interface of the native forest and wraps one, in which the trees of a view
are consecutive. Twin: `sylvan.reference.determinised`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan._native import EdgeStats, NodeStats, Rng, exp, ln, mix, softmax
from sylvan.errors import SearchStateError
from sylvan.planning.outcomes import Outcomes, Progress

if TYPE_CHECKING:
    from sylvan._native import _Outcome, _Outcomes
    from sylvan.games import Game
    from sylvan.planning.config import SearchConfig
    from sylvan.planning.leaves import BatchArrays

__all__ = ["DealtForest", "merge", "sampled", "share"]

DEAL_STREAM = 2**32
"""The first random stream for sampling deals; tree i uses stream `DEAL_STREAM + i`."""

UNKNOWN = (-np.inf, np.inf)
"""Bounds of a value about which nothing is proven."""


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
    """The policy over the root's actions and the index of the best.

    `priors`, `visits` and `qs` are `[deals][actions]`; `values[deal]` is the root's mean value for
    the seat to move.
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


def sampled(policy: NDArray[np.float32], temperature: float, rng: Rng) -> int:
    """The index of an action sampled with a temperature above 0: p^(1/T), in logarithms."""
    top = ln(float(policy.max()))
    weights = [exp((ln(float(p)) - top) / temperature) if p > 0 else 0.0 for p in policy]
    total = sum(weights)
    return rng.pick([weight / total for weight in weights])


class DealtForest:
    """A native forest with `deals` trees per view, which looks like one tree per view."""

    def __init__(self, views: Sequence[Game], config: SearchConfig, settings: dict[str, Any]):
        """Sample the deals; `settings` are `config.native()`."""
        self.config, self.deals = config, config.deals
        self.views = list(views)
        self._rngs = [Rng(config.seed, DEAL_STREAM + i) for i in range(len(self.views))]
        self._sampled: dict[int, tuple[int, int]] = {}
        """By tree: the number of simulations at which `pick` last sampled, and its action."""
        settings["simulations"] = share(config.simulations, config.deals)
        settings["stop_early"] = False  # the sum over the deals decides, not each deal
        dealt = [deal for tree in range(len(self.views)) for deal in self._new_deals(tree)]
        self._native = _native.Forest(dealt, settings)

    def __getattr__(self, name: str) -> Any:
        """Forward methods that treat all trees alike: `update_all`, `observations`, `stop`, ..."""
        return getattr(self._native, name)

    def _new_deals(self, tree: int) -> list[Game]:
        """Sample deals that fit a view."""
        return [self.views[tree].sample(self._rngs[tree].split()) for _ in range(self.deals)]

    def _trees(self, tree: int) -> range:
        """The native trees of a view."""
        return range(tree * self.deals, (tree + 1) * self.deals)

    def reseed(self, seeds: NDArray[np.uint64]) -> None:
        """Sample new deals of each view from its own seed, before the first search."""
        self._rngs = [Rng(int(seed), DEAL_STREAM) for seed in seeds]
        for tree in range(len(self.views)):
            for deal, state in zip(self._trees(tree), self._new_deals(tree), strict=True):
                self._native.plant(deal, state)
        own = [mix(int(seed), deal) for seed in seeds for deal in range(self.deals)]
        self._native.reseed(np.array(own, np.uint64))

    # --- searching --------------------------------------------------------------------------------

    def begin(
        self, noise: Sequence[Sequence[float] | None] | None = None, quiet: bool = False
    ) -> None:
        """Start a new search of every tree; given noise applies to all deals of a view."""
        rows = None if noise is None else [row for row in noise for _ in range(self.deals)]
        self._native.begin(rows, quiet)

    def select(self) -> BatchArrays | None:
        """A batch of leaves, with the numbers of their views as trees."""
        arrays = self._native.select()
        if arrays is None:
            return None
        trees, seats, offsets, actions, tickets = arrays
        return trees // self.deals, seats, offsets, actions, tickets

    def limit(
        self,
        simulations: int | None,
        nodes: int | None,
        depth: int | None,
        seconds: float | None,
    ) -> None:
        """Change the limits from the next search on."""
        self._native.limit(share(simulations, self.deals), nodes, depth, seconds)

    def end(self, tree: int) -> None:
        """End the search of one view."""
        for deal in self._trees(tree):
            self._native.end(deal)

    def flatten(self, flat: bool) -> None:
        """Do nothing: in a deal nothing is hidden."""

    # --- results ----------------------------------------------------------------------------------

    def _roots(self, tree: int) -> list[NodeStats] | None:
        """The roots of all deals; None unless all are evaluated decisions."""
        found = [self._native.node(deal, []) for deal in self._trees(tree)]
        roots = [node for node in found if node is not None and node.kind == "decision"]
        return roots if len(roots) == self.deals else None

    def _merged(self, tree: int) -> tuple[list[int], NDArray[np.float32], int] | None:
        """The root's actions, the policy over them, and the index of the best."""
        roots = self._roots(tree)
        if roots is None:
            return None
        seat, edges = roots[0].seat, [root.edges for root in roots]
        policy, best = merge(
            [[edge.P for edge in row] for row in edges],
            [[edge.N for edge in row] for row in edges],
            [[_q(edge) for edge in row] for row in edges],
            [root.W[seat] / root.N for root in roots],
            self.config,
        )
        return [edge.action for edge in edges[0]], policy, best

    def outcome(self, tree: int) -> _Outcome | None:
        """Actions, policy, best action and principal variation of a view."""
        merged = self._merged(tree)
        if merged is None:
            return None
        actions, policy, best = merged
        line = [actions[best], *self.line(tree, [actions[best]])]
        return np.array(actions, np.int64), policy, actions[best], line

    def outcomes(self) -> _Outcomes:
        """`outcome` of all views in flat arrays, as `Outcomes` names them."""
        seats, count = self.views[0].num_players, len(self.views)
        dealt = Outcomes.of(self._native.outcomes(), seats)
        merged = [self._merged(tree) for tree in range(count)]
        ends = np.cumsum([0, *(0 if row is None else len(row[0]) for row in merged)])
        actions, visits = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.uint32)
        policy, priors = np.empty((2, ends[-1]), np.float32)
        best, seat = np.full(count, -1, np.int32), np.full(count, -1, np.int8)
        values, surprise = np.zeros((count, seats), np.float32), np.zeros(count, np.float32)
        for tree, row in enumerate(merged):
            node = self.node(tree, [])
            if row is None or node is None:
                continue
            own = slice(ends[tree], ends[tree + 1])
            rows = slice(*dealt.offsets[[tree * self.deals, (tree + 1) * self.deals]])
            actions[own], policy[own] = row[0], row[1]
            visits[own] = dealt.visits[rows].reshape(self.deals, -1).sum(0)
            priors[own] = dealt.priors[rows].reshape(self.deals, -1).mean(0)
            best[tree], seat[tree] = row[0][row[2]], node.seat
            values[tree] = np.array(node.W) / node.N
            surprise[tree] = _divergence(policy[own], priors[own])
        simulations = dealt.simulations.reshape(count, -1).sum(1, dtype=np.uint32)
        return ends, actions, policy, visits, priors, best, seat, values, surprise, simulations

    def draw(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Sample chance outcomes in the first deal of each view: a view may not know its own."""
        count, given = len(self.views), len(uniforms)
        if given != count:
            raise SearchStateError(
                f"An array has {given} entries: give one for each of {count} trees."
            )
        numbers = np.full((count, self.deals), -1.0)
        numbers[:, 0] = uniforms
        drawn = self._native.draw(numbers.ravel())
        return drawn.reshape(-1, self.deals)[:, 0].copy()

    def best(self, tree: int) -> int | None:
        """The best action of a view; None before its roots are evaluated."""
        merged = self._merged(tree)
        return None if merged is None else merged[0][merged[2]]

    def pick(self, tree: int) -> int:
        """An action sampled with the search's temperature; the same until the tree grows."""
        merged = self._merged(tree)
        assert merged is not None  # `outcome` was read before
        actions, policy, best = merged
        if self.config.temperature == 0:
            return actions[best]
        finished = self.progress(tree).simulations
        if self._sampled.get(tree, (None, 0))[0] != finished:
            index = sampled(policy, self.config.temperature, self._rngs[tree])
            self._sampled[tree] = finished, actions[index]
        return self._sampled[tree][1]

    def node(self, tree: int, path: Sequence[int]) -> NodeStats | None:
        """The sums over all deals that have a node after a path of actions."""
        found = [self._native.node(deal, path) for deal in self._trees(tree)]
        nodes = [node for node in found if node is not None]
        if not nodes:
            return None
        kind, seat = max((node.kind, node.seat) for node in nodes if node.kind == _kind(nodes))
        rows: dict[int, list[EdgeStats]] = {}
        for node in nodes:
            for edge in node.edges:
                rows.setdefault(edge.action, []).append(edge)
        total = [sum(w) for w in zip(*(node.W for node in nodes), strict=True)]
        edges = tuple(_added(rows[action]) for action in rows)
        return NodeStats(kind, seat, sum(node.N for node in nodes), total, None, edges)

    def line(self, tree: int, path: Sequence[int]) -> list[int]:
        """After a path, the most visited action at each node."""
        line: list[int] = []
        while (node := self.node(tree, [*path, *line])) is not None and node.kind == "decision":
            best = max(node.edges, key=lambda edge: (edge.N, edge.P, -edge.action), default=None)
            if best is None or not best.N:
                break
            line.append(best.action)
        return line

    def progress(self, tree: int) -> Progress:
        """The progress of all deals of a view."""
        deals = [Progress(*self._native.progress(deal)) for deal in self._trees(tree)]
        ends = [deal.stopped_by for deal in deals]
        stop = None if None in ends else next((end for end in ends if end != "proven"), "proven")
        return Progress(
            simulations=sum(deal.simulations for deal in deals),
            nodes=sum(deal.nodes for deal in deals),
            bytes=sum(deal.bytes for deal in deals),
            depth=max(deal.depth for deal in deals),
            stopped_by=stop,
        )

    def signature(self, tree: int) -> int:
        """A hash over all trees of a view."""
        number = 0
        for deal in self._trees(tree):
            number = _native.mix(number, self._native.signature(deal))
        return number

    # --- other roots ------------------------------------------------------------------------------

    def state(self, tree: int) -> Game:
        """The view at the root."""
        return self.views[tree]

    def advance_to(self, tree: int, actions: Sequence[int], view: Game) -> None:  # noqa: ARG002
        """Sample new deals from the new view."""
        self.plant(tree, view)

    def plant(self, tree: int, view: Game) -> None:
        """Sample new deals from another view."""
        self.views[tree] = view.clone()
        self._sampled.pop(tree, None)
        for deal, state in zip(self._trees(tree), self._new_deals(tree), strict=True):
            self._native.plant(deal, state)


def _q(edge: EdgeStats) -> float:
    """The mean value of an edge for the seat that chooses, clipped to its proven bounds."""
    low, high = edge.bounds
    return min(max(edge.W / edge.N, low), high) if edge.N else 0.0


def _divergence(p: NDArray[np.float32], q: NDArray[np.float32]) -> float:
    """KL(p || q) in nats; `q` need not sum to 1."""
    terms = [float(a) * ln(float(a / b) * float(q.sum())) for a, b in zip(p, q, strict=True) if a]
    return max(sum(terms), 0.0)


def _kind(nodes: Sequence[NodeStats]) -> str:
    """The most frequent kind among some nodes."""
    kinds = [node.kind for node in nodes]
    return max(kinds, key=lambda kind: (kinds.count(kind), kind))


def _added(edges: Sequence[EdgeStats]) -> EdgeStats:
    """The edges of one action in several deals as one: sums, and the mean prior."""
    return EdgeStats(
        action=edges[0].action,
        N=sum(edge.N for edge in edges),
        W=sum(edge.W for edge in edges),
        P=sum(edge.P for edge in edges) / len(edges),
        bounds=UNKNOWN,
        available=sum(edge.available for edge in edges),
    )
