"""One simulation, step by step: which edges selection weighed, what was found, what was backed up.

The core makes a simulation in one go. Its path shows in the visits: at every node exactly one edge
has one visit more than before. So a mirror of the tree's statistics is kept here, and the nodes of
the path are read again after each simulation. That is slow, and meant to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sylvan.errors import SearchStateError
from sylvan.evaluators.protocol import Evaluator
from sylvan.planning import Forest, SearchConfig
from sylvan.planning.tree import EdgeView, TreeView
from sylvan.web.boards import board_of
from sylvan.web.protocol import Considered, Simulation, StepInfo
from sylvan.web.rows import Path, finite, labels_of

if TYPE_CHECKING:
    from sylvan._native import EdgeStats, NodeStats

__all__ = ["SlowMotion", "considered"]

MOST_NODES = 20_000
"""Nodes of a tree that a mirror is made of."""

EDGES = 8
"""Edges shown at each step."""


def considered(
    edges: Iterable[EdgeView] | Iterable[EdgeStats], labels: dict[int, str]
) -> list[Considered]:
    """Edges as a page shows them, without exploration terms."""
    return [_edge(edge, labels, None) for edge in edges]


def _edge(
    edge: EdgeView | EdgeStats,
    labels: dict[int, str],
    exploration: float | None,
    urgency: float | None = None,
) -> Considered:
    return Considered(
        action=edge.action,
        label=labels.get(edge.action, str(edge.action)),
        N=edge.N,
        Q=finite(edge.W / edge.N) if edge.N else None,
        P=float(edge.P),
        U=None if exploration is None else exploration * edge.P / (1 + edge.N),
        urgency=urgency if edge.N == 0 else None,
    )


def _urgency(
    node: NodeStats, config: SearchConfig, bounds: tuple[float, float] | None, *, root: bool
) -> float | None:
    """First-play urgency at a node, in the game's returns; None if the range is learned."""
    if bounds is None or node.kind != "decision" or not node.N:
        return None
    low, high = bounds
    rule, number = config.fpu_rule(root=root)
    if rule == "loss":
        return low
    reach = (high - low) / 2
    if rule == "value":  # on the scale where the range is -1 to 1
        return (low + high) / 2 + number * reach
    tried = sum(edge.P for edge in node.edges if edge.N)
    return float(node.W[node.seat]) / node.N - number * math.sqrt(tried) * reach


class SlowMotion:
    """A mirror of a tree that tells what one more simulation did."""

    def __init__(self, forest: Forest) -> None:
        """Read the whole tree.

        :raises SearchStateError: it is too large to be watched.
        """
        self._forest = forest
        self._nodes: dict[Path, NodeStats] = {}
        tree = forest.tree()
        waiting: list[Path] = [()]
        while waiting:
            path = waiting.pop()
            node = tree.read(path)
            if node is None:
                continue
            self._nodes[path] = node
            if len(self._nodes) > MOST_NODES:
                raise SearchStateError(
                    f"The tree has more than {MOST_NODES:,} nodes: start a new one to watch it "
                    "grow step by step."
                )
            waiting += [(*path, edge.action) for edge in node.edges if edge.N]

    def step(self, evaluator: Evaluator) -> Simulation | None:
        """Make one simulation; None if the search has nothing left to do."""
        forest = self._forest
        before = self._nodes.get(())
        is_first = before is None or before.N == 0
        forest.limit(simulations=0 if is_first else 1)
        forest.begin()
        forest.run_with(evaluator)
        tree = forest.tree()
        after = tree.read(())
        if after is None or (before is not None and before.N == after.N):
            return None
        path = self._path(tree)
        return self._message(tree, path, before, after)

    def _path(self, tree: TreeView) -> Path:
        """The path of the simulation that was just made."""
        path: Path = ()
        while True:
            before, after = self._nodes.get(path), tree.read(path)
            assert after is not None, "a path leads through nodes that exist"
            visits = {} if before is None else {edge.action: edge.N for edge in before.edges}
            step = next((e.action for e in after.edges if e.N > visits.get(e.action, 0)), None)
            if step is None or before is None:
                return path
            path = (*path, step)

    def _message(
        self, tree: TreeView, path: Path, before: NodeStats | None, after: NodeStats
    ) -> Simulation:
        """The message about a simulation; brings the mirror up to date."""
        steps = []
        for depth, action in enumerate(path):
            steps.append(self._step(tree, path[:depth], action))
        is_new = path not in self._nodes or not self._nodes[path].N
        end = tree.read(path)
        assert end is not None
        for depth in range(len(path) + 1):
            node = tree.read(path[:depth])
            if node is not None:
                self._nodes[path[:depth]] = node
        state = tree.game.clone()
        for action in path:
            state.apply(action)
        had = [0.0] * len(after.W) if before is None else before.W
        priors = sorted(end.edges, key=lambda edge: -edge.P)[:EDGES]
        names = {edge.action: labels_of(state, [edge.action])[0] for edge in priors}
        kind = "terminal" if end.kind == "terminal" else "expanded" if is_new else "known"
        return Simulation(
            number=after.N,
            steps=steps,
            kind=kind,  # type: ignore[arg-type]
            values=[float(now - then) for now, then in zip(after.W, had, strict=True)],
            seat=end.seat if end.kind == "decision" else None,
            priors=considered(priors, names) if is_new else [],
            board=board_of(state, path[-1] if path else None),
            path=list(path),
        )

    def _step(self, tree: TreeView, path: Path, action: int) -> StepInfo:
        """The choice of `action` after `path`, with the statistics from before."""
        node, now = self._nodes[path], tree.read(path)
        assert now is not None
        config: SearchConfig = self._forest.config
        exploration = config.exploration(node.N) if config.selection == "puct" else None
        state = tree.game.clone()
        for earlier in path:
            state.apply(earlier)
        if node.kind != "decision":
            exploration = None
        bounds = config.bounds(state.value_range)
        urgency = _urgency(node, config, bounds, root=not path)

        def score(edge: EdgeStats) -> float:
            known = edge.W / edge.N if edge.N else urgency or 0.0
            return known + (exploration or 0.0) * edge.P / (1 + edge.N)

        best = sorted(node.edges, key=lambda e: (e.action != action, -score(e)))[:EDGES]
        names = {edge.action: labels_of(state, [edge.action])[0] for edge in best}
        chosen = next(edge for edge in now.edges if edge.action == action)
        return StepInfo(
            action=action,
            label=names[action],
            seat=node.seat if node.kind == "decision" else None,
            edges=[_edge(edge, names, exploration, urgency) for edge in best],
            Q_after=finite(chosen.W / chosen.N) if chosen.N else None,
        )
