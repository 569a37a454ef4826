"""`sylvan examples`: rounds played by bots, as training data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sylvan.cli.terminal import Bar
from sylvan.errors import ConfigError

__all__ = ["examples"]


def examples(
    game: Annotated[str, typer.Argument(help="The game: blob.")],
    out: Annotated[Path, typer.Option(help="Output folder; an existing one is continued.")],
    minutes: Annotated[float | None, typer.Option(help="Stop after this many minutes.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Stop at this many rounds in total.")] = None,
    deals: Annotated[
        int, typer.Option(help="Sampled deals per action; 0 imitates the card counter.")
    ] = 24,
    explore: Annotated[float, typer.Option(help="Probability of a random action.")] = 0.05,
    usual: Annotated[
        float, typer.Option(help="Share of rounds with five players and up to seven cards.")
    ] = 0.6,
    most_cards: Annotated[int, typer.Option(help="Most cards per hand.")] = 13,
    seed: Annotated[int, typer.Option(help="Seed of all rounds.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads (default: one per core).")] = None,
    most_megabytes: Annotated[
        int | None, typer.Option(help="Size limit of all files in MB.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors only.")] = False,
) -> None:
    """Let bots play rounds as training data for `sylvan pretrain`.

    At each decision, every legal action is tried in sampled deals that match the seat's view, and
    the card counter plays each deal to its end; the results are stored. Run the command again to
    continue after an interruption.

    Examples:

    - `sylvan examples blob --out rounds --minutes 15`
    - `sylvan examples blob --out counter --rounds 20000 --deals 0` then
    - `sylvan pretrain counter --game blob --network suits3x128 --out runs/warm`
    """
    from sylvan.blob.rounds import RoundsConfig, make_rounds

    if game != "blob":
        raise ConfigError(f"{game!r} has no bots to learn from: give blob.")
    if (minutes is None) == (rounds is None):
        raise ConfigError("Give either --minutes or --rounds, to limit the command.")
    config = RoundsConfig(
        deals=deals, explore=explore, usual=usual, most_cards=most_cards, seed=seed
    )
    with Bar("playing rounds") as bar:
        played, lessons = make_rounds(
            out,
            config,
            rounds=rounds,
            minutes=minutes,
            threads=threads or os.cpu_count() or 1,
            most_bytes=None if most_megabytes is None else most_megabytes * 1_000_000,
            progress=bar.show,
        )
    if not quiet:
        print(f"{played:,} rounds with {lessons:,} decisions to learn from are in {out}.")
