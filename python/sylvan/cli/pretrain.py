"""`sylvan pretrain`: train a network on existing games or labelled positions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
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
    epd = "epd"


def pretrain(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Examples: .pgn, .jsonl, .csv or .epd, also .gz; - is standard input; packed "
            "chess games (.bin, .bin.xz). For blob: folders written by `sylvan examples`."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Output folder for records and network.")],
    network: Annotated[str, typer.Option(help="Network size: 6x64, t4x128, mlp2x256.")] = "6x64",
    game: Annotated[str, typer.Option(help="The game of the examples.")] = "chess",
    epochs: Annotated[float, typer.Option(help="Passes over the positions.")] = 1.0,
    samples: Annotated[
        int | None,
        typer.Option(help="Packed games: positions to draw over all runs, instead of --epochs."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Packed games: stop after this time; run again to continue."),
    ] = None,
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
    """Train a network on existing games, labelled positions or puzzles.

    The policy learns the played move, the value learns the result; evaluations in comments,
    [%eval 0.17], are mixed in. A run of self-play can start from the network.

    Examples:

    - `sylvan pretrain games.pgn --network 6x64 --out runs/warm` then
    - `sylvan train chess --run runs/next --from runs/warm`
    - `sylvan pretrain labels.jsonl --out runs/warm --epochs 3 --set learner.batch=1024`
    - `sylvan pretrain puzzles.csv --out runs/mates` positions and solutions: fen,moves
    - `sylvan pretrain rounds --game blob --network suits3x256 --out runs/blob`
    - `sylvan pretrain games.bin --network 8x96 --samples 300000000 --minutes 9 --out runs/chess`,
      repeated until all samples are drawn
    """
    if any(_is_packed(path) for path in sources):
        given = {"network": network, "epochs": epochs, "value_mix": value_mix, "seed": seed}
        _imitate(sources, out, given, samples, minutes, device, settings or [], quiet)
        return
    if samples is not None or minutes is not None:
        raise ConfigError("--samples and --minutes are for packed games, .bin: use --epochs.")
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
    tell: Callable[[str], None],
    start: Path | None,
) -> None:
    from sylvan.learning.pretrain import pretrain as train
    from sylvan.runs.watcher import Numbers, Watcher

    reading, training = bars

    class _Progress(Watcher):
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
        watch=_Progress(),
        tell=tell,
        start=start,
    )


def _is_packed(path: Path) -> bool:
    return path.name.endswith((".bin", ".bin.xz"))


def _imitate(
    sources: list[Path],
    out: Path,
    given: dict[str, Any],
    samples: int | None,
    minutes: float | None,
    device: str,
    settings: list[str],
    quiet: bool,
) -> None:
    """Train on packed games, which are read once and stay on the device."""
    started = time.monotonic()
    for path in sources:
        if not _is_packed(path):
            raise ConfigError(
                f"{path} is not a packed game file: give only .bin files, or none of them."
            )
    from sylvan.learning.imitation import DEFAULT_LEARNER, ImitationConfig
    from sylvan.learning.imitation_run import imitate

    epochs = given.pop("epochs")
    sections = {"imitation": given, "learner": DEFAULT_LEARNER.model_dump()}
    config = ImitationConfig(**_validated(ImitationConfig, sections, settings))
    imitate(
        sources,
        out,
        config,
        samples=samples,
        epochs=epochs,
        minutes=minutes,
        device=device,
        tell=_nothing if quiet else _tell,
        started=started,
    )
    if not quiet:
        print(f"The network is in {out / 'networks'}.")


def _config(given: dict[str, dict[str, Any]], texts: list[str]) -> PretrainConfig:
    """Return the options, overridden by --set."""
    from sylvan.learning.pretrain import PretrainConfig

    return PretrainConfig(**_validated(PretrainConfig, given, texts))


def _validated(
    model: type[Any], given: dict[str, dict[str, Any]], texts: list[str]
) -> dict[str, Any]:
    """Return a model's sections, with --set overriding the given values."""
    import json

    sections = model.model_fields
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
    return {name: kinds[name](**values) for name, values in given.items()}


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _nothing(sentence: str) -> None:
    del sentence
