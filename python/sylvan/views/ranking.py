"""The moves of a result, ranked, and the cost of the search: the content of both tables.

Moves come in the order of `edges`, best first: a proof can overrule visits. `Q` is for the seat to
move at the root.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from sylvan.errors import ConfigError
from sylvan.views.protocol import Edge, Result
from sylvan.views.snapshot import best_line
from sylvan.views.text import (
    ABSENT,
    counted,
    exact,
    percent,
    seat_name,
    short_bytes,
    short_seconds,
    shorten,
    signed,
)

LINE = 5  # actions shown after each move
LONGEST_LABEL = 32  # letters


@dataclass(frozen=True)
class Move:
    """One legal action at the root, formatted for a table."""

    action: int
    label: str
    is_best: bool
    N: int
    share: float | None  # of the visits of all actions
    Q: str
    P: str
    proof: str  # "= +1", "≥ 0", or nothing
    values: tuple[str, ...]  # mean value per seat; empty without a node
    line: str  # the expected continuation


@dataclass(frozen=True)
class Ranking:
    """The first moves, and the number and visits of the others."""

    moves: list[Move]
    more: int
    more_N: int


def ranking(result: Result, rows: int | None) -> Ranking:
    """Return the first `rows` moves (`None`: all) of a result."""
    if rows is not None and rows < 1:
        raise ConfigError(f"rows is {rows}: give at least 1, or None for all")
    edges = result.tree.root.edges
    total = sum(edge.N for edge in edges)
    shown = edges[:rows]
    return Ranking(
        moves=[_move(edge, result, total) for edge in shown],
        more=len(edges) - len(shown),
        more_N=total - sum(edge.N for edge in shown),
    )


def summary(result: Result) -> list[str]:
    """Return two lines: the result, then the cost of the search."""
    root = result.tree.root
    found = f"value {signed(result.value)}"
    if hasattr(result.game, "pawns"):
        found = f"{signed(result.game.pawns(result.value))} pawns, {found}"
    if root.seat is not None:
        if root.proven is not None:
            found = f"proven value {exact(root.proven[root.seat])}"
        found += f" for {seat_name(result.game, root.seat)}"
    for edge in root.edges:
        if edge.action == result.best:
            found = f"best {shorten(edge.label, LONGEST_LABEL)}, {found}"
    if len(result.values) > 2:
        found += f" (by seat: {'  '.join(map(signed, result.values))})"
    speed = f"{result.simulations / result.seconds:,.0f}/s" if result.seconds > 0 else ABSENT
    done = counted(result.simulations, "simulation")
    took = [
        f"{done} with {shorten(result.evaluator, LONGEST_LABEL)}"
        f" in {short_seconds(result.seconds)} ({speed})",
        f"{counted(result.nodes, 'node')}, {short_bytes(result.bytes)}",
        f"ended by {shorten(result.stopped_by, LONGEST_LABEL)}",
    ]
    return [found[0].upper() + found[1:], " · ".join(took)]


def _move(edge: Edge, result: Result, total: int) -> Move:
    is_best = edge.action == result.best
    return Move(
        action=edge.action,
        label=shorten(edge.label, LONGEST_LABEL),
        is_best=is_best,
        N=edge.N,
        share=edge.N / total if total else None,
        Q=signed(edge.Q),
        P=percent(edge.P),
        proof=_proof(edge, result),
        values=() if edge.child is None else tuple(map(signed, edge.child.values)),
        line=_line(edge, result.pv_labels[1:] if is_best else ()),
    )


def _line(edge: Edge, known: Sequence[str]) -> str:
    labels = list(known) or [step.label for step in islice(best_line(edge.child), LINE)]
    return " ".join(shorten(label, LONGEST_LABEL) for label in labels[:LINE])


def _proof(edge: Edge, result: Result) -> str:
    """Format the proven bounds of `Q`, without bounds that equal the ends of the value range."""
    seat = result.tree.root.seat
    if edge.child is not None and edge.child.proven is not None and seat is not None:
        return f"= {exact(edge.child.proven[seat])}"
    if edge.bounds is None:
        return ""
    low, high = edge.bounds
    lowest, highest = getattr(result.game, "value_range", (-1.0, 1.0))
    if low == high:
        return f"= {exact(low)}"
    at_least = f"≥ {exact(low)}" if low > lowest else ""
    at_most = f"≤ {exact(high)}" if high < highest else ""
    return " ".join(filter(None, (at_least, at_most)))
