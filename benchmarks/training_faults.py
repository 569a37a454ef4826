"""How common training faults look: tiny runs of tic-tac-toe with one fault each.

    python -m benchmarks.training_faults [--images FOLDER] [--steps N] [FAULT ...]

Every fault is a setting or a custom loss function. Each run has the same seed and length as the
healthy one. Prints a table, and with `--images` draws the plots of `docs/read-the-plots.md`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sylvan.files import write_bytes
from sylvan.networks.header import NetworkHeader
from sylvan.networks.output import NetworkOutput
from sylvan.runs.figures import last, mistakes
from sylvan.runs.metrics import Columns
from sylvan.runs.plots import PLOTS, Curves, png

SEED = 1
HEALTHY: dict[str, dict[str, Any]] = {
    "game": {"name": "tictactoe"},
    "network": {"size": "mlp2x64"},
    "search": {"simulations": 16},
    "selfplay": {"games": 64, "positions": 512, "temperature_plies": 4},
    "learner": {"batch": 128, "samples_per_position": 16, "learning_rate": 0.005, "average": 0.9},
    "replay": {"window_min": 4096},
    "arena": {"every": 2, "games": 20, "opponents": 0},
}


@dataclass(frozen=True)
class Fault:
    """A fault, its settings, and the plots that show it."""

    name: str
    words: str
    plots: tuple[str, ...]
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)


def wrong_sign(output: NetworkOutput, targets: Any, header: NetworkHeader) -> Any:
    """A loss with the other seat's value target: win and loss are swapped."""
    from sylvan.learning.losses import losses

    return losses(output, replace(targets, value=targets.value.flip(1)), header)


FAULTS = (
    Fault(
        "learning-rate",
        "learning rate too high",
        ("policy-loss",),
        {"learner": {"learning_rate": 0.5}},
    ),
    Fault(
        "no-exploration",
        "no noise, temperature 0",
        ("openings",),
        {"search": {"noise": False}, "selfplay": {"temperature": 0.0}},
    ),
    Fault(
        "wrong-sign",
        "value with the wrong sign",
        ("mistakes",),
        {"learner": {"loss": f"{Path(__file__).resolve()}:wrong_sign"}},
    ),
    Fault(
        "every-child",
        "every child visited",
        ("entropy",),
        {"search": {"fpu": 2.0}},
    ),
    Fault(
        "overfitting",
        "a window of 128, used 64 times",
        ("value-loss",),
        {
            "learner": {"samples_per_position": 64},
            "replay": {"window_min": 128, "window_max": 128},
        },
    ),
)


def run(settings: dict[str, dict[str, Any]], steps: int, folder: Path) -> Columns:
    """Train with these settings added to the healthy ones; return the metrics."""
    from sylvan.runs.config import TrainingConfig, merged
    from sylvan.runs.loop import train

    whole = merged(merged(HEALTHY, settings), {"run": {"steps": steps, "seed": SEED, "threads": 1}})
    return train(TrainingConfig(**whole), folder).run.metrics.columns()


def main(arguments: list[str]) -> None:
    """Run, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faults", nargs="*", help=", ".join(fault.name for fault in FAULTS))
    parser.add_argument("--images", type=Path)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args(arguments)
    if unknown := set(options.faults) - {fault.name for fault in FAULTS}:
        parser.error(f"there is no fault {sorted(unknown)[0]!r}")
    if options.images is not None:
        options.images.mkdir(parents=True, exist_ok=True)
    chosen = [fault for fault in FAULTS if not options.faults or fault.name in options.faults]
    with tempfile.TemporaryDirectory() as folder:
        healthy = run({}, options.steps, Path(folder) / "healthy")
        _print("healthy", healthy)
        for fault in chosen:
            columns = run(fault.settings, options.steps, Path(folder) / fault.name)
            _print(fault.words, columns)
            if options.images is not None:
                curves = [Curves("healthy", healthy), Curves(fault.words, columns)]
                for plot in PLOTS:
                    if plot.name in fault.plots:
                        path = options.images / f"fault-{fault.name}-{plot.name}.png"
                        write_bytes(path, png(plot, curves))


def _print(name: str, columns: Columns) -> None:
    figures = ["rating.elo", *mistakes(columns), "loss.policy", "loss.value", "selfplay.openings"]
    words = [f"{figure} {last(columns, figure):.3g}" for figure in figures]
    print(f"{name:28}", "  ".join(words), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
