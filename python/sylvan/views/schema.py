"""The snapshot format, version 1: a part of a search tree as plain JSON.

A snapshot is flat, one row per node, so a tree of any depth fits and `pandas.DataFrame(s["nodes"])`
is a table of it. Rows stand in preorder (a node, then each child with all below it), siblings in
the order of the node's edges. A number that does not exist (the `Q` of an unvisited edge) is
`null`; no `NaN` or infinity occurs.

| header        | meaning                                                                      |
|---------------|------------------------------------------------------------------------------|
| `format`      | `"sylvan-tree"`                                                              |
| `version`     | 1; a reader refuses a version it does not know                               |
| `seats`       | how many, so the length of every `values`                                    |
| `value_range` | lowest and highest return of a seat, if the game says, else `null`           |
| `limits`      | `depth`, `nodes`, `visits`: the bounds it was taken with, each may be `null` |
| `nodes`       | the rows                                                                     |

| row          | meaning                                                                         |
|--------------|---------------------------------------------------------------------------------|
| `id`         | its place in `nodes`; the root is 0                                             |
| `parent`     | the parent's `id`, `null` at the root                                           |
| `depth`      | actions from the root                                                           |
| `action`     | the action that led here, and its `label`; `null` at the root                   |
| `N`          | visits of that action (of the root itself at the root)                          |
| `W`,`Q`      | sum and mean of the returns of the seat that chose it; `null` at the root       |
| `P`          | its prior, or its probability at a chance node; `null` at the root              |
| `bounds`     | `[low, high]` proven for `Q`, each may be `null` (no bound); or `null`          |
| `kind`       | `decision`, `chance`, `terminal`, `leaf` (not expanded), `unvisited` (no node   |
|              | yet), `dropped` (its subtree was given back to save memory)                     |
| `seat`       | the seat to move here, or `null`                                                |
| `values`     | mean return per seat, `null` where there is no node                             |
| `proven`     | exact return per seat, or `null`                                                |
| `pv`         | whether it lies on the principal variation                                      |
| `left_out`   | how many of its children are not in the snapshot, and their visits together,    |
| `left_out_N` | so that every missing child is accounted for                                    |
"""

from functools import cache
from math import inf
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Len, Lt
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from sylvan.errors import SnapshotError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Count = Annotated[int, Ge(0)]
Number = Annotated[float, Gt(-inf), Lt(inf)]
PerSeat = list[Number | None]
RowKind = Literal["decision", "chance", "terminal", "leaf", "unvisited", "dropped"]


class Row(TypedDict):
    """One node of a snapshot; see the table above."""

    id: Count
    parent: Count | None
    depth: Count
    action: Count | None
    label: str | None
    N: Count
    W: Number | None
    Q: Number | None
    P: Number | None
    bounds: Annotated[list[Number | None], Len(2, 2)] | None
    kind: RowKind
    seat: Count | None
    values: PerSeat | None
    proven: PerSeat | None
    pv: bool
    left_out: Count
    left_out_N: Count


class Limits(TypedDict):
    """The bounds a snapshot was taken with; `None` is no bound."""

    depth: Count | None
    nodes: Count | None
    visits: Count | None


class Snapshot(TypedDict):
    """The header and its rows."""

    format: Literal["sylvan-tree"]
    version: Literal[1]
    seats: Annotated[int, Ge(1)]
    value_range: Annotated[list[Number], Len(2, 2)] | None
    limits: Limits
    nodes: Annotated[list[Row], Len(1)]


def validate(document: object) -> Snapshot:
    """`document` as a snapshot; `SnapshotError` says in one sentence what is wrong, and where."""
    from pydantic import ValidationError

    try:
        snapshot = _reader().validate_python(document, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "".join(f"[{step!r}]" for step in first["loc"]) or "the whole"
        raise SnapshotError(f"{where}: {_lower_first(first['msg'])}") from None
    for place, row in enumerate(snapshot["nodes"]):
        problem = _misplaced(row, place, snapshot)
        if problem:
            raise SnapshotError(f"['nodes'][{place}]: {problem}")
    return snapshot


@cache
def _reader() -> "TypeAdapter[Snapshot]":
    from pydantic import TypeAdapter

    return TypeAdapter(Snapshot)


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _misplaced(row: Row, place: int, snapshot: Snapshot) -> str | None:
    """What is wrong between a row and the rest, given that the rows before it are right."""
    seats = snapshot["seats"]
    if any(x is not None and len(x) != seats for x in (row["values"], row["proven"])):
        return f"'values' and 'proven' should have one entry for each of {seats} seats"
    if row["seat"] is not None and row["seat"] >= seats:
        return f"'seat' should be below {seats}"
    if row["id"] != place:
        return f"'id' should be {place}, its place in the list"
    if place == 0:
        is_root = row["parent"] is None and row["depth"] == 0
        return None if is_root else "the first row should be the root, at depth 0 with no parent"
    if row["parent"] is None or row["parent"] >= place:
        return "'parent' should be an earlier row"
    if row["depth"] != snapshot["nodes"][row["parent"]]["depth"] + 1:
        return "'depth' should be one more than its parent's"
    if row["action"] is None or row["label"] is None:
        return "only the root may be without 'action' and 'label'"
    return None
