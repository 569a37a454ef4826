"""The shortest win: with a proven root, the action is chosen by the plies to the end of the game.

    plies(end)  = 0
    plies(won)  = 1 + the least plies of the edges that are proven to win
    plies(lost) = 1 + the most plies of all edges

A won root takes the edge with the fewest plies, a lost one that with the most; ties go to more
visits. Only what is proven counts, so a shorter win may exist. Only with two seats and a win, draw
or loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylvan.reference.node import Node

if TYPE_CHECKING:
    from sylvan.reference.search import Search


def best_ending(search: Search, edges: list[Node]) -> Node | None:
    """Return the edge that a won or lost root takes; None at any other root."""
    root, config = search.root, search.config
    if not (config.shortest_win and config.proofs and search.duel and root.proven):
        return None
    value = root.proven[root.seat]
    if value == 0:
        return None
    known = dict[int, int | None]()

    def key(edge: Node) -> tuple[float, int, float, int]:
        plies = plies_to_end(edge.at, known)
        rank = -float("inf") if plies is None else -plies * value
        return rank, edge.N, float(edge.prior), -edge.index

    return max((edge for edge in edges if edge.tried), key=key)


def plies_to_end(node: Node, known: dict[int, int | None]) -> int | None:
    """Return the plies from a position to the end of the game, if a proof tells them."""
    if node.kind == "terminal":
        return 0
    if node.kind != "decision" or node.proven is None:
        return None
    if id(node) not in known:
        known[id(node)] = _plies(node, node.proven[node.seat], known)
    return known[id(node)]


def _plies(node: Node, value: float, known: dict[int, int | None]) -> int | None:
    edges = [edge for edge in node.children.values() if edge.tried]
    ends = [edge.at for edge in edges]
    if value > 0:
        ends = [end for end in ends if end.proven is not None and end.proven[node.seat] > 0]
        plies = [each for end in ends if (each := plies_to_end(end, known)) is not None]
        return 1 + min(plies) if plies else None
    found = [plies_to_end(end, known) for end in ends]
    if value == 0 or len(edges) < len(node.children) or None in found:
        return None
    return 1 + max(each for each in found if each is not None)
