"""Layout of a tree's boxes in rows and columns, without overlap.

The tree grows to the right: the column of a box is its depth. A node and its first child are in the
same row, so the line of first children is straight; the principal variation comes first and is the
top row. Other children start new rows below, as high as the boxes already placed allow.

Rows are placed in this order: a row, then the branches that leave it, the deepest first. So the
boxes of a column are in preorder, and no two connections cross.

    root ── a ── a1 ── a2
                  └─── a3
            b ── b1
            c

Cost: linear in the number of boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class BoxPosition:
    """Column of a box, and y of its centre line."""

    column: int
    y: float


def layout(
    children: Sequence[Sequence[int]],
    heights: Sequence[float],
    *,
    gap: float,
    family_gap: float,
) -> list[BoxPosition]:
    """Return the positions of boxes `0..n`; box 0 is the root, `children[i]` are in order.

    :param gap: free space in a column between siblings.
    :param family_gap: free space between other boxes.
    """
    positions = [BoxPosition(0, 0.0)] * len(children)
    floors: list[_Floor] = []  # one per column
    pending = [(0, 0, -1)]  # stack of rows: first box, its column, its parent
    while pending:
        first, column, parent = pending.pop()
        row = _line_of_first_children(first, children)
        floors += [_Floor(-family_gap, None)] * (column + len(row) - len(floors))
        owners = [parent, *row]
        y = 0.0
        for column_index, (box, owner) in enumerate(zip(row, owners, strict=False), column):
            free = gap if floors[column_index].parent == owner else family_gap
            y = max(y, floors[column_index].y + free + heights[box] / 2)
        for column_index, (box, owner) in enumerate(zip(row, owners, strict=False), column):
            positions[box] = BoxPosition(column_index, y)
            floors[column_index] = _Floor(y + heights[box] / 2, owner)
            pending += [(child, column_index + 1, box) for child in reversed(children[box][1:])]
    return positions


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
