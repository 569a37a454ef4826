"""The snapshot format, version 1: a part of a search tree as plain JSON.

A snapshot is flat, one row per node: any depth fits, and `pandas.DataFrame(s["nodes"])` works.
Rows are in preorder (a node, then each child with its descendants), siblings in the order of the
node's edges. An undefined number (the `Q` of an unvisited edge) is `null`; there is no `NaN` or
infinity.

| header        | meaning                                                                      |
|---------------|------------------------------------------------------------------------------|
| `format`      | `"sylvan-tree"`                                                              |
| `version`     | 1; a reader refuses a version it does not know                               |
| `seats`       | number of seats, the length of every `values`                                |
| `seat_names`  | what people call the seats; left out where they have only numbers            |
| `value_range` | lowest and highest return of a seat, or `null` if unknown                    |
| `limits`      | `depth`, `nodes`, `visits` and, if given, `width`: the bounds of the         |
|               | snapshot, each may be `null`                                                 |
| `nodes`       | the rows                                                                     |

| row          | meaning                                                                         |
|--------------|---------------------------------------------------------------------------------|
| `id`         | its index in `nodes`; the root is 0                                             |
| `parent`     | the parent's `id`, `null` at the root                                           |
| `depth`      | actions from the root                                                           |
| `action`     | the action that led here, and its `label`; `null` at the root                   |
| `N`          | visits of that action (of the root itself at the root)                          |
| `W`,`Q`      | sum and mean of the returns of the seat that chose it; `null` at the root       |
| `P`          | its prior, or its probability at a chance node; `null` at the root              |
| `bounds`     | `[low, high]` proven for `Q`, each may be `null` (no bound); or `null`          |
| `kind`       | `decision`, `chance`, `terminal`, `leaf` (not expanded), `unvisited` (no node   |
|              | yet), `dropped` (its subtree was freed to save memory)                          |
| `seat`       | the seat to move here, or `null`                                                |
| `values`     | mean return per seat, `null` if there is no node                                |
| `proven`     | exact return per seat, or `null`                                                |
| `pv`         | whether it is on the principal variation                                        |
| `same_as`    | with transpositions: the `id` of the row of the same position that has its      |
|              | children; left out elsewhere                                                    |
| `left_out`   | number of its children that are not in the snapshot                             |
| `left_out_N` | sum of their visits                                                             |
"""

from functools import cache
from math import inf
from typing import (
    TYPE_CHECKING,
    Annotated,
    Literal,
    NotRequired,  # pydantic supports typing's own from Python 3.12
)

from annotated_types import Ge, Gt, Len, Lt
from typing_extensions import (
    TypedDict,
)

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
    same_as: NotRequired[Count]


class Limits(TypedDict):
    """The bounds of a snapshot; `None` is no bound."""

    depth: Count | None
    nodes: Count | None
    visits: Count | None
    width: NotRequired[Count | None]


class Snapshot(TypedDict):
    """The header and its rows."""

    format: Literal["sylvan-tree"]
    version: Literal[1]
    seats: Annotated[int, Ge(1)]
    seat_names: NotRequired[list[str]]
    value_range: Annotated[list[Number], Len(2, 2)] | None
    limits: Limits
    nodes: Annotated[list[Row], Len(1)]


def validate(document: object) -> Snapshot:
    """Return `document` as a snapshot.

    :raises SnapshotError: it is not valid; the message has the path and the reason.
    """
    from pydantic import ValidationError

    try:
        snapshot = _reader().validate_python(document, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "".join(f"[{step!r}]" for step in first["loc"]) or "the whole"
        raise SnapshotError(f"{where}: {_lower_first(first['msg'])}") from None
    for index, row in enumerate(snapshot["nodes"]):
        problem = _inconsistency(row, index, snapshot)
        if problem:
            raise SnapshotError(f"['nodes'][{index}]: {problem}")
    return snapshot


@cache
def _reader() -> "TypeAdapter[Snapshot]":
    from pydantic import TypeAdapter

    return TypeAdapter(Snapshot)


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _inconsistency(row: Row, index: int, snapshot: Snapshot) -> str | None:
    """Return how a row contradicts the earlier rows, or None."""
    seats = snapshot["seats"]
    if any(x is not None and len(x) != seats for x in (row["values"], row["proven"])):
        return f"'values' and 'proven' should have one entry for each of {seats} seats"
    if row["seat"] is not None and row["seat"] >= seats:
        return f"'seat' should be below {seats}"
    if row["id"] != index:
        return f"'id' should be {index}, its index in the list"
    if index == 0:
        is_root = row["parent"] is None and row["depth"] == 0
        return None if is_root else "the first row should be the root, at depth 0 with no parent"
    if row["parent"] is None or row["parent"] >= index:
        return "'parent' should be an earlier row"
    if row["depth"] != snapshot["nodes"][row["parent"]]["depth"] + 1:
        return "'depth' should be one more than its parent's"
    if row.get("same_as", 0) >= len(snapshot["nodes"]):
        return "'same_as' should be a row"
    if row["action"] is None or row["label"] is None:
        return "only the root may be without 'action' and 'label'"
    return None
