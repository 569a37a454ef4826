"""`sylvan practise`: train a Blob network by policy gradient in rounds with itself and bots."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from sylvan.errors import ConfigError, NetworkError

__all__ = ["practise"]


def practise(
    game: Annotated[str, typer.Argument(help="The game: blob.")],
    start: Annotated[
        Path, typer.Option("--from", help="Initial network: a file, or a folder with one.")
    ],
    out: Annotated[Path, typer.Option(help="Output folder.")],
    minutes: Annotated[float, typer.Option(help="Stop after this many minutes.")],
    tables: Annotated[int, typer.Option(help="Rounds played in parallel per update.")] = 4096,
    learning_rate: Annotated[
        float, typer.Option(help="Initial learning rate; decays to a tenth.")
    ] = 3e-4,
    critic: Annotated[
        Literal["view", "deal"],
        typer.Option(help="Input of the critic: the seat's view, or all hands."),
    ] = "view",
    curriculum: Annotated[
        float,
        typer.Option(help="Share of the time in which hands grow from one card to all; 0: none."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of random choices.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(help="Threads (default: one per core).")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors only.")] = False,
) -> None:
    """Train a network by policy gradient, without search: actions with better results than expected
    become more likely.

    Start from a network of `sylvan pretrain`, and use a GPU. The averaged network is written every
    minute.

    Example:

    - `sylvan practise blob --from runs/blob --out runs/better --minutes 10`
    """
    from sylvan.blob.practice import PracticeConfig
    from sylvan.blob.practice import practise as train
    from sylvan.evaluators.loading import network_file
    from sylvan.games import Blob
    from sylvan.networks import load_network
    from sylvan.networks.network import Network

    if game != "blob":
        raise ConfigError(f"{game!r} cannot be practised: give blob.")
    given = {"tables": tables, "learning_rate": learning_rate, "critic": critic, "seed": seed}
    config = PracticeConfig.model_validate({**given, "curriculum": curriculum})
    network = load_network(network_file(start, "torch"), game=Blob())
    if not isinstance(network, Network):
        raise NetworkError(f"{start} is a learned model: give a network of policy and value.")
    count = threads or os.cpu_count() or 1

    def tell(sentence: str) -> None:
        if not quiet:
            print(sentence, file=sys.stderr, flush=True)

    train(network, out, config, minutes=minutes, device=device, threads=count, tell=tell)
    if not quiet:
        print(f"The network is {out / 'networks' / 'last.safetensors'}.")
