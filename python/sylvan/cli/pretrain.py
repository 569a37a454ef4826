"""`sylvan pretrain`: train a network on existing games or labelled positions."""

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
    """The format of an examples file."""

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
    out: Annotated[Path, typer.Option(help="Output folder for records and network.")],
    network: Annotated[str, typer.Option(help="Network size: 6x64, t4x128, mlp2x256.")] = "6x64",
    game: Annotated[str, typer.Option(help="The game of the examples.")] = "chess",
    epochs: Annotated[float, typer.Option(help="Passes over the positions.")] = 1.0,
    min_elo: Annotated[int, typer.Option(help="Skip games with a player rated lower.")] = 0,
    max_centipawns: Annotated[
        int | None, typer.Option(help="Skip positions with a larger absolute evaluation.")
    ] = None,
    value_mix: Annotated[
        float,
        typer.Option(help="Weight of evaluations against results in the value target, 0 to 1."),
    ] = 0.5,
    kind: Annotated[
        Kind, typer.Option("--format", help="Format of the files (default: by name).")
    ] = Kind.auto,
    seed: Annotated[int, typer.Option(help="Seed of the weights and of sampling.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    threads: Annotated[
        int | None, typer.Option(help="PyTorch threads (default: PyTorch's).")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting: learner.batch=1024"),
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="Initial network: a file, or a folder with one.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors only.")] = False,
) -> None:
    """Train a network on existing games, or on labelled positions.

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
    """Return the options, overridden by --set."""
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
