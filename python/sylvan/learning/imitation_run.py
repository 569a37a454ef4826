"""Run an imitation: read the games, train, log, test, save, export.

    out/
        pretrain.toml                       every setting
        log.jsonl                           a line every 30 s, and one per test
        checkpoint/state.json, part-*.safetensors   each below 16 MB
        networks/last.safetensors           the averaged network; at the end also best.onnx

A run that was stopped, by its minutes or otherwise, resumes from its checkpoint.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from sylvan.errors import ConfigError, TrainingError
from sylvan.files import write_bytes
from sylvan.learning.centipawns import UNKNOWN, OutcomeCurve, fit_outcomes
from sylvan.learning.game_files import GameTable, read_game_files
from sylvan.learning.imitation import Imitation, ImitationConfig, TestScores
from sylvan.learning.imitation_checkpoint import load_checkpoint, save_checkpoint
from sylvan.learning.imitation_log import ImitationLog
from sylvan.networks.checkpoint import save_network
from sylvan.networks.device import device_named
from sylvan.settings.file import toml_text

__all__ = ["imitate"]

TEST_SECONDS, SAVE_SECONDS = 120.0, 120.0
"""Seconds between two tests, and between two checkpoints."""

CHECK_UPDATES = 50
"""Updates between two checks of the losses; a check makes a GPU wait."""

TEST_ROWS = 131_072
"""Maximum positions per file in a test during training; the last test uses all."""

Tell = Callable[[str], None]


def imitate(
    sources: Sequence[Path],
    out: Path,
    config: ImitationConfig,
    *,
    samples: int | None = None,
    epochs: float = 1.0,
    minutes: float | None = None,
    device: str = "auto",
    threads: int | None = None,
    most_games: int | None = None,
    tell: Tell = lambda _: None,
    started: float | None = None,
) -> dict[str, TestScores]:
    """Train on packed game files; resume from the checkpoint in `out` if there is one.

    Args:
        sources: `.bin` or `.bin.xz` files.
        out: the output folder; created if missing.
        config: all settings.
        samples: total positions to draw, over all runs; sets the learning rate's schedule. A later
            run may change it.
        epochs: instead of `samples`: times each position is drawn.
        minutes: time limit, reading included; None: train until all samples are drawn.
        device: `cpu`, `cuda` or `auto`.
        threads: threads that read games; None: one per core.
        most_games: maximum games read from each file.
        tell: called with messages for the user.
        started: `time.monotonic()` from which the minutes count; None: now.

    :return: scores of the averaged network on each file's held-out games.
    :raises ConfigError: the files have no usable positions.
    :raises TrainingError: a loss is not finite, or the checkpoint does not match.
    """
    begun = time.monotonic() if started is None else started
    if minutes is not None and not minutes > 0:
        raise ConfigError(f"minutes is {minutes}: give a time above 0.")
    (out / "networks").mkdir(parents=True, exist_ok=True)
    torch_device = device_named(device)
    log = ImitationLog(out / "log.jsonl", tell)
    table = read_game_files(
        sources, torch_device, threads=threads, tell=tell, most_games=most_games
    )
    curve = _curve(table, tell)
    _tune(torch_device)
    total = samples or max(1, round(epochs * len(table.train_rows)))
    training = Imitation(table, config, curve, total)
    write_bytes(out / "pretrain.toml", toml_text(config, "Settings of an imitation.").encode())
    resumed = load_checkpoint(training, out / "checkpoint")
    read_seconds = time.monotonic() - begun
    tell(
        f"{'resuming at' if resumed else 'starting at'} sample {training.samples:,} of "
        f"{total:,} with {training.network.parameter_count:,} parameters on "
        f"{torch_device}, after {read_seconds:.0f} s."
    )
    deadline = math.inf if minutes is None else begun + 60.0 * minutes
    _train(training, out, deadline, log)
    scores = _test_scores(training, None)
    log.test(training, scores)
    save_checkpoint(training, out / "checkpoint")
    save_network(
        training.average.network,
        out / "networks" / "last.safetensors",
        training_step=training.updates,
    )
    if training.done:
        _export(training, out / "networks", tell)
    return scores


def _curve(table: GameTable, tell: Tell) -> OutcomeCurve | None:
    """Fit outcome probabilities by evaluation to the training games."""
    rows = table.train_rows
    known = rows[table.evaluations[rows] != UNKNOWN]
    evaluations, results = table.evaluations[known].cpu(), table.results[known].cpu()
    curve = fit_outcomes(evaluations.numpy(), results.numpy())
    if curve is not None:
        win, draw, loss = curve.chances(np.array([100]))[0]
        tell(
            f"{len(known):,} evaluations: +1.00 is {100 * win:.0f} % won, "
            f"{100 * draw:.0f} % drawn, {100 * loss:.0f} % lost."
        )
    return curve


def _tune(device: torch.device) -> None:
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")


def _train(training: Imitation, out: Path, deadline: float, log: ImitationLog) -> None:
    """Update until all samples are drawn or the deadline has passed."""
    now = time.monotonic()
    tested = saved = now
    log.begin(training)
    while not training.done:
        training.update()
        if training.updates % CHECK_UPDATES and not training.done:
            continue
        _check(training)
        now = time.monotonic()
        if now >= deadline:
            break
        if log.due(now):
            log.losses(training)
        if now - tested > TEST_SECONDS:
            log.test(training, _test_scores(training, TEST_ROWS))
            tested = time.monotonic()
        if now - saved > SAVE_SECONDS:
            save_checkpoint(training, out / "checkpoint")
            saved = time.monotonic()
    log.losses(training)


def _check(training: Imitation) -> None:
    """Raise an error if a loss is not finite; the last checkpoint is from before."""
    if not bool(torch.isfinite(training.sums).all()):
        raise TrainingError(
            f"A loss or gradient was not finite in the {CHECK_UPDATES} updates before update "
            f"{training.updates}: lower learner.learning_rate and run again; the last checkpoint "
            "is from before."
        )


def _test_scores(training: Imitation, most: int | None) -> dict[str, TestScores]:
    """Score the held-out games, at most about `most` positions per file."""
    scores = {}
    for name, rows in training.table.test_rows.items():
        if len(rows):
            stride = 1 if most is None else max(1, len(rows) // most)
            scores[name] = training.test(rows[::stride])
    return scores


def _export(training: Imitation, folder: Path, tell: Tell) -> None:
    """Export the averaged network to ONNX, if the packages for it are installed."""
    if any(
        importlib.util.find_spec(name) is None for name in ("onnx", "onnxruntime", "onnxscript")
    ):
        tell(f"ONNX is not installed here: sylvan convert {folder / 'last.safetensors'} best.onnx")
        return
    from sylvan.networks import export_onnx

    export_onnx(training.average.network.cpu().eval(), folder / "best.onnx")
