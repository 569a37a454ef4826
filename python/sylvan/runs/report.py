"""A run's report: every plot as a PNG file, and one HTML page with all of them.

    runs/name/report/
        index.html      a self-contained page with all plots
        rating.png …    the plots as files

The page loads nothing and contains no scripts. All text from a run's settings is escaped.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from os import PathLike
from pathlib import Path

from sylvan.errors import RunError
from sylvan.files import write_bytes
from sylvan.runs.figures import (
    best_step,
    last,
    limit,
    mistakes,
    rating_name,
    rating_text,
    run_columns,
    series,
    time_span,
)
from sylvan.runs.metrics import Columns
from sylvan.runs.palette import BLUE, INK, LINE, QUIET
from sylvan.runs.plots import PLOTS, Across, Curves, png
from sylvan.runs.workers import HEAD, worker_rows
from sylvan.views.text import percent, short_count

__all__ = ["FOLDER", "PAGE", "summary", "write_comparison", "write_report"]

FOLDER, PAGE = "report", "index.html"

_STYLE = f"""
:root{{color-scheme:light}}
body{{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',Arial,sans-serif;
color:{INK};background:#fff;max-width:1400px;margin:2rem auto;padding:0 1.2rem}}
h1{{font-size:1.5rem;margin:0 0 .2rem}}
p{{margin:.2rem 0}}
.quiet{{color:{QUIET}}}
.plots{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:1.6rem;
margin-top:1.6rem}}
figure{{margin:0}}
figure img{{width:100%;height:auto;display:block}}
figcaption{{color:{QUIET};font-size:13px;padding-left:.4rem}}
table{{border-collapse:collapse;margin-top:1rem;font-variant-numeric:tabular-nums}}
th,td{{text-align:left;padding:.15rem 1.4rem .15rem 0;border-bottom:1px solid {LINE};
font-weight:400;vertical-align:top}}
th{{color:{QUIET}}}
a{{color:{BLUE}}}
"""


def write_report(folder: str | PathLike[str], across: Across = "step") -> Path:
    """Draw a run's metrics into its `report` folder; return the page's path.

    Every file is replaced atomically. Reading the metrics takes no lock, so a report can be
    written while the run is training.

    :raises RunError: the run has no metrics yet.
    :raises MissingExtra: matplotlib is not installed.
    """
    run = Path(folder)
    columns = measured(run)
    curves = [Curves(run.name, columns)]
    pictures = {p.name: png(p, curves, across) for p in PLOTS if p.has(columns)}
    out = run / FOLDER
    out.mkdir(exist_ok=True)
    for name, data in pictures.items():
        write_bytes(out / f"{name}.png", data)
    for stale in set(out.glob("*.png")) - {out / f"{name}.png" for name in pictures}:
        stale.unlink()
    table = _table([], [[name, value] for name, value in summary(columns).items()])
    if workers := worker_rows(run):
        table += f"<h2>Workers</h2>{_table(HEAD, workers)}"
    page = _page(f"Run {run.name}", table, pictures)
    write_bytes(out / PAGE, page.encode())
    return out / PAGE


def write_comparison(
    path: str | PathLike[str],
    runs: Mapping[str, Columns],
    settings: Sequence[Sequence[str]],
    across: Across = "step",
) -> None:
    """Write a page that plots several runs in the same axes.

    Args:
        path: of the HTML file.
        runs: their metrics by name.
        settings: rows of settings that differ: a name, then its value in each run.
        across: compare the runs at equal steps, or at equal time.
    """
    curves = [Curves(name, columns) for name, columns in runs.items()]
    pictures = {
        plot.name: png(plot, curves, across)
        for plot in PLOTS
        if any(plot.has(columns) for columns in runs.values())
    }
    summaries = [summary(columns) for columns in runs.values()]
    names = dict.fromkeys(name for figures in summaries for name in figures)
    rows = [[name, *(figures.get(name, "–") for figures in summaries)] for name in names]
    table = _table(["", *runs], [*rows, *settings])
    write_bytes(path, _page(" and ".join(runs), table, pictures).encode())


def measured(folder: Path) -> Columns:
    """Read the metrics of a run.

    :raises RunError: the run has none yet.
    """
    columns = run_columns(folder)
    if not columns["step"].size:
        raise RunError(f"{folder} has no metrics yet: let the run finish its first step.")
    return columns


def summary(columns: Columns) -> dict[str, str]:
    """A run in a few figures: its length, its last and its best rating, its losses."""
    facts = {
        "steps": f"{int(columns['step'][-1]):,}",
        "time": time_span(last(columns, "run.elapsed")),
        "games": short_count(round(float(_total(columns, "selfplay.games")))),
        "positions": short_count(round(float(_total(columns, "selfplay.positions")))),
    }
    if (found := limit(columns)) is not None:
        facts["self-play"] = f"{found[0]}: {found[1]}"
    best = best_step(columns)
    if best is not None:
        name = rating_name(columns)
        highest = rating_text(float(series(columns, name)[best]), name)
        facts["rating, last"] = rating_text(last(columns, name), name)
        facts["rating, best"] = f"{highest} at step {int(columns['step'][best]):,}"
    for name in mistakes(columns):
        lowest = best_step(columns, name, lowest=True)
        if lowest is not None:
            what = name.removeprefix("rating.").replace("_", " ").replace(".", " ")
            facts[f"{what}, last"] = percent(last(columns, name))
            at = f" at step {int(columns['step'][lowest]):,}"
            facts[f"{what}, best"] = percent(float(columns[name][lowest])) + at
    for name in ("loss.policy", "loss.value"):
        if math.isfinite(value := last(columns, name)):
            facts[f"{name.removeprefix('loss.')} loss"] = f"{value:.3f}"
    return facts


def _total(columns: Columns, name: str) -> float:
    values = series(columns, name)
    return float(values[values == values].sum())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{escape(row[0])}</th>"
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table>{f'<tr>{first}</tr>' if head else ''}{body}</table>"


def _page(title: str, table: str, pictures: Mapping[str, bytes]) -> str:
    shown = "".join(
        f'<figure id="{plot.name}"><img alt="{escape(plot.title)}" '
        f'src="data:image/png;base64,{b64encode(pictures[plot.name]).decode()}">'
        f"<figcaption>{escape(plot.sentence)}</figcaption></figure>"
        for plot in PLOTS
        if plot.name in pictures
    )
    made = f"{datetime.now():%Y-%m-%d %H:%M}"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f'<p class="quiet">Drawn {made}.</p>{table}<div class="plots">{shown}</div></body></html>\n'
    )
