"""The position after a path, and what is known of its node."""

from __future__ import annotations

from sylvan.errors import SearchStateError
from sylvan.evaluators import Evaluator
from sylvan.games import Game
from sylvan.planning import Forest, SearchConfig
from sylvan.planning.roots import as_root, is_view, seen_by_mover, shown_to
from sylvan.web.boards import actions_of, board_of, mover
from sylvan.web.found import Found
from sylvan.web.line import Line
from sylvan.web.protocol import Considered, Details, Look, Looked
from sylvan.web.rows import labels_of
from sylvan.web.slow import considered

__all__ = ["looked", "opinion_of"]

EDGES = 12
"""Edges of a node that are shown."""


def looked(line: Line, found: Found | None, evaluator: Evaluator | None, request: Look) -> Looked:
    """The answer to `request`; without an evaluator, nodes have no opinion of a network.

    :raises SearchStateError: the path has a move that is not legal.
    """
    state = line.state
    root = as_root(state if mover(state) is None else seen_by_mover(state))
    after = root.clone()
    for action in request.path:
        if action not in [info.action for info in actions_of(after)]:
            raise SearchStateError("This line has a move that is not legal: look at another.")
        after.apply(action)
    last = request.path[-1] if request.path else line.last
    details = None
    if request.details and found is not None:
        details = _details(found, evaluator, request.path, after)
    return Looked(
        path=request.path,
        labels=labels_of(root, request.path),
        board=board_of(after, last),
        details=details,
    )


def _details(
    found: Found, evaluator: Evaluator | None, path: list[int], state: Game
) -> Details | None:
    node = found.tree.find(tuple(path))
    if node is None:
        return None
    names = {info.action: info.label for info in actions_of(state)}
    values, priors = (None, []) if evaluator is None else opinion_of(evaluator, state, names)
    return Details(
        N=node.N,
        values=[float(w) / node.N for w in node.W] if node.N else None,
        kind=node.kind,
        seat=node.seat,
        edges=considered(node.edges[:EDGES], names),
        raw_values=values,
        raw_priors=priors,
    )


def opinion_of(
    evaluator: Evaluator, state: Game, names: dict[int, str]
) -> tuple[list[float] | None, list[Considered]]:
    """The evaluator's own values per seat and priors of a position, without a search."""
    if mover(state) is None or is_view(state):
        return None, []
    settings = SearchConfig(simulations=0, prior_bits=32, bytes=2**20)
    alone = Forest([shown_to(state, evaluator)], settings)
    alone.run_with(evaluator)
    root = alone.tree().read(())
    if root is None or not root.N:
        return None, []
    edges = sorted(root.edges, key=lambda edge: -edge.P)[:EDGES]
    return [float(w) / root.N for w in root.W], considered(edges, names)
