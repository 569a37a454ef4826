"""Where the boxes of a tree stand: rows and columns, no two boxes touching.

The tree grows to the right: a box stands in the column of its depth. Every node stands in one row
with its first child, so the line of first children is straight, and the principal variation, put
first, runs along the top. Other children start rows of their own below, each as high up as the
boxes already placed in its columns allow.

Rows are placed in this order: a row, then the branches that leave it, the deepest first. So in
every column boxes stand in preorder, and no two connections cross.

    root ── a ── a1 ── a2
                  └─── a3
            b ── b1
            c

Cost: linear in the number of boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a box stands: its column, and the height of its centre line."""

    column: int
    y: float


def layout(
    children: Sequence[Sequence[int]],
    heights: Sequence[float],
    *,
    gap: float,
    family_gap: float,
) -> list[Place]:
    """The places of boxes `0..n`, box 0 being the root; `children[i]` are in order.

    In a column, `gap` is kept free between siblings and `family_gap` between others.
    """
    places = [Place(0, 0.0)] * len(children)
    floors: list[_Floor] = []  # the lowest edge so far, one per column
    pending = [(0, 0, -1)]  # rows to come, the next one last: first box, its column, its parent
    while pending:
        first, column, parent = pending.pop()
        row = _line_of_first_children(first, children)
        floors += [_Floor(-family_gap, None)] * (column + len(row) - len(floors))
        owners = [parent, *row]
        y = 0.0
        for place, (box, owner) in enumerate(zip(row, owners, strict=False), column):
            free = gap if floors[place].parent == owner else family_gap
            y = max(y, floors[place].y + free + heights[box] / 2)
        for place, (box, owner) in enumerate(zip(row, owners, strict=False), column):
            places[box] = Place(place, y)
            floors[place] = _Floor(y + heights[box] / 2, owner)
            pending += [(child, place + 1, box) for child in reversed(children[box][1:])]
    return places


@dataclass(frozen=True)
class _Floor:
    """The lower edge of the lowest box in a column, and that box's parent."""

    y: float
    parent: int | None  # None: no box yet


def _line_of_first_children(box: int, children: Sequence[Sequence[int]]) -> list[int]:
    line = [box]
    while children[line[-1]]:
        line.append(children[line[-1]][0])
    return line
