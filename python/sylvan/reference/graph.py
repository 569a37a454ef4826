"""Transpositions: one node for a position that several edges reach.

Positions are equal if their keys are (`Game.position_key`). The first edge to a position is its
node, as in a tree. When a second edge reaches it, the position gets a node of its own, and both
edges keep N, W and P for themselves. Then

    W(edge) = N(edge) * Q(position)         Q(position) = W / N, clipped to its proven bounds
    W(node) = its own evaluation + the sum of W over its edges

so nothing is counted twice, and what one parent learns about a position, the others know. An edge
keeps W and bounds from its last update, and selection reads these. Each backup through a node
updates the edge it comes from and one more, in turn (`refresh`).

There are no cycles: no position recurs on a line, since keys contain the number of plies, or, in
chess, the plies since the last capture or pawn move.

Repetitions depend on the line, not on the position. A walk that repeats a position of its line
ends there in a draw, which counts for the last edge (`repeats`), not for a shared position behind
it, and proves nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sylvan.errors import GameContractError
from sylvan.games.game import Game
from sylvan.reference.node import Node

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def share(edge: Node, state: Game, ply: int, search: Search) -> None:
    """Let a new edge lead to the node of its position, if there is one.

    :param ply: plies since the first root.
    """
    key = state.position_key(ply)
    first = search.positions.setdefault(key, edge) if key is not None else edge
    if first is edge:
        return
    position = first.at
    check_equal(position, state)
    if first.shared is None:
        position = replace(first, W=list(first.W))
        first.shared, first.children = position, {}
    edge.shared = position


def check_equal(position: Node, state: Game) -> None:
    """:raises GameContractError: a known position differs from a state with the same key."""
    if state.is_repetition():
        return  # this line ends here, others go on
    actions = [] if state.is_terminal() or state.is_chance() else list(state.legal_actions())
    known = list(position.children) if position.kind == "decision" else []
    if position.kind in ("decision", "terminal") and known != actions:
        raise GameContractError(
            f"{type(state).__name__}.key() is equal in two states, but the legal actions are "
            f"{known} in one and {actions} in the other: give the two different keys."
        )


def worth(edge: Node, search: Search) -> list[float]:
    """Return W of an edge, per seat, with the present Q of its position."""
    position, n = edge.at, edge.N - edge.repeats
    if edge.shared is None or n == 0:
        return edge.W if edge.shared is None else [0.0] * search.seats
    means = [w / position.N for w in position.W]
    if search.duel:
        low, high = position.bounds
        first = min(max(means[0], low), high)
        means = [first, -first]
    return [n * mean for mean in position.exact or means]


def update(edge: Node, search: Search) -> list[float]:
    """Bring W and the proven bounds of a shared edge up to date; return the change of W."""
    old, edge.W = edge.W, worth(edge, search)
    edge.bounds, edge.exact = edge.at.bounds, edge.at.exact
    return [new - before for new, before in zip(edge.W, old, strict=True)]


def refresh(node: Node, search: Search) -> list[float]:
    """Bring one shared edge of a node up to date, another one at each visit; return by how much W
    of the node grows.
    """
    tried = sorted((c for c in node.children.values() if c.tried), key=lambda c: c.slot)
    edge = tried[node.N % len(tried)]
    if edge.shared is None:
        return [0.0] * search.seats
    return [search.config.discount * x for x in update(edge, search)]


def positions(root: Node) -> list[Node]:
    """Return the visited positions from a node on, each once."""
    found, waiting = {id(root): root}, [root]
    while waiting:
        ends = {id(c.at): c.at for c in waiting.pop().children.values() if c.tried}
        new = [end for name, end in ends.items() if name not in found]
        found, waiting = found | ends, waiting + new
    return list(found.values())


def reachable(search: Search) -> dict[bytes, Node]:
    """Return the table of positions without those that the root does not lead to."""
    kept = {id(node) for node in positions(search.root)} - {id(search.root)}
    return {key: first for key, first in search.positions.items() if id(first.at) in kept}


def occupy(path: list[Node], visits: int) -> None:
    """Add virtual visits to a path: integers that Q ignores, so removal is exact."""
    for edge in path:
        edge.in_flight += visits
        if edge.shared is not None:
            edge.shared.in_flight += visits
