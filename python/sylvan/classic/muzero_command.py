"""The command of the programs around `muzero-chess`, under its names:

    python -m sylvan.classic.muzero_command --train --epochs 20 --games 64 --model runs/muzero
    python -m sylvan.classic.muzero_command --evaluate --games 40 --model runs/muzero

It runs `sylvan train chess --algorithm muzero`, and a match with the best network. A run continues
if it is asked for more epochs. `--device` is `cpu` or `cuda`; `--set` changes any other setting.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sylvan.errors import ConfigError, SylvanError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, evaluate, or both; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        if not (options.train or options.evaluate):
            raise ConfigError("There is nothing to do: give --train, --evaluate or both.")
        if options.train:
            _train(options)
        if options.evaluate:
            _evaluate(options)
    except SylvanError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="MuZero on chess, by self-play.")
    add = parser.add_argument
    add("--train", action="store_true", help="start or continue training")
    add("--evaluate", action="store_true", help="play a match with the best network")
    add("--epochs", type=int, default=10, help="total steps of the run")
    add(
        "--games",
        type=int,
        default=None,
        help="self-play games at once; games of the match (default 20)",
    )
    add("--model", type=Path, default=Path("runs/muzero"), help="the run's folder")
    add("--opponent", default="random", help="as for `sylvan match`: uci:stockfish nodes=50")
    add("--no-visualization", action="store_true", help="print one line at the end, no live view")
    add("--device", default="auto", help="cpu or cuda; auto: a GPU if there is one")
    add("--game", default="chess", help="another game")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="any other setting")
    return parser


def _train(options: argparse.Namespace) -> None:
    from sylvan.runs.config import TrainingConfig, merged, overrides
    from sylvan.runs.live import terminal_watcher
    from sylvan.runs.loop import train
    from sylvan.runs.presets import preset_settings
    from sylvan.runs.run import Run
    from sylvan.settings.file import plain_settings

    if options.epochs < 1:
        raise ConfigError(f"epochs is {options.epochs}: give at least 1.")
    folder = options.model
    begun = Run.exists(folder)
    settings: dict[str, Any] = (
        plain_settings(Run.open(folder).config)
        if begun
        else preset_settings(options.game, "auto", "muzero")
    )
    asked: dict[str, Any] = {
        "run": {"algorithm": "muzero", "steps": options.epochs, "minutes": None},
        "game": {"name": options.game},
    }
    if options.device != "auto":
        asked["run"]["device"] = options.device
    if options.games is not None:
        asked["selfplay"] = {"games": options.games}
    for layer in (asked, overrides(options.set)):
        settings = merged(settings, layer)
    outcome = train(
        TrainingConfig(**settings), folder, watch=terminal_watcher(options.no_visualization)
    )
    print(f"{outcome.step} epochs are done, in {folder}.")


def _evaluate(options: argparse.Namespace) -> None:
    import numpy as np

    from sylvan.classic.progress import progress_bar
    from sylvan.muzero.evaluation import LatentSide
    from sylvan.ratings.duel import duel
    from sylvan.ratings.yardsticks import yardstick
    from sylvan.runs.agent import load_model
    from sylvan.runs.run import Run

    config = Run.open(options.model).config
    device = "cpu" if options.device == "auto" else options.device
    model = load_model(options.model, device=device)
    games, spec = options.games or 20, config.game.spec
    with progress_bar("games", games) as show:
        found = duel(
            spec,
            LatentSide("model", model, config.search),
            yardstick(options.opponent, spec),
            games,
            watch=lambda over, _: show(over),
        )
    wins, draws, losses = (found.scores.count(score) for score in (1.0, 0.5, 0.0))
    low, high = found.interval
    length = float(np.mean([len(game.actions) for game in found.games]))
    print(
        f"{games} games against {options.opponent}: {wins} won, {draws} drawn, {losses} lost; "
        f"score {found.score:.2f} ({low:.2f} to {high:.2f}), {length:.1f} moves a game."
    )


if __name__ == "__main__":
    raise SystemExit(main())
