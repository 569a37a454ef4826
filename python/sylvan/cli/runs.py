"""`sylvan runs`: list, show, compare, plot and export training runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sylvan.cli import completion
from sylvan.cli.terminal import check_folder, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from sylvan.runs.overview import Damaged, Overview

__all__ = ["runs"]

runs = typer.Typer(name="runs", rich_markup_mode="markdown")

RUNS = Path("runs")

Folder = Annotated[Path, typer.Argument(help="The folder that contains runs.")]
Name = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run folder, or its name in runs/.",
        autocompletion=completion.runs,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Across = Annotated[
    Literal["step", "minutes"],
    typer.Option("--across", help="The x-axis of plots: step or minutes."),
]


@runs.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Look at training runs: list, show, compare, report, export."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@runs.command("list")
def list_runs(folder: Folder = RUNS, as_json: AsJson = False) -> None:
    """List the runs in a folder with their progress, best figures and state."""
    from sylvan.runs.overview import Damaged, find_runs

    found = find_runs(folder)
    if as_json:
        print_json([run.facts() for run in found])
        return
    if not found:
        print(f"There is no run in {folder} yet: sylvan train connect4 --run {folder}/first")
        return
    names = ("run", "game", "network", "state", "step", "done", "time", "rating", "best")
    _print(_table(names, [_row(run) for run in found], right=4))
    for run in found:
        if isinstance(run, Damaged):
            print(f"{run.name} is damaged: {run.error}")


@runs.command()
def show(name: Name, as_json: AsJson = False) -> None:
    """Show a run: its curves, and the settings that differ from the defaults."""
    from sylvan.runs.overview import find_run
    from sylvan.runs.report import summary

    run = find_run(name)
    changed = _changed(run)
    if as_json:
        print_json({**run.facts(), "settings": run.run.config.model_dump(mode="json")})
        return
    print(f"{run.name}: {run.run.config.game.name}, {run.state}, {100 * run.progress:.0f}% done")
    if run.columns["step"].size:
        print()
        _print(_table(("", ""), [list(row) for row in summary(run.columns).items()]))
        print()
        _print(_table(("curve", "first", "last", ""), _curves(run), right=1))
    print()
    if changed:
        _print(_table(("setting", "here", "default"), changed))
    print(f"All settings: {run.run.folder / 'config.toml'}")


@runs.command()
def compare(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN...", help="Two runs or more.", autocompletion=completion.runs
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write the plots to this HTML page.")
    ] = None,
    across: Across = "step",
    as_json: AsJson = False,
) -> None:
    """Compare runs: settings that differ, last and best figures, overlaid curves."""
    from sylvan.runs.overview import find_run, setting_rows
    from sylvan.runs.report import measured, summary, write_comparison

    if len(names) < 2:
        raise typer.BadParameter("compare takes two runs or more")
    check_folder(out)
    found = [find_run(name) for name in names]
    settings = setting_rows([run.run for run in found])
    if as_json:
        print_json({"runs": [run.facts() for run in found], "settings": settings})
    else:
        heads = ["", *_distinct(found)]
        facts = [summary(measured(run.run.folder)) for run in found]
        rows = dict.fromkeys(name for each in facts for name in each)
        _print(_table(heads, [[row, *(each.get(row, "–") for each in facts)] for row in rows]))
        print()
        _print(_table(["settings that differ", *heads[1:]], settings))
    if out is not None:
        columns = [measured(run.run.folder) for run in found]
        write_comparison(out, dict(zip(_distinct(found), columns, strict=True)), settings, across)
        if not as_json:
            print(out)


@runs.command()
def report(name: Name, across: Across = "step") -> None:
    """Plot a run: PNG files and one HTML page, in its folder report/."""
    from sylvan.runs.overview import find_run
    from sylvan.runs.report import write_report

    print(write_report(find_run(name).run.folder, across))


@runs.command()
def export(
    name: Name,
    path: Annotated[
        Path, typer.Argument(help="Output: .onnx or .safetensors; a folder for a learned model.")
    ],
    last: Annotated[
        bool, typer.Option("--last", help="Use the newest network instead of the best.")
    ] = False,
) -> None:
    """Export a run's best network to a self-contained file; a learned model to a folder."""
    from sylvan.runs.export import export_network
    from sylvan.runs.overview import find_run

    run = find_run(name).run
    if path.suffix or run.config.run.algorithm != "muzero":
        check_folder(path)
    written = export_network(run, path, "last" if last else "best")
    print(f"{path}: {written}")


def _row(run: Overview | Damaged) -> list[str]:
    from sylvan.runs.figures import last, rating_name, rating_text, time_span
    from sylvan.runs.overview import Damaged

    if isinstance(run, Damaged):
        return [run.name, "–", "–", "damaged", *["–"] * 5]
    best, name = run.best, rating_name(run.columns)
    return [
        run.name,
        run.run.config.game.spec.short_name,
        run.run.config.network.size.rpartition("/")[2],
        run.state,
        f"{run.step:,}",
        f"{100 * run.progress:.0f}%",
        time_span(last(run.columns, "run.elapsed")),
        rating_text(run.rating, name) if math.isfinite(run.rating) else "–",
        f"{rating_text(best[0], name)} at {best[1]:,}" if best else "–",
    ]


def _curves(run: Overview) -> list[list[str]]:
    """Summarise the main figures: first, last, and a sparkline."""
    from sylvan.runs.figures import known, mistakes, rating_name, series, sparkline

    names = [rating_name(run.columns), *mistakes(run.columns), "loss.policy", "loss.value"]
    names += ["selfplay.entropy", "selfplay.length", "selfplay.openings"]
    rows = []
    for name in names:
        values = known(series(run.columns, name))
        if values.size:
            rows.append([name, f"{values[0]:.4g}", f"{values[-1]:.4g}", sparkline(values, 32)])
    return rows


def _changed(run: Overview) -> list[list[str]]:
    """Return the settings that differ from the game's defaults."""
    from sylvan.runs.config import TrainingConfig, differences

    default = TrainingConfig(game=run.run.config.game)
    pairs = differences(run.run.config, default)
    return [[name, str(here), str(usual)] for name, (here, usual) in pairs.items()]


def _distinct(found: Sequence[Overview]) -> list[str]:
    """Name each run; use folders if two names are equal."""
    names = [run.name for run in found]
    if len(set(names)) == len(names):
        return names
    return [f"{i}: {run.run.folder}" for i, run in enumerate(found, start=1)]


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]], right: int | None = None) -> Table:
    """Make a table without lines; columns from `right` on are right-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from sylvan.views.text import clean

    grid = Table(
        box=box.SIMPLE_HEAD if any(names) else None,
        show_edge=False,
        padding=(0, 2, 0, 0),
        pad_edge=False,
        header_style="dim",
        show_header=any(names),
    )
    for index, name in enumerate(names):
        is_number = right is not None and index >= right
        grid.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(clean(str(cell))) for cell in row))
    return grid


def _print(table: Table) -> None:
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=200)  # no terminal width in a file
    console.print(table)
