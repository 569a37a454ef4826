"""Quality of learned models during training: the plots of docs/what-the-learned-model-knows.md.

    python -m benchmarks.model_pictures [--images FOLDER] [--run-folder FOLDER] [NAME ...]

Trains `cartpole` and `tictactoe` with their presets for two cores, a few minutes each (existing
runs are resumed), prints the prediction errors of their models, and with `--images` draws the
plots.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sylvan.files import write_bytes
from sylvan.runs.figures import last, model_figures, run_columns
from sylvan.runs.plots import PLOTS, Curves, png

GAMES = {"cartpole": "gym:CartPole-v1", "tictactoe": "tictactoe"}
PICTURES = ("model-reward", "model-value", "model-legal")


def trained(name: str, folder: Path) -> Path:
    """The folder of a run, whose budget is spent."""
    from rich.console import Console

    from sylvan.runs.config import TrainingConfig, merged
    from sylvan.runs.live import PlainLines
    from sylvan.runs.loop import train
    from sylvan.runs.presets import preset_settings

    settings = merged(preset_settings(GAMES[name], "cpu", "muzero"), {"run": {"seed": 1}})
    train(TrainingConfig(**settings), folder / name, watch=PlainLines(Console(stderr=True)))
    return folder / name


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=" or ".join(GAMES))
    parser.add_argument("--images", type=Path)
    parser.add_argument("--run-folder", type=Path, default=Path("runs/model-pictures"))
    given = parser.parse_args()
    if given.images is not None:
        given.images.mkdir(parents=True, exist_ok=True)
    for name in given.names or GAMES:
        if name not in GAMES:
            sys.exit(f"error: there is no {name!r}: give {' or '.join(GAMES)}")
        columns = run_columns(trained(name, given.run_folder))
        for what in ("reward", "value", "legal"):
            figures = {
                k: last(columns, column) for k, column in model_figures(columns, what).items()
            }
            shown = ", ".join(f"{k}: {figure:.3g}" for k, figure in figures.items())
            if shown:
                print(f"{name}: {what} by steps ahead {shown}")
        for plot in PLOTS:
            if given.images is not None and plot.name in PICTURES and plot.has(columns):
                picture = png(plot, [Curves(name, columns)])
                write_bytes(given.images / f"{plot.name}-{name}.png", picture)


if __name__ == "__main__":
    main()
