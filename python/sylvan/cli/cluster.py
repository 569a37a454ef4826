"""`sylvan cluster`: look at a run that is trained on several machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sylvan.cli import completion
from sylvan.cli.terminal import print_json

__all__ = ["cluster"]

cluster = typer.Typer(name="cluster", rich_markup_mode="markdown")


@cluster.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Look at runs that are trained on a cluster: `sylvan train ... --cluster`."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@cluster.command()
def status(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run folder, or its name in runs/.",
            autocompletion=completion.runs,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the workers of a run, its leases, its speed and what limits it.

    Examples:

    - `sylvan cluster status runs/four`
    - `sylvan cluster status runs/four --json` the same for programs
    """
    from sylvan.cluster.status import read_status, worker_rows
    from sylvan.runs.overview import find_run

    found = read_status(_folder(name) or find_run(name).run.folder)
    if as_json:
        print_json(found)
        return
    leases, counts = found["leases"], found["counts"]
    print(f"Step {found['step']}, {found['mode']} mode; the status is {found['age']:.0f} s old.")
    print(
        f"Leases: {leases['under_way']} under way, {leases['waiting']} waiting, {leases['done']} "
        f"done of those that the learner needs; {counts['taken']} taken since the coordinator "
        f"started, {counts['late'] + counts['lost']} of them handed out again."
    )
    speed = found["per_second"]
    print(
        f"Workers: {len(found['workers'])} of {found.get('expected', '?')}; together "
        f"{speed['games']:,.1f} games and {speed['positions']:,.0f} positions per second in the "
        "last minute."
    )
    print(f"What limits the run: {found['limit']}")
    if found.get("dashboard"):
        print(f"Ray's dashboard: {found['dashboard']}")
    _print_workers(worker_rows(found))
    for problem in found["problems"][-5:]:
        print(f"- {problem}")


def _folder(name: str) -> Path | None:
    """The folder of a run that has not saved its settings yet."""
    path = Path(name)
    return path if (path / "cluster" / "status.json").exists() else None


def _print_workers(rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("worker", "node", "state"):
        table.add_column(title)
    for title in ("leases", "positions", "per second"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
