"""Draw one frame of the live view from `Facts` alone: without a clock, a terminal or a run.

Wide terminals get two columns, narrow ones a single one; no number is wrapped or cut.
The colours are blue and orange, as in the tree views, for readers with red-green blindness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sylvan.runs.figures import (
    Series,
    known,
    last,
    limit,
    mistakes,
    model_figures,
    per_second,
    rating_name,
    rating_text,
    series,
    sparkline,
    time_shares,
    time_span,
    time_used,
)
from sylvan.runs.metrics import Columns, to_columns
from sylvan.runs.palette import BLUE, ORANGE, PARTS_PAINT
from sylvan.views.text import ABSENT, percent, short_count, shorten

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

__all__ = ["Facts", "Phase", "panel"]

NARROW = 76
"""Width in characters below which there is one column."""
CURVE = 24
"""Maximum width of a curve in characters."""


@dataclass(frozen=True)
class Phase:
    """The current phase of a step, and its progress."""

    name: str
    done: int = 0
    total: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Facts:
    """The data of one frame."""

    title: str
    step: int
    budget: str = ""
    """Such as `of 200`; empty if the budget is time."""
    progress: float = 0.0
    """Share of the budget that was spent at the end of the last step, 0 to 1."""
    elapsed: float = 0.0
    """Seconds."""
    limit: float = math.nan
    """The budget in seconds; NaN without one."""
    remaining: float = math.nan
    """Expected seconds to the end; NaN while unknown."""
    ends: str = ""
    """The expected time of day of the end."""
    phase: Phase | None = None
    columns: Columns = field(default_factory=lambda: to_columns([]))
    best: tuple[float, int] | None = None
    """The highest rating, and its step."""
    game: str = ""
    """Summary of the last finished game."""
    message: str = ""


def panel(facts: Facts, width: int) -> RenderableType:
    """Draw the frame for a terminal of `width` characters."""
    from rich import box
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    room = max(20, width - 4)
    parts: list[RenderableType] = [_progress(facts, room)]
    if facts.phase is not None:
        parts.append(_phase(facts.phase, room))
    if facts.columns["step"].size:
        parts.append(Text())
        parts.append(_figures(facts, room))
        parts.append(Text())
        parts.append(_time(facts.columns, room))
    for name, text in (("last game", facts.game), ("", facts.message)):
        if text:
            parts.append(_line(name, text, room))
    title = Text(f" {shorten(facts.title, max(8, room - 8))} ", style="bold not dim")
    return Panel(
        Group(*parts), title=title, title_align="left", box=box.ROUNDED, border_style="dim"
    )


def _progress(facts: Facts, room: int) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    timed = facts.elapsed / facts.limit if facts.limit > 0 else 0.0
    share = min(1.0, max(0.0, facts.progress, timed))
    head = f"step {facts.step:,}" + (f" {facts.budget}" if facts.budget else "")
    bar = _bar(head, share, f"{100 * share:.0f}%", room, BLUE)
    words = f"{time_used(facts.elapsed, facts.limit)} used"
    if math.isfinite(facts.remaining):
        words += f", {time_span(facts.remaining)} to go"
        words += f" (until {facts.ends})" if facts.ends else ""
    return Group(bar, Text(words, style="dim", no_wrap=True, overflow="ellipsis"))


def _phase(phase: Phase, room: int) -> Text:
    from rich.text import Text

    if not phase.total:  # not known yet, or the phase has no progress
        return Text(phase.name, style="bold")
    share = phase.done / phase.total
    tail = f"{phase.done:,}/{phase.total:,}"
    if phase.detail and room >= NARROW - 4:
        tail = f"{tail} {phase.detail}".strip()
    return _bar(phase.name, min(1.0, share), tail, room, ORANGE)


def _bar(head: str, share: float, tail: str, room: int, colour: str) -> Text:
    """A head, a bar over the remaining width, a tail."""
    from rich.text import Text

    left = max(16, len(head) + 1)
    length = max(4, room - left - len(tail) - 1)
    full = round(share * length)
    return Text.assemble(
        (head.ljust(left), "bold"),
        ("━" * full, colour),
        ("━" * (length - full), "dim"),
        f" {tail}",
        no_wrap=True,
        overflow="ellipsis",
    )


def _figures(facts: Facts, room: int) -> Table:
    """Speed and games on one side, losses and rating on the other."""
    from rich.table import Table

    one = [*_speed(facts.columns), *_games(facts.columns), *_model(facts.columns)]
    two = [*_losses(facts.columns), *_rating(facts)]
    if room < NARROW - 4:
        return _table([*one, *two], room)
    both = Table.grid(padding=(0, 3, 0, 0))
    half = (room - 3) // 2
    both.add_row(_table(one, half), _table(two, half))
    return both


Row = tuple[str, str, Series | str]
"""A label, its value, and a curve or a remark."""


def _table(rows: list[Row], room: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    longest = max((len(name) for name, _, _ in rows), default=0)
    left = min(max(15, longest), max(14, room - 14))
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(style="dim", no_wrap=True, overflow="ellipsis", width=left)
    grid.add_column(justify="right", no_wrap=True, min_width=7)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    for name, figure, rest in rows:
        letters = min(CURVE, max(4, room - left - 9))
        curve = rest if isinstance(rest, str) else sparkline(rest, letters)
        grid.add_row(name, figure, Text(curve, style="dim" if curve is rest else BLUE))
    return grid


def _speed(columns: Columns) -> list[Row]:
    rows: list[Row] = []
    for what in ("games", "positions", "simulations"):
        speeds = known(per_second(columns, what))
        if speeds.size:
            rows.append((f"{what}/s", _rate(float(speeds[-1])), speeds))
    if math.isfinite(workers := last(columns, "played.workers")):
        slowest = percent(last(columns, "played.slowest_worker"))
        rows.append(("workers", f"{workers:.0f}", f"the slowest plays {slowest} of the median"))
    if (found := limit(columns)) is not None:
        rows.append(("self-play", "", f"{found[0]}: {found[1]}"))
    return rows


def _games(columns: Columns) -> list[Row]:
    rows: list[Row] = []
    for name, label, show in (
        ("selfplay.return", "return", lambda v: f"{v:.4g}"),
        ("selfplay.length", "game length", lambda v: f"{v:.1f}"),
        ("selfplay.entropy", "policy entropy", lambda v: f"{v:.2f}"),
        ("selfplay.openings", "opening variety", percent),
        ("replay.window", "replay window", lambda v: short_count(round(v))),
    ):
        if math.isfinite(value := last(columns, name)):
            rows.append((label, show(value), series(columns, name)))
    return rows


def _losses(columns: Columns) -> list[Row]:
    rows: list[Row] = []
    for name, label in (
        ("loss.policy", "policy loss"),
        ("loss.value", "value loss"),
        ("loss.reward", "reward loss"),
        ("learner.learning_rate", "learning rate"),
    ):
        if math.isfinite(value := last(columns, name)):
            figure = f"{value:.3f}" if name != "learner.learning_rate" else f"{value:.1e}"
            rows.append((label, figure, series(columns, name)))
    return rows


def _model(columns: Columns) -> list[Row]:
    """A learned model's figures five steps ahead, or at the largest smaller number of steps."""
    rows: list[Row] = []
    for what, show in (("value", lambda v: f"{v:.3g}"), ("legal", percent)):
        names = {k: name for k, name in model_figures(columns, what).items() if k <= 5}
        if names and math.isfinite(number := last(columns, names[max(names)])):
            label = "legal" if what == "legal" else f"{what} error"
            name = names[max(names)]
            rows.append((f"{label}, {max(names)} ahead", show(number), series(columns, name)))
    return rows


def _rating(facts: Facts) -> list[Row]:
    rows: list[Row] = []
    columns, name = facts.columns, rating_name(facts.columns)
    if math.isfinite(rating := last(columns, name)):
        rows.append(("rating", rating_text(rating, name), series(columns, name)))
    if facts.best is not None:
        rows.append(("best rating", rating_text(facts.best[0], name), f"at step {facts.best[1]:,}"))
    for name in mistakes(columns)[:6]:
        label = "mistakes " + name.removeprefix("rating.mistakes").strip("._").replace(".", " ")
        rows.append((shorten(label, 24), percent(last(columns, name)), series(columns, name)))
    return rows


def _time(columns: Columns, room: int) -> RenderableType:
    """The parts of the last steps' time: a coloured bar and its legend."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    shares = {part: float(values[-8:].mean()) for part, values in time_shares(columns).items()}
    if not math.isfinite(shares["rest"]):
        return Text()
    bar, legend = Text.assemble(("time".ljust(16), "dim"), no_wrap=True), Text()
    cells = _apportioned(list(shares.values()), max(8, room - 16))
    for (part, share), count in zip(shares.items(), cells, strict=True):
        bar.append("█" * count, style=PARTS_PAINT.get(part, "dim"))
        if share >= 0.005 and part != "rest":
            legend.append("■", style=PARTS_PAINT[part])
            legend.append(f"\u00a0{part}\u00a0{percent(share)}")
            legend.append("  ")
    return Group(bar, Padding(legend, (0, 0, 0, 16 if room >= NARROW - 4 else 0)))


def _apportioned(shares: list[float], cells: int) -> list[int]:
    """Round shares of 1 to whole cells that add up to `cells`."""
    ends = [round(cells * min(1.0, sum(shares[: i + 1]))) for i in range(len(shares))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _line(name: str, text: str, room: int) -> Text:
    from rich.text import Text

    head = name.ljust(16) if name else ""
    return Text.assemble(
        (head, "dim"), shorten(text, room - len(head)), no_wrap=True, overflow="ellipsis"
    )


def _rate(value: float) -> str:
    if not math.isfinite(value):
        return ABSENT
    return f"{value:.1f}" if value < 100 else short_count(round(value))
