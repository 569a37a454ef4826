"""The search in plain Python: the specification of the core.

Walk from the root by the selection rule, evaluate the leaf, back up the value. `sylvan.Search`
gives the same counts, values and action for the same seed and evaluations. `evaluate` takes a list
of states and returns for each the logits of its legal actions, in the game's order, and values, one
per seat. There are no threads, clocks or byte budgets here.

The batch rule: start walks until `leaves_in_flight` leaves wait for `evaluate`. A walk that ends in
a finished or proven position is backed up at once. A walk that ends at a waiting leaf (a collision)
is no simulation; its virtual visits stay until the batch closes (at most `collisions` of them).
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from sylvan._native import Rng, quantise_priors, softmax
from sylvan.games.game import Game
from sylvan.planning.config import SearchConfig
from sylvan.reference import decided, deviation, graph, gumbel, priors, proofs, selection
from sylvan.reference.node import ONE, TINY, ZERO, Node, f32

Evaluation = tuple[Sequence[float], Sequence[float]]
Evaluate = Callable[[list[Game]], Sequence[Evaluation]]
Rule = Callable[[Node, "Search"], Node]  # a selection rule: the child to follow
RULES: dict[str, Rule] = {"puct": selection.puct, "uct": selection.uct, "gumbel": gumbel.choose}


class Search:
    """A tree and the search that grows it."""

    def __init__(
        self, state: Game, evaluate: Evaluate, config: SearchConfig, rule: Rule | None = None
    ) -> None:
        """Search from `state`, where a seat is to move; `rule` replaces the selection rule."""
        self.state, self.evaluate, self.config = state.clone(), evaluate, config
        self.state.set_root()
        self.rule, self.rng = rule or RULES[config.selection], Rng(config.seed)
        self.seats, self.value_range = state.num_players, (*state.value_range,)
        self.zero_sum = bool(state.zero_sum) and self.seats == 2
        self.has_rewards = type(state).rewards is not Game.rewards
        # Plain: only the end of the game pays, without discount: values are returns.
        # Duel: two seats then play for -1, 0 or 1, and proofs are bounds, not exact results.
        self.plain = not self.has_rewards and config.discount == 1.0
        self.duel = self.zero_sum and self.plain and self.value_range == (-1.0, 1.0)
        self.root, self.nodes, self.seen = self.new_node(), 1, (f32(np.inf), f32(-np.inf))
        # Transpositions: the first edge to every position but the root, and the plies to the root.
        self.positions, self.plies = dict[bytes, Node](), 0

    def run(self, noise: Sequence[float] | None = None) -> Node:
        """Run one search on the current tree; `noise` replaces the random noise."""
        self.started, self.next_look, self.depth, self.noise = 0, 0, 0, noise
        self.stopped_by: str | None = None
        if self.root.kind == "decision":
            self.prepare_root()
        while self.may_start():
            self.batch()
        return self.root

    def batch(self) -> None:
        """Walk until the batch closes, evaluate, back up."""
        limit = self.config.leaves_in_flight
        collisions = limit if self.config.collisions is None else self.config.collisions
        leaves: list[tuple[list[Node], Game]] = []
        collided: list[list[Node]] = []
        while len(leaves) < limit and self.may_start(exact=not collided):
            path, state, needs_evaluation = self.walk()
            self.depth = max(self.depth, len(path) - 1)
            if needs_evaluation:
                self.started += len(path) > 1
                path[-1].at.pending = True
                leaves.append((path, state))
            elif path[-1].at.pending and len(collided) >= collisions:
                break
            elif path[-1].at.pending:
                collided.append(path)
            graph.occupy(path, int(path[-1].at.pending))
        for path in collided:
            graph.occupy(path, -1)
        evaluations = self.evaluate([state for _, state in leaves]) if leaves else []
        for (path, state), evaluation in zip(leaves, evaluations, strict=True):
            self.expand(path, state, evaluation)

    def may_start(self, *, exact: bool = True) -> bool:
        """Return whether another simulation may start; if not, set `stopped_by`. `exact`: all
        visits in flight will be finished, because none is a collision's.
        """
        config, expanded = self.config, self.root.kind != "leaf"
        if config.proofs and self.root.proven is not None:
            self.stopped_by = "proven"
        elif expanded and config.simulations is not None and self.started >= config.simulations:
            self.stopped_by = "simulations"
        elif expanded and config.nodes is not None and self.nodes >= config.nodes:
            self.stopped_by = "nodes"
        elif config.depth is not None and self.depth >= config.depth:
            self.stopped_by = "depth"
        elif config.stop_early and exact and expanded and decided.decided(self):
            self.stopped_by = "decided"
        return self.stopped_by is None

    def walk(self) -> tuple[list[Node], Game, bool]:
        """Walk from the root to a leaf; return path, state, and whether it needs an evaluation."""
        node, state, path = self.root, self.state.clone(), [self.root]
        while True:
            if self.config.transpositions and state.is_repetition():
                self.finish(path, [0.0] * self.seats, repeated=True)
                return path, state, False
            if node.pending:
                return path, state, False
            if node.kind == "leaf" and not state.is_terminal() and not state.is_chance():
                return path, state, True
            if node.kind == "leaf":
                node.kind = "terminal" if state.is_terminal() else "chance"
                if node.kind == "terminal":
                    self.finish(path, list(state.returns()), first=True)
                    return path, state, False
                for index, (action, p) in enumerate(state.chance_outcomes()):
                    node.children[action] = self.new_node(action, index, f32(p))
            elif node.kind == "terminal" or (self.config.proofs and node.proven is not None):
                self.finish(path, (self.config.proofs and node.proven) or list(state.returns()))
                return path, state, False
            path.append(self.follow(node, state, self.plies + len(path)))
            node = path[-1].at

    def follow(self, node: Node, state: Game, ply: int) -> Node:
        """Choose a child by the rule or by chance, and apply its action to `state`."""
        if node.kind == "chance":
            outcomes = list(state.chance_outcomes())
            child = node.children[outcomes[self.rng.pick([p for _, p in outcomes])][0]]
        else:
            child = self.rule(node, self)
        state.apply(child.action)
        if not child.tried:
            child.tried, child.slot = True, sum(c.tried for c in node.children.values())
            node.mass += child.prior
            if self.has_rewards:
                child.reward = list(state.rewards())
            if self.config.transpositions:
                graph.share(child, state, ply, self)
            self.nodes += child.shared is None
        return child

    def finish(
        self,
        path: list[Node],
        values: list[float],
        *,
        first: bool = False,
        repeated: bool = False,
    ) -> None:
        """End a simulation at a known result, or at a draw by repetition."""
        proven = self.config.proofs and first and proofs.prove_terminal(path[-1].at, values, self)
        self.started += 1
        graph.occupy(path, 1)
        if repeated and path[-1].shared is not None:
            path[-1].repeats += 1
        self.backup(path, values, proven, repeated=repeated)

    def expand(self, path: list[Node], state: Game, evaluation: Evaluation) -> None:
        """Add a leaf's children, one per legal action, and back up its values."""
        node, (logits, values) = path[-1].at, evaluation
        legal, seat, node.pending = state.legal_actions(), state.to_play(), False
        if node is not self.root:  # a latent state's reward comes with its evaluation
            path[-1].reward = list(state.rewards())
        if not self.at_horizon(path):
            bits = 32 if node is self.root else self.config.prior_bits
            quantised = quantise_priors(softmax(priors.at_leaf(logits, state, self.config)), bits)
            for index, (action, prior) in enumerate(zip(legal, quantised, strict=True)):
                node.children[action] = self.new_node(action, index, prior)
            node.kind, node.seat, node.raw = "decision", seat, f32(values[seat])
        self.backup(path, [float(f32(v)) for v in values], False)
        if node is self.root:
            self.prepare_root()

    def at_horizon(self, path: list[Node]) -> bool:
        """Return whether a leaf is too deep to be expanded; it is evaluated at each visit."""
        return self.config.horizon is not None and len(path) > self.config.horizon

    def backup(
        self, path: list[Node], values: list[float], proven: bool, *, repeated: bool = False
    ) -> None:
        """Add the values, one per seat, to every node of the path: no sign is flipped. A draw by
        repetition (`repeated`) does not count for a shared position at the end.
        """
        graph.occupy(path, -1)
        sample = values
        for i, edge in reversed(list(enumerate(path))):
            node, inside = edge.at, i + 1 < len(path)
            links = inside and any(c.shared for c in node.children.values())
            if links:
                growth = graph.refresh(node, self)
                values = [v + g for v, g in zip(values, growth, strict=True)]
            if inside and (proven or (links and self.config.proofs)):
                proven = proofs.conclude(node, self)
            if inside or not (repeated and edge.shared):
                node.N += 1
                node.W = [w + v for w, v in zip(node.W, values, strict=True)]
                deviation.record(node, sample)
            if edge.shared is not None:
                edge.N += 1
                values = graph.update(edge, self)
            if i > 0 and path[i - 1].at.kind == "decision":
                q = self.q(path[i - 1].at, edge)
                self.seen = (min(self.seen[0], q), max(self.seen[1], q))
            if self.config.rave and node.kind == "decision" and inside:
                self.update_amaf(path[i:], values)
            values, sample = self.step(edge, values), self.step(edge, sample)

    def update_amaf(self, path: list[Node], values: list[float]) -> None:
        """RAVE: add the value to the actions that the first node's seat took along the path."""
        seat = path[0].seat
        own = [b.action for a, b in pairwise(path) if a.kind == "decision" and a.seat == seat]
        for action in dict.fromkeys(own):
            n, total = path[0].amaf.get(action, (0, 0.0))
            path[0].amaf[action] = n + 1, total + values[seat]

    def prepare_root(self) -> None:
        """Draw the root's noise, once per search, and mix it into the original priors."""
        edges, config = list(self.root.children.values()), self.config
        for child in edges:
            child.prior = child.original
        if config.selection == "gumbel":
            drawn = self.noise or [config.gumbel_scale * g for g in self.rng.gumbel(len(edges))]
            self.gumbel, self.base = list(drawn), [c.started for c in edges]
            considered = min(config.max_considered, len(edges))
            self.schedule = gumbel.schedule(considered, config.simulations or 0)
        elif config.noise:
            drawn = self.noise or self.rng.dirichlet(config.dirichlet_alpha, len(edges))
            for child, eta in zip(edges, drawn, strict=True):
                child.prior = max(f32(config.mixed(float(child.original), eta)), TINY)
        tried = sorted((c for c in edges if c.tried), key=lambda c: (-c.prior, c.index))
        self.root.mass = sum((c.prior for c in tried), ZERO)
        for slot, child in enumerate(tried):
            child.slot = slot

    def advance(self, action: int) -> None:
        """Make the position after an action the root. Keep its subtree, unless it was terminal in
        the tree and is not as a root.
        """
        known = self.root.children.get(action)
        self.state.apply(action)
        ended = self.state.is_terminal()
        self.state.set_root()
        kept = known.at if known and known.tried and ended == self.state.is_terminal() else None
        self.root = kept or self.new_node(action)
        self.nodes, self.seen = len(graph.positions(self.root)), (f32(np.inf), f32(-np.inf))
        self.positions, self.plies = graph.reachable(self), self.plies + 1

    def new_node(self, action: int = 0, index: int = 0, prior: f32 = ONE) -> Node:
        zeros = [0.0] * self.seats
        return Node(prior, action, index, W=list(zeros), reward=list(zeros), original=prior)

    def step(self, node: Node, values: list[float]) -> list[float]:
        """Return the value per seat before the step into a node: reward + discount * value."""
        pairs = zip(node.reward, values, strict=True)
        return values if self.duel else [r + self.config.discount * v for r, v in pairs]

    def step_bounds(self, node: Node, child: Node) -> tuple[float, float]:
        """Return the proven bounds of an edge for the seat that chooses."""
        low, high = child.bounds if self.duel else (-np.inf, np.inf)
        if child.exact is not None:
            low = high = self.step(child, child.exact)[node.seat]
        return (low, high) if not self.duel or node.seat == 0 else (-high, -low)

    def q(self, node: Node, child: Node) -> f32:
        """Return Q of an edge for the seat that chooses, clipped to its proven bounds."""
        low, high = self.step_bounds(node, child)
        mean = self.step(child, [w / child.N for w in child.W])[node.seat]
        return f32(min(max(mean, low), high))

    def available(self, node: Node, child: Node) -> int:  # noqa: ARG002
        """Return the visits at which a child was legal: all of its node's."""
        return node.started

    def open_edges(self, node: Node) -> list[Node]:
        """Return the children that selection may choose."""
        return [child for child in node.children.values() if not child.closed]
