"""A result as a table for the terminal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sylvan.views.protocol import Result
from sylvan.views.ranking import Move, ranking, summary
from sylvan.views.text import ABSENT, counted, percent

if TYPE_CHECKING:
    from rich.console import Group


def table(
    result: Result, *, rows: int | None = 10, scores: Mapping[int, str] | None = None
) -> "Group":
    """Return the result, the cost and the ranked moves as a `rich` table.

    :param rows: moves to list (`None`: all); a last line counts the others.
    :param scores: a number per action, shown in its own column.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    found, took = summary(result)
    ranked = ranking(result, rows)
    seats = len(result.values)
    has_proofs = any(move.proof for move in ranked.moves)
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    grid.add_column("", width=1)
    grid.add_column("move", no_wrap=True)
    if scores is not None:
        grid.add_column("score", justify="right", no_wrap=True)
    for name in ("N", "share", "Q", "P"):
        grid.add_column(name, justify="right", no_wrap=True)
    if has_proofs:
        grid.add_column("proven", no_wrap=True)
    if seats > 2:
        grid.add_column("value by seat", no_wrap=True)
    grid.add_column("line")  # shrinks first in a narrow terminal
    for move in ranked.moves:
        texts = _cells(move, has_proofs, seats)
        if scores is not None:
            texts.insert(2, scores.get(move.action, ABSENT))
        cells = [Text(cell) for cell in texts]
        line = Text(move.line, style="dim", no_wrap=True, overflow="ellipsis")
        grid.add_row(*cells, line, style="bold" if move.is_best else "")
    more = f"… {ranked.more:,} more with {counted(ranked.more_N, 'visit')}"
    head = (Text(found, style="bold"), Text(took, style="dim"))
    return Group(*head, grid, *([Text(more, style="dim")] if ranked.more else []))


def _cells(move: Move, has_proofs: bool, seats: int) -> list[str]:
    cells = ["▸" if move.is_best else "", move.label, f"{move.N:,}", percent(move.share)]
    cells += [move.Q, move.P]
    if has_proofs:
        cells.append(move.proof)
    if seats > 2:
        cells.append("  ".join(move.values))
    return cells
