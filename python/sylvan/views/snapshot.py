"""Snapshots: a bounded part of a search tree as plain data, to store, send or draw.

A tree may have millions of nodes and is read lazily. A snapshot takes the principal variation
first, then nodes by descending visits; ties: the shallower node, the higher prior, then the first
one found. Four bounds, alone or together:

- `depth`: actions from the root; 0 is the root alone;
- `nodes`: number of rows, the root and unvisited actions included;
- `visits`: minimum visits of an action; 1 leaves out unvisited actions;
- `width`: number of actions of a node, the best ones.

A parent counts its children that are left out. A position that several lines share (with
transpositions) has its children at one row only; the others refer to it (`same_as`). `schema.py`
describes the format.
"""

import heapq
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import TypeAlias, cast

from sylvan.errors import ConfigError, SnapshotError
from sylvan.files import write_text
from sylvan.views.protocol import Edge, Node, Result
from sylvan.views.schema import Limits, Row, RowKind, Snapshot, validate
from sylvan.views.text import seat_name

Searched: TypeAlias = Result | Node
"""The result of a search, or the root of its tree."""


def snapshot(
    searched: Searched,
    *,
    depth: int | None = None,
    nodes: int | None = None,
    visits: int | None = None,
    width: int | None = None,
) -> Snapshot:
    """Return the part of a tree within the bounds (default: all of it) as data for JSON.

    The principal variation is the `Result`'s; for a root, it follows the best edges.
    """
    limits = Limits(depth=depth, nodes=nodes, visits=visits)
    if width is not None:
        limits["width"] = width
    _check(limits)
    root, pv = _root_and_pv(searched)
    names = [seat_name(getattr(searched, "game", None), seat) for seat in range(len(root.values))]
    is_named = any(name != f"seat {seat}" for seat, name in enumerate(names))
    return {
        "format": "sylvan-tree",
        "version": 1,
        "seats": len(root.values),
        **({"seat_names": names} if is_named else {}),  # type: ignore[typeddict-item]
        "value_range": _value_range(searched),
        "limits": limits,
        "nodes": _rows(_keep(root, pv, limits)),
    }


def save_json(snapshot: Snapshot, path: str | PathLike[str]) -> None:
    """Write a snapshot as JSON, one row per line, atomically."""
    header = json.dumps({**snapshot, "nodes": []}, allow_nan=False)
    rows = ",\n".join(json.dumps(row, allow_nan=False) for row in snapshot["nodes"])
    write_text(path, f"{header.removesuffix(']}')}\n{rows}\n]}}\n")


def load_json(path: str | PathLike[str]) -> Snapshot:
    """Read a file written by `save_json`.

    :raises SnapshotError: the file is not a valid snapshot; the message has the reason.
    """
    data = Path(path).read_bytes()
    try:
        return validate(json.loads(data))
    except SnapshotError as error:
        reason = str(error)
    except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or nested too deeply
        reason = f"it is not JSON ({error})"
    raise SnapshotError(f"cannot read {path} as a snapshot: {reason}; save the tree again")


@dataclass(slots=True)
class _Kept:
    """A node of the future snapshot and its kept children."""

    edge: Edge | None  # None at the root
    node: Node | None  # None if the action has no node, and until it is kept
    N: int
    index: int  # among its siblings
    depth: int
    on_pv: bool
    children: "list[_Kept]" = field(default_factory=list)
    same: "_Kept | None" = None  # the node of the same position that has the children
    number: int = 0  # of its row
    left_out: int = 0
    left_out_N: int = 0


def _keep(root: Node, pv: Sequence[int], limits: Limits) -> _Kept:
    """Return the root with its kept descendants, chosen in the order of priority."""
    top = _Kept(None, root, root.N, index=0, depth=0, on_pv=True)
    room = math.inf if limits["nodes"] is None else limits["nodes"] - 1
    serial = count()  # the last tie-break: heap entries must not compare equal
    heap: list[tuple[bool, int, int, float, int, _Kept, _Kept]] = []
    parent, shared = top, dict[int, _Kept]()
    while True:
        for child in _candidates(parent, pv, limits) if parent.same is None else ():
            prior = _finite(cast(Edge, child.edge).P) or 0.0
            key = (not child.on_pv, -child.N, child.depth, -prior, next(serial))
            heapq.heappush(heap, (*key, child, parent))
        if not heap or room < 1:
            return top
        *_, kept, above = heapq.heappop(heap)
        kept.node = cast(Edge, kept.edge).child
        position = getattr(kept.node, "shared", None)
        if position is not None:
            first = shared.setdefault(position, kept)
            kept.same = first if first is not kept else None
        above.children.append(kept)
        above.left_out -= 1
        above.left_out_N -= kept.N
        room -= 1
        parent = kept


def _candidates(parent: _Kept, pv: Sequence[int], limits: Limits) -> Iterator[_Kept]:
    """Iterate over the children within depth and visits; count all as left out until kept."""
    edges = parent.node.edges if parent.node is not None else ()
    parent.left_out = len(edges)
    parent.left_out_N = sum(edge.N for edge in edges)
    depth = parent.depth + 1
    if limits["depth"] is not None and depth > limits["depth"]:
        return
    fewest, width = limits["visits"] or 0, limits.get("width")
    best = pv[parent.depth] if parent.on_pv and parent.depth < len(pv) else None
    for index, edge in enumerate(edges[:width]):
        if fewest <= edge.N:
            yield _Kept(edge, None, edge.N, index, depth, on_pv=edge.action == best)


def _rows(top: _Kept) -> list[Row]:
    """Return the kept nodes as rows, numbered in preorder."""
    rows: list[Row] = []
    again: list[_Kept] = []
    stack: list[tuple[_Kept, int | None]] = [(top, None)]
    while stack:
        kept, parent = stack.pop()
        kept.number = len(rows)
        rows.append(_row(kept, kept.number, parent))
        again += [kept] if kept.same is not None else []
        in_order = sorted(kept.children, key=attrgetter("index"), reverse=True)
        stack.extend((child, kept.number) for child in in_order)
    for kept in again:
        rows[kept.number]["same_as"] = cast(_Kept, kept.same).number
    return rows


def _row(kept: _Kept, number: int, parent: int | None) -> Row:
    """Make one row; `int` and `float` convert NumPy's numbers for JSON."""
    row = Row(
        id=number,
        parent=parent,
        depth=kept.depth,
        action=None,
        label=None,
        N=int(kept.N),
        W=None,
        Q=None,
        P=None,
        bounds=None,
        kind="dropped" if kept.N else "unvisited",
        seat=None,
        values=None,
        proven=None,
        pv=kept.on_pv,
        left_out=kept.left_out,
        left_out_N=int(kept.left_out_N),
    )
    if (edge := kept.edge) is not None:
        row["action"], row["label"] = int(edge.action), edge.label
        row["W"], row["Q"], row["P"] = map(_finite, (edge.W, edge.Q, edge.P))
        row["bounds"] = _finite_all(edge.bounds)
    if (node := kept.node) is not None:
        row["kind"], row["seat"] = cast(RowKind, node.kind), node.seat
        row["values"], row["proven"] = map(_finite_all, (node.values, node.proven))
    return row


def _finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None


def _finite_all(xs: Sequence[float] | None) -> list[float | None] | None:
    return None if xs is None else [_finite(x) for x in xs]


def _check(limits: Limits) -> None:
    least = {"depth": 0, "nodes": 1, "visits": 0, "width": 1}
    for name, bound in limits.items():
        if bound is not None and not (isinstance(bound, int) and bound >= least[name]):
            raise ConfigError(
                f"{name}={bound!r} is not a bound of a snapshot: give an integer of at least "
                f"{least[name]}, or None for no bound"
            )


def _root_and_pv(searched: Searched) -> tuple[Node, Sequence[int]]:
    if hasattr(searched, "tree"):
        result = cast(Result, searched)
        return result.tree.root, result.pv
    return searched, [edge.action for edge in best_line(searched)]


def best_line(node: Node | None) -> Iterator[Edge]:
    """Iterate from a node down the best edges, to the first without visits."""
    while node is not None and node.edges and node.edges[0].N > 0:
        edge = node.edges[0]
        yield edge
        node = edge.child


def _value_range(searched: Searched) -> list[float] | None:
    span = getattr(getattr(searched, "game", None), "value_range", None)
    if span is None or not all(map(math.isfinite, span)):
        return None
    return [float(bound) for bound in span]
