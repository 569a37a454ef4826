"""Information-set search (Cowling, Powley and Whitehouse 2012): one tree over public actions, a
fresh deal for every simulation.

The root is the view of one seat. A walk samples a deal from it and takes, at every node, an action
that is legal in this deal; other deals may add actions to a node. In place of the node's visits,
PUCT and UCT use the visits at which the edge was legal, at least 1. Priors depend on the mover's
own view: one evaluation per node and view. A walk ends at a new node. At a known node with a new
view it waits for the priors and then continues, unless `stop_at_new_views`. With `flat_priors` it
never waits. There are no proofs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sylvan._native import Rng, quantise_priors, softmax
from sylvan.games.game import Game
from sylvan.planning.config import SearchConfig
from sylvan.reference import graph, priors
from sylvan.reference.node import ZERO, Node, f32
from sylvan.reference.search import Evaluate, Evaluation, Rule, Search


@dataclass
class Walk:
    """A simulation in progress."""

    state: Game
    path: list[Node]
    passed: list[Node] = field(default_factory=list)  # edges that it counted as available
    own: bytes = b""  # observation of the seat to move at the leaf
    resumes: bool = False  # continues from the leaf once it has priors
    counted: bool = False  # counts as a started simulation


class DealSearch(Search):
    """A tree of information sets and the search that grows it."""

    def __init__(
        self, view: Game, evaluate: Evaluate, config: SearchConfig, rule: Rule | None = None
    ) -> None:
        super().__init__(
            view, evaluate, config.replace(proofs=False, stop_early=False, c_deviation=0.0), rule
        )
        deal = view.sample(Rng(0))
        self.has_rewards = type(deal).rewards is not Game.rewards
        self.plain = not self.has_rewards and config.discount == 1.0
        self.duel = self.zero_sum and self.plain and self.value_range == (-1.0, 1.0)
        self.legal: Sequence[int] = ()  # at the node of the current choice
        self.requested: set[tuple[int, bytes]] = set()
        self.suspended: list[Walk] = []

    def batch(self) -> None:
        """Resume walks, start new ones until the batch closes, evaluate, back up."""
        limit = self.config.leaves_in_flight
        collisions = limit if self.config.collisions is None else self.config.collisions
        leaves: list[Walk] = []
        collided: list[Walk] = []
        full: list[Walk] = []  # the collision that closes the batch
        while len(leaves) < limit and not full and (self.suspended or self.may_start()):
            if self.suspended:
                walk = self.suspended.pop(0)
            else:
                walk = Walk(self.state.sample(self.rng.split()), [self.root])
            end = self.resume(walk)
            if end == "collision" and len(collided) >= collisions:
                full.append(walk)
            elif end == "collision":
                collided.append(walk)
            elif end == "leaf":
                self.started += len(walk.path) > 1 and not walk.counted
                self.requested.add((id(walk.path[-1]), walk.own))
                leaves.append(walk)
            for node in walk.path if end != "finished" and not full else []:
                node.in_flight += 1
            if end == "collision" and len(walk.path) == 1:
                break  # all walks need the root's evaluation
        for walk in collided + full:
            for node in walk.path if walk not in full else []:
                node.in_flight -= 1
            for child in walk.passed if not walk.counted else []:
                child.available -= 1
        self.suspended += [walk for walk in collided + full if walk.counted]
        evaluations = self.evaluate([walk.state for walk in leaves]) if leaves else []
        for walk, evaluation in zip(leaves, evaluations, strict=True):
            self.apply_evaluation(walk, evaluation)

    def may_start(self, *, exact: bool = True) -> bool:
        """Return whether a simulation may start or a suspended walk may resume."""
        return super().may_start(exact=exact) or bool(self.suspended)

    def resume(self, walk: Walk) -> str:
        """Continue a walk; return how it ends: "finished", "leaf" or "collision"."""
        while True:
            node, state = walk.path[-1], walk.state
            if node is self.root and node.kind == "decision":
                child = self.rule(node, self)
            elif state.is_terminal():
                node.kind = "terminal" if node.kind == "leaf" else node.kind
                self.depth = max(self.depth, len(walk.path) - 1)
                self.started += not walk.counted
                for step in walk.path:
                    step.in_flight += 1
                self.backup(walk.path, list(state.returns()), False)
                return "finished"
            elif state.is_chance():
                node.kind = "chance" if node.kind == "leaf" else node.kind
                outcomes = list(state.chance_outcomes())
                self.list_actions(node, [a for a, _ in outcomes], [f32(p) for _, p in outcomes])
                drawn = self.rng.pick([p for _, p in outcomes])
                child = node.children[outcomes[drawn][0]]
                self.count(walk, node)
            elif (end := self.request_evaluation(walk, node)) is not None:
                return end
            else:
                node.seat, legal = state.to_play(), list(state.legal_actions())
                self.list_actions(node, legal, self.priors(node, walk.own, len(legal)))
                child = self.rule(node, self)
                self.count(walk, node)
            state.apply(child.action)
            if not child.tried:
                child.tried, self.nodes = True, self.nodes + 1
                if self.has_rewards:
                    child.reward = list(state.rewards())
                if node is self.root:
                    node.mass += child.prior
            walk.path.append(child)

    def request_evaluation(self, walk: Walk, node: Node) -> str | None:
        """Return "leaf" if the node needs an evaluation for this view, "collision" if it waits for
        one, None if its priors are known.
        """
        fresh, flat = not node.children, self.config.flat_priors
        walk.own = b"" if flat else np.asarray(walk.state.observation()).tobytes()
        if not fresh and (flat or walk.own in node.views):
            return None
        if (id(node), walk.own) in self.requested:
            return "collision"
        walk.resumes = not fresh and not self.config.stop_at_new_views
        self.depth = max(self.depth, len(walk.path) - 1)
        return "leaf"

    def list_actions(self, node: Node, actions: list[int], priors: Sequence[f32]) -> None:
        """Set the legal actions of a node in the current deal."""
        self.legal = actions
        for index, (action, prior) in enumerate(zip(actions, priors, strict=True)):
            child = node.children.setdefault(action, self.new_node(action))
            child.index, child.prior = index, prior
        tried = [child for child in map(node.children.__getitem__, actions) if child.tried]
        node.mass = sum((child.prior for child in tried), ZERO)

    def count(self, walk: Walk, node: Node) -> None:
        """Increment the availability of the actions that are legal in this deal."""
        for action in self.legal:
            node.children[action].available += 1
            walk.passed.append(node.children[action])

    def priors(self, node: Node, own: bytes, n: int) -> Sequence[f32]:
        """Return the priors of a view at a node."""
        if self.config.flat_priors:
            flat = np.full(n, 1 / f32(n), np.float32)
            return list(quantise_priors(flat, self.config.prior_bits))
        return node.views[own]

    def apply_evaluation(self, walk: Walk, evaluation: Evaluation) -> None:
        """Store the priors of a leaf; back up its values, or suspend the walk to resume it."""
        node, state, (logits, values) = walk.path[-1], walk.state, evaluation
        self.requested.discard((id(node), walk.own))
        if node is self.root:
            return self.expand(walk.path, state, evaluation)
        if self.at_horizon(walk.path):
            return self.backup(walk.path, [float(f32(v)) for v in values], False)
        found = softmax(priors.at_leaf(logits, state, self.config))
        node.views[walk.own] = list(quantise_priors(found, self.config.prior_bits))
        if walk.resumes:
            walk.counted = True
            for step in walk.path:
                step.in_flight -= 1
            return self.suspended.append(walk)
        self.backup(walk.path, [float(f32(v)) for v in values], False)
        node.kind, node.seat = "decision", state.to_play()
        legal = list(state.legal_actions())
        self.list_actions(node, legal, self.priors(node, walk.own, len(legal)))
        self.count(walk, node)
        return None

    def open_edges(self, node: Node) -> list[Node]:
        """Return the children that are legal in the current deal."""
        root = node is self.root
        return [node.children[action] for action in (node.children if root else self.legal)]

    def available(self, node: Node, child: Node) -> int:
        """Return the visits at which a child was legal; at the root all visits."""
        return node.started if node is self.root else max(child.available, 1)

    def advance(self, action: int, view: Game | None = None) -> None:
        """Make the child after an action the root.

        :param view: the seat's view after the action, if it cannot be derived from the old view.
        """
        known = self.root.children.get(action)
        if view is None:
            view = self.state.clone()
            view.apply(action)
        self.state = view
        self.state.set_root()
        self.root = known if known and known.tried else self.new_node(action)
        self.nodes, self.seen = len(graph.positions(self.root)), (f32(np.inf), f32(-np.inf))
        if view.is_terminal() or view.is_chance() or view.to_play() != view.observer:
            return
        self.set_root_priors()

    def set_root_priors(self) -> None:
        """Set the root's priors to those of its seat's view."""
        legal, own = list(self.state.legal_actions()), b""
        if not self.root.children:
            self.root.kind = "leaf"
            return
        if not self.config.flat_priors:
            own = np.asarray(self.state.observation()).tobytes()
        flat = [f32(1) / f32(len(legal))] * len(legal)
        priors = flat if self.config.flat_priors else self.root.views.get(own)
        tried = {a: c for a, c in self.root.children.items() if c.tried}
        if priors is None or len(priors) != len(legal) or not set(tried) <= set(legal):
            self.root, self.nodes = self.new_node(), 1
            return
        self.root.children = {a: tried.get(a) or self.new_node(a) for a in legal}
        for index, (child, prior) in enumerate(
            zip(self.root.children.values(), priors, strict=True)
        ):
            child.index, child.prior, child.original = index, prior, prior
        self.root.kind, self.root.seat = "decision", self.state.to_play()
        self.root.raw = self.root.value(self.root.seat)
