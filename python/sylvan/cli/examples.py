"""`sylvan examples`: rounds that bots play, for a network to learn from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sylvan.cli.terminal import Bar
from sylvan.errors import ConfigError

__all__ = ["examples"]


def examples(
    game: Annotated[str, typer.Argument(help="Whose bots play: blob.")],
    out: Annotated[Path, typer.Option(help="The folder; rounds that it has are gone on from.")],
    minutes: Annotated[float | None, typer.Option(help="How long to go on.")] = None,
    rounds: Annotated[int | None, typer.Option(help="How many there shall be in all.")] = None,
    deals: Annotated[
        int, typer.Option(help="Deals in which every action is tried; 0: imitate the card counter.")
    ] = 24,
    explore: Annotated[float, typer.Option(help="How often any action is played.")] = 0.05,
    usual: Annotated[float, typer.Option(help="Share of five players, up to seven cards.")] = 0.6,
    most_cards: Annotated[int, typer.Option(help="Cards of the largest rounds.")] = 13,
    seed: Annotated[int, typer.Option(help="From which all rounds follow.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Of this many cores; else of all.")] = None,
    most_megabytes: Annotated[int | None, typer.Option(help="Of all files together.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Have rounds played by bots, to train a network on: `sylvan pretrain` reads them.

    Every legal action of a decision is tried in deals that fit what the seat sees, played out by
    the card counter; what each came to is kept. A killed command goes on where it stopped.

    Examples:

    - `sylvan examples blob --out rounds --minutes 15`
    - `sylvan examples blob --out counter --rounds 20000 --deals 0` then
    - `sylvan pretrain counter --game blob --network suits3x128 --out runs/warm`
    """
    from sylvan.blob.rounds import RoundsConfig, make_rounds

    if game != "blob":
        raise ConfigError(f"There are no bots of {game!r} to learn from: give blob.")
    if (minutes is None) == (rounds is None):
        raise ConfigError("Give either --minutes or --rounds, which say when to stop.")
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
