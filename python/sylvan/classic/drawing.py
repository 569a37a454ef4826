"""Graphviz source of trees of `Node` and `Edge`.

`sylvan.views` draws the core's own trees; this draws those of `node-edge-chess`, which may be
changed by hand. `Digraph` has the names of the package graphviz.
"""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Protocol, TypeVar

from sylvan.classic.nodes import Node
from sylvan.files import write_text
from sylvan.views.dot import quoted

__all__ = ["Digraph", "Drawing", "count_nodes", "draw"]


class Drawing(Protocol):
    """A graph to draw into: `Digraph`, or that of the package graphviz."""

    def node(self, name: str, label: str) -> None:
        """Add a node."""

    def edge(self, tail: str, head: str, label: str) -> None:
        """Add an edge."""


D = TypeVar("D", bound=Drawing)


class Digraph:
    """The part of the package graphviz's `Digraph` that a tree needs."""

    def __init__(self, comment: str = "") -> None:
        """Create an empty graph."""
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
        """Write the file atomically; create missing folders."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.source)


def draw(
    dot: D,
    node: Node,
    *,
    depth: int | None = None,
    nodes: int | None = None,
    visits: int = 1,
) -> D:
    """Draw a node and its subtree into a `Digraph`, within limits, the most visited nodes first.

    Args:
        dot: the graph to draw into
        node: the top of the drawing
        depth: most moves below it
        nodes: most nodes
        visits: least visits of a child; 0 draws unvisited moves too
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
                left_out[name] += edge.N > 0 or not visits  # do not report unvisited moves
            else:
                child = edge.output_node
                heapq.heappush(waiting, (-edge.N, level + 1, next(serial), child, name))
    for number, (parent, left) in enumerate((+left_out).items()):
        dot.node(f"m{number}", f"+{left:,} more")
        dot.edge(parent, f"m{number}", label="")
    return dot


def count_nodes(node: Node, visits: int) -> int:
    """Count the nodes of a subtree with at least so many visits; the top always counts."""
    found, waiting = 0, [node]
    while waiting:
        found += 1
        waiting += [edge.output_node for edge in waiting.pop().edges if edge.N >= visits]
    return found


def _label(node: Node, *, top: bool) -> str:
    """N, Q and P of the edge into a node; at the top its own N and Q."""
    edge = node.above
    if top or edge is None:
        return f"N {node.N}\nQ {node.Q:+.3f}"
    return f"N {edge.N}\nQ {edge.Q:+.3f}\nP {edge.P:.4f}"
