"""Trees of `Node` and `Edge` as Graphviz source.

`sylvan.views` draws the core's own trees; this draws those of `node-edge-chess`, into a `Digraph`
with the names of the package graphviz, so that its users find what they know.
"""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from sylvan.classic.nodes import Node
from sylvan.files import write_text
from sylvan.views.dot import quoted

__all__ = ["Digraph", "count_nodes", "draw"]


class Digraph:
    """As much of Graphviz's language as a tree needs, with the names of the package graphviz."""

    def __init__(self, comment: str = "") -> None:
        """An empty graph."""
        self.comment = comment
        self.body: list[str] = []

    def node(self, name: str, label: str) -> None:
        """Add a node; a label may have several lines."""
        self.body.append(f"  {quoted(name)} [label={quoted(*label.splitlines())}];")

    def edge(self, tail: str, head: str, label: str = "") -> None:
        """Add an edge."""
        self.body.append(f"  {quoted(tail)} -> {quoted(head)} [label={quoted(label)}];")

    @property
    def source(self) -> str:
        """The graph as text."""
        return "\n".join(
            [
                f"// {self.comment}",
                "digraph {",
                "  rankdir=LR;",
                "  node [shape=box];",
                *self.body,
                "}\n",
            ]
        )

    def save(self, path: str) -> None:
        """Write it whole or not at all; folders are made as needed."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.source)


def draw(
    dot: Any,
    node: Node,
    *,
    depth: int | None = None,
    nodes: int | None = None,
    visits: int = 1,
) -> Any:
    """Draw a node and all below it into a `Digraph`, within limits, the most visited first.

    Args:
        dot: this module's `Digraph`, or the one of the package graphviz
        node: where to begin
        depth: moves below it
        nodes: how many to draw
        visits: the fewest that a child needs to be drawn; 0 draws untried moves, too
    """
    numbers, left_out = count(), Counter[str]()
    waiting: list[tuple[int, int, int, Node, str]] = [(-node.N, 0, 0, node, "")]
    serial = count(1)
    while waiting:
        _, level, _, here, parent = heapq.heappop(waiting)
        number = next(numbers)
        if nodes is not None and number >= nodes:
            left_out[parent] += 1
            continue
        name = f"n{number}"
        dot.node(name, _label(here, top=not parent))
        if parent and here.above is not None:
            dot.edge(parent, name, label=here.above.action.uci())
        for edge in here.edges:
            if edge.N < visits or level == depth:
                left_out[name] += edge.N > 0 or not visits  # untried moves are not missed
            else:
                child = edge.output_node
                heapq.heappush(waiting, (-edge.N, level + 1, next(serial), child, name))
    for number, (parent, left) in enumerate((+left_out).items()):
        dot.node(f"m{number}", f"+{left:,} more")
        dot.edge(parent, f"m{number}", label="")
    return dot


def count_nodes(node: Node, visits: int) -> int:
    """The nodes from one on that have so many visits; the first counts always."""
    found, waiting = 0, [node]
    while waiting:
        found += 1
        waiting += [edge.output_node for edge in waiting.pop().edges if edge.N >= visits]
    return found


def _label(node: Node, *, top: bool) -> str:
    """N, Q and P: those of the edge into a node, and its own N and Q at the top."""
    edge = node.above
    if top or edge is None:
        return f"N {node.N}\nQ {node.Q:+.3f}"
    return f"N {edge.N}\nQ {edge.Q:+.3f}\nP {edge.P:.4f}"
