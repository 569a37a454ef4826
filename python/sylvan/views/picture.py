"""The boxes of a drawing, for all formats.

Boxes `0..n` are the snapshot's rows; after them come the "+12 more" boxes for children left out. A
node without visited or kept children gets no such box: every leaf of the search would have one.
"""

from dataclasses import dataclass
from typing import TypeAlias

from sylvan.errors import ConfigError
from sylvan.views.scale import Scale
from sylvan.views.schema import Row, Snapshot
from sylvan.views.snapshot import Searched, snapshot

Drawable: TypeAlias = Searched | Snapshot
"""A result, the root of a tree, or a snapshot of one."""


@dataclass(frozen=True)
class More:
    """The children of row `parent` that the snapshot left out."""

    parent: int
    children: int
    N: int

    @property
    def label(self) -> str:
        return f"+{self.children:,} more"


@dataclass(frozen=True)
class Picture:
    """Boxes and their children, the principal variation first, with values for one seat."""

    rows: list[Row]
    more: list[More]
    children: list[list[int]]  # of every box
    shows_choosers: bool  # more than one seat, or chance
    scale: Scale
    values: list[float | None]  # of every row, for the seat `scale.seat`
    names: list[str]  # of the seats

    @property
    def pv(self) -> list[Row]:
        """The rows of the principal variation, without the root."""
        return [row for row in self.rows if row["pv"]][1:]

    def chooser(self, row: Row) -> int | None:
        """Return the seat that chose the action into a row; `None` at the root and after chance."""
        return None if row["parent"] is None else self.rows[row["parent"]]["seat"]


def picture(
    source: Drawable,
    *,
    depth: int | None,
    nodes: int | None,
    visits: int | None,
    width: int | None = None,
) -> Picture:
    """Make the picture of a snapshot, or of a search within bounds (see `snapshot`).

    Default: 40 visited nodes, at most 8 deep.
    """
    bounded = not depth is nodes is visits is width is None
    if isinstance(source, dict):
        if bounded:
            raise ConfigError(
                "a snapshot has its bounds already: give depth, nodes, visits and width to "
                "snapshot(), or draw the search result"
            )
        return _picture(source)
    if not bounded:
        depth, nodes, visits = 8, 40, 1
    return _picture(snapshot(source, depth=depth, nodes=nodes, visits=visits, width=width))


def _picture(taken: Snapshot) -> Picture:
    rows = taken["nodes"]
    children: list[list[int]] = [[] for _ in rows]
    for row in rows:
        if row["parent"] is not None:
            children[row["parent"]].append(row["id"])
    more: list[More] = []
    for row, below in zip(rows, children.copy(), strict=True):
        below.sort(key=lambda child: not rows[child]["pv"])
        if row["left_out_N"] or (row["left_out"] and below):
            more.append(More(row["id"], row["left_out"], row["left_out_N"]))
            below.append(len(children))
            children.append([])
    scale = Scale.of(taken)
    values = [scale.value(row, taken) for row in rows]
    shows_choosers = taken["seats"] > 1 or any(row["kind"] == "chance" for row in rows)
    names = taken.get("seat_names", [])
    if len(names) != taken["seats"]:
        names = [f"seat {seat}" for seat in range(taken["seats"])]
    return Picture(rows, more, children, shows_choosers, scale, values, names)
