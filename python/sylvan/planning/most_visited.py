"""The most visited nodes of a tree in columns, for views that show a part of it.

Best first: of all nodes whose parent is taken, the next one has the most visits. Nodes on wanted
paths, and the children of the last node of each, come before all others. A native tree answers in
one call; other trees, copies and sums over deals, are read node by node.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sylvan.planning.tree import TreeView

if TYPE_CHECKING:
    from sylvan._native import EdgeStats, NodeStats

__all__ = ["KINDS", "MostVisited"]

KINDS = ("leaf", "decision", "chance", "terminal")
"""Names of the kinds of nodes."""

Path = tuple[int, ...]


class MostVisited(NamedTuple):
    """Nodes with the edges that lead to them, parents first; all columns are of one length."""

    parents: NDArray[np.int64]
    """The row of the parent; -1 at the root."""
    actions: NDArray[np.int64]
    N: NDArray[np.int64]
    """Visits of the edge; at the root, of the node."""
    Q: NDArray[np.float64]
    """For the seat that chose the edge; NaN if no seat did."""
    P: NDArray[np.float64]
    """Prior of the edge; NaN at the root."""
    values: NDArray[np.float64]
    """The mean or proven value for one seat."""
    proven: NDArray[np.bool_]
    kinds: NDArray[np.uint8]
    """Places in `KINDS`."""
    seats: NDArray[np.int8]
    """The seat to move; -1 if it is no decision."""
    missing: NDArray[np.int64]
    """Visited children that are not listed."""

    @classmethod
    def of(
        cls, tree: TreeView, seat: int, most: int, limit: int, wanted: Iterable[Path] = ()
    ) -> Self:
        """The `most` most visited nodes and the wanted ones, at most `limit`; values for `seat`."""
        paths = [list(path) for path in wanted]
        if tree.most_visited is not None:
            return cls(*tree.most_visited(seat, most, limit, paths))
        return cls._read(tree, seat, most, limit, {tuple(path) for path in paths})

    @classmethod
    def _read(cls, tree: TreeView, seat: int, most: int, limit: int, ends: set[Path]) -> Self:
        """Read node by node."""
        rows: list[list[float]] = []
        wanted = {path[:length] for path in ends for length in range(len(path) + 1)}
        serial = count()
        first = (False, 0, next(serial), (), -1, None, None)
        heap: list[tuple[bool, int, int, Path, int, EdgeStats | None, int | None]] = (
            [first] if most else []
        )
        while heap and len(rows) < limit:
            is_more, *_, path, parent, edge, chooser = heapq.heappop(heap)
            if is_more and not most:
                break  # the wanted ones came first
            node = tree.known(path) if tree.is_copy else tree.read(path)
            if node is None:
                continue  # dropped to save memory, or not in the file
            most -= is_more or not path
            visited = [each for each in node.edges if each.N]
            if path:
                rows[parent][-1] -= 1
            rows.append(_row(path, parent, edge, node, chooser, seat))
            rows[-1][-1] = len(visited)
            mover = node.seat if node.kind == "decision" else None
            for each in visited:
                child = (*path, each.action)
                entry = (path not in ends and child not in wanted, -each.N, next(serial))
                heapq.heappush(heap, (*entry, child, len(rows) - 1, each, mover))
        columns = zip(*rows, strict=True) if rows else [()] * len(TYPES)
        return cls(*(np.array(each, kind) for each, kind in zip(columns, TYPES, strict=True)))


TYPES = (np.int64, np.int64, np.int64, float, float, float, np.bool_, np.uint8, np.int8, np.int64)


def _row(
    path: Path,
    parent: int,
    edge: EdgeStats | None,
    node: NodeStats,
    chooser: int | None,
    seat: int,
) -> list[float]:
    """`edge` leads from the parent to `node`, and `chooser` chose it; None at the root."""
    mean = node.W[seat] / node.N if node.N else math.nan
    return [
        parent,
        path[-1] if path else 0,
        node.N if edge is None else edge.N,
        math.nan if edge is None or chooser is None else edge.W / edge.N,
        math.nan if edge is None else edge.P,
        mean if node.proven is None else node.proven[seat],
        node.proven is not None,
        KINDS.index(node.kind),
        node.seat if node.kind == "decision" else -1,
        0,
    ]
