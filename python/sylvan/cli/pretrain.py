"""`sylvan pretrain`: a network from games or labelled positions of others."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylvan.cli.terminal import Bar
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.learning.pretrain import PretrainConfig

__all__ = ["pretrain"]


class Kind(StrEnum):
    """What a file of examples is."""

    auto = "auto"
    pgn = "pgn"
    jsonl = "jsonl"
    csv = "csv"


def pretrain(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Examples: .pgn, .jsonl or .csv, perhaps .gz; - is standard input. Of blob: "
            "folders of `sylvan examples`."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder for the records and the network.")],
    network: Annotated[str, typer.Option(help="Its size: 6x64, t4x128, mlp2x256.")] = "6x64",
    game: Annotated[str, typer.Option(help="Whose examples these are.")] = "chess",
    epochs: Annotated[float, typer.Option(help="Times that every position is drawn.")] = 1.0,
    min_elo: Annotated[int, typer.Option(help="Lowest rating of both players.")] = 0,
    max_centipawns: Annotated[
        int | None, typer.Option(help="Leave out positions that are evaluated further from 0.")
    ] = None,
    value_mix: Annotated[
        float, typer.Option(help="Share of evaluations in the value, against results: 0 to 1.")
    ] = 0.5,
    kind: Annotated[
        Kind, typer.Option("--format", help="What the files are, if their names do not say.")
    ] = Kind.auto,
    seed: Annotated[int, typer.Option(help="Of the weights and of what is drawn.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    threads: Annotated[
        int | None, typer.Option(help="Of PyTorch; else as many as it uses.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Others: learner.batch=1024"),
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="A network to go on from, or a folder of one.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Train a network on games that were played, or on positions with labels.

    The played move is what the policy learns, the result what the value learns; evaluations in
    comments, [%eval 0.17], are mixed in. A run of self-play can begin with the network.

    Examples:

    - `sylvan pretrain games.pgn --network 6x64 --out runs/warm` then
    - `sylvan train chess --run runs/next --from runs/warm`
    - `sylvan pretrain labels.jsonl --out runs/warm --epochs 3 --set learner.batch=1024`
    - `sylvan pretrain rounds --game blob --network suits3x256 --out runs/blob`
    """
    config = _config(
        {
            "pretrain": {"game": game, "network": network, "epochs": epochs, "seed": seed},
            "examples": {"min_elo": min_elo, "max_centipawns": max_centipawns},
            "targets": {"value_mix": value_mix},
        },
        settings or [],
    )
    tell = _nothing if quiet else _tell
    with Bar("reading examples") as reading, Bar("training") as training:
        _run(sources, out, config, kind, device, threads, (reading, training), tell, start)
    if not quiet:
        print(f"The network is in {out / 'networks'}: sylvan train {game} --from {out}")


def _run(
    sources: list[Path],
    out: Path,
    config: PretrainConfig,
    kind: Kind,
    device: str,
    threads: int | None,
    bars: tuple[Bar, Bar],
    tell: Any,
    start: Path | None,
) -> None:
    from sylvan.learning.pretrain import pretrain as train
    from sylvan.runs.watcher import Numbers, Watcher

    reading, training = bars

    class Told(Watcher):
        def learner_progress(self, update: int, updates: int, losses: Numbers) -> None:  # noqa: ARG002
            training.show(update, updates)

    train(
        sources,
        out,
        config,
        kind=kind.value,
        device=device,
        threads=threads,
        importing=reading.show,
        watch=Told(),
        tell=tell,
        start=start,
    )


def _config(given: dict[str, dict[str, Any]], texts: list[str]) -> PretrainConfig:
    """Options, with what --set says over them."""
    import json

    from sylvan.learning.pretrain import PretrainConfig

    sections = PretrainConfig.model_fields
    for text in texts:
        name, equals, value = text.partition("=")
        section, _, field = name.partition(".")
        if not equals or section not in sections or not field:
            raise ConfigError(
                f"--set {text}: write section.name=value, with a section of {', '.join(sections)}."
            )
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        given.setdefault(section, {})[field] = read
    kinds: dict[str, Any] = {name: field.annotation for name, field in sections.items()}
    return PretrainConfig(**{name: kinds[name](**values) for name, values in given.items()})


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _nothing(sentence: str) -> None:
    del sentence
