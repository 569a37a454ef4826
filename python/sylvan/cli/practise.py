"""`sylvan practise`: a network plays rounds with itself and with bots, and learns from them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from sylvan.errors import ConfigError

__all__ = ["practise"]


def practise(
    game: Annotated[str, typer.Argument(help="What it plays: blob.")],
    start: Annotated[Path, typer.Option("--from", help="A network, or a folder of one.")],
    out: Annotated[Path, typer.Option(help="The folder for the better network.")],
    minutes: Annotated[float, typer.Option(help="How long to go on.")],
    tables: Annotated[int, typer.Option(help="Rounds of a turn, played side by side.")] = 4096,
    learning_rate: Annotated[float, typer.Option(help="At first; it falls to a tenth.")] = 3e-4,
    critic: Annotated[
        Literal["view", "deal"],
        typer.Option(help="What the judge of decisions sees: what the seat sees, or all hands."),
    ] = "view",
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="Of this many cores; else of all.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Let a network practise without a search: what went better than it expected becomes likelier.

    For a network that knows the game from `sylvan pretrain`; a GPU is wanted. The averaged network
    is written every minute.

    Example:

    - `sylvan practise blob --from runs/blob --out runs/better --minutes 10`
    """
    from sylvan.blob.practice import PracticeConfig
    from sylvan.blob.practice import practise as go_on
    from sylvan.evaluators.loading import network_file
    from sylvan.games import Blob
    from sylvan.networks import load_network

    if game != "blob":
        raise ConfigError(f"Rounds of {game!r} cannot be practised: give blob.")
    given = {"tables": tables, "learning_rate": learning_rate, "critic": critic, "seed": seed}
    config = PracticeConfig.model_validate(given)
    network = load_network(network_file(start, "torch"), game=Blob())
    count = threads or os.cpu_count() or 1

    def tell(sentence: str) -> None:
        if not quiet:
            print(sentence, file=sys.stderr, flush=True)

    go_on(network, out, config, minutes=minutes, device=device, threads=count, tell=tell)
    if not quiet:
        print(f"The network is {out / 'networks' / 'last.safetensors'}.")
