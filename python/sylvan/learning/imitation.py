"""Imitation: a chess network that learns the moves and results of games.

All positions are on the device (`game_files`), batches are made there (`position_batches`), and no
number comes back to the host but a few every `CHECKED` updates, so a GPU never waits.

    loss = policy + value + 0.2 · moves left      (the weights of `LearnerConfig`)

- *policy*: −log p(played move), softmax over legal moves;
- *value*: cross-entropy to win, draw and loss;
- *moves left*: Huber((m − plies) / 20).

Progress is samples drawn of all samples to draw; it sets the learning rate. Each epoch is a
permutation of the training rows that follows from the seed and the epoch, so a run that stops, by
its minutes or otherwise, goes on from its checkpoint with the batches it would have had.

    out/
        pretrain.toml                       every setting
        log.jsonl                           a line every 30 s, and one per test
        checkpoint/state.json, part-*.safetensors   each below 16 MB
        networks/last.safetensors           the averaged network; at the end also best.onnx
"""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from torch import nn
from torch.nn import functional

from sylvan.errors import ConfigError, TrainingError
from sylvan.files import write_bytes
from sylvan.games import Chess
from sylvan.learning.average import Average
from sylvan.learning.centipawns import OutcomeCurve, fit_outcomes
from sylvan.learning.config import LearnerConfig
from sylvan.learning.game_files import GameTable, read_game_files
from sylvan.learning.losses import PLIES
from sylvan.learning.optimizer import make_optimizer, optimizer_arrays, restore_optimizer
from sylvan.learning.position_batches import ENCODING, PositionBatch, PositionBatches
from sylvan.learning.schedule import learning_rate
from sylvan.networks.build import build_network
from sylvan.networks.checkpoint import (
    load_tensors,
    read_checkpoint,
    save_network,
    write_checkpoint,
)
from sylvan.networks.device import device_named
from sylvan.networks.header import NetworkHeader
from sylvan.settings.file import toml_text
from sylvan.settings.section import Section

__all__ = ["Imitation", "ImitationConfig", "TestScores", "imitate"]

LOGGED, TESTED, SAVED = 30.0, 120.0, 120.0
"""Seconds between two lines of the log, two tests, two checkpoints."""

CHECKED = 50
"""Updates between two looks at the losses, which make a GPU wait."""

TEST_ROWS = 131_072
"""Most positions of a file in a test during training; the last test takes all."""

PART_BYTES = 15_000_000
"""Most bytes of one file of a checkpoint."""

PARTS = ("policy", "value", "moves_left")

Tell = Callable[[str], None]


class ImitationSection(Section):
    """What to train and for how long."""

    network: str = Field(default="8x96", description="size of the network: 8x96, t4x128")
    policy_channels: int = Field(
        default=64, ge=1, description="width of queries and keys of the policy's attention"
    )
    value_mix: float = Field(
        default=0.5, ge=0, le=1, description="share of evaluations in the value, against results"
    )
    mirror: bool = Field(
        default=True, description="show half of the positions without castling rights mirrored"
    )
    seed: int = Field(default=0, ge=0, description="of the weights and of the order of positions")

    @classmethod
    def title(cls) -> str:
        """The section's name in files and messages."""
        return "imitation"


DEFAULT_LEARNER = LearnerConfig.model_validate(
    {
        "batch": 4096,
        "learning_rate": 2e-3,
        "warmup": 0.01,
        "floor": 0.005,
        "final_decay": 0.0,
        "clip": 2.0,
        "weight_decay": 0.02,
        "average": 0.999,
    }
)


class ImitationConfig(BaseModel):
    """All settings, by section."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    imitation: ImitationSection = ImitationSection()
    learner: LearnerConfig = DEFAULT_LEARNER


@dataclass(frozen=True)
class TestScores:
    """What a network knows of games kept aside."""

    __test__ = False  # no test of pytest's

    positions: int
    top1: float
    """Share of positions in which the played move is the network's first choice."""
    policy: float
    """Mean −log p(played move), in nats."""
    value: float
    """Cross-entropy to the win, draw or loss that the game ended with, in nats."""
    moves_left: float
    """Mean Huber error, in units of 20 plies."""

    def __str__(self) -> str:
        return (
            f"top-1 {100 * self.top1:.2f} %, policy {self.policy:.4f}, result {self.value:.4f}, "
            f"moves left {self.moves_left:.4f} in {self.positions:,} positions"
        )


class Imitation:
    """Trains a network on a table of positions, update by update.

    Args:
        table: the positions, on the device to train on.
        config: all settings.
        curve: what evaluations mean.
        total_samples: positions to draw in all, over all runs.
    """

    def __init__(
        self,
        table: GameTable,
        config: ImitationConfig,
        curve: OutcomeCurve | None,
        total_samples: int,
    ) -> None:
        section, learner = config.imitation, config.learner
        self.table, self.config, self.total_samples = table, config, total_samples
        self.device = table.facts.device
        self.batch = min(learner.batch, len(table.train_rows))
        self.updates = 0
        """Updates made."""
        network = _new_network(section)
        self.header: NetworkHeader = network.header
        self.network: Any = network.to(self.device).to(memory_format=torch.channels_last)
        self.network.train()
        self._parameters = list(self.network.parameters())
        self.optimizer = make_optimizer(
            self.network,
            learner.optimizer,
            momentum=learner.momentum,
            second_momentum=learner.second_momentum,
            nesterov=learner.nesterov,
            weight_decay=learner.weight_decay,
        )
        self.average = Average(self.network, learner.average)
        self._batches = PositionBatches(table, curve, section.value_mix)
        # Games kept aside are scored by how they ended, whatever the network was trained on.
        self._tests = PositionBatches(table, None, 0.0)
        compiles = self.device.type == "cuda" if learner.compile is None else learner.compile
        self._losses = torch.compile(self._parts, dynamic=False) if compiles else self._parts
        self._order: torch.Tensor | None = None
        self._ordered_epoch = -1
        self.sums = torch.zeros(len(PARTS) + 3, device=self.device, dtype=torch.float64)
        """Since they were last read: parts of the loss, top-1, gradient norm, updates."""

    @property
    def samples(self) -> int:
        """Positions drawn so far."""
        return self.updates * self.batch

    @property
    def progress(self) -> float:
        """Share of all samples that is drawn."""
        return min(1.0, self.samples / self.total_samples)

    @property
    def done(self) -> bool:
        """Whether all samples are drawn."""
        return self.samples >= self.total_samples

    def update(self) -> None:
        """Make one update; losses are added to `sums`, nothing is read back."""
        rows, epoch = self._rows()
        mirror = epoch if self.config.imitation.mirror else None
        batch = self._batches.make(rows, mirror)
        rate = learning_rate(self.config.learner, self.progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        parts = self._losses(*_tensors(batch))
        weights = [self.config.learner.weight(part) for part in PARTS]
        total = sum(weight * part for weight, part in zip(weights, parts, strict=False))
        total.backward()  # type: ignore[union-attr]
        norm = nn.utils.clip_grad_norm_(self._parameters, self.config.learner.clip or math.inf)
        self.optimizer.step()
        self.average.update(self.network)
        self.updates += 1
        ones = torch.ones((), device=self.device)
        self.sums += torch.stack([*(part.detach().float() for part in parts), norm, ones])

    def _rows(self) -> tuple[torch.Tensor, int]:
        """The rows of the next batch, and the number of the epoch they belong to."""
        per_epoch = len(self.table.train_rows) // self.batch
        epoch, place = divmod(self.updates, per_epoch)
        if self._order is None or epoch != self._ordered_epoch:
            generator = torch.Generator(self.device)
            generator.manual_seed(1_000_003 * self.config.imitation.seed + epoch)
            self._order = torch.randperm(
                len(self.table.train_rows), generator=generator, device=self.device
            )
            self._ordered_epoch = epoch
        chosen = self._order[place * self.batch : (place + 1) * self.batch]
        return self.table.train_rows[chosen], epoch

    def _parts(
        self,
        observations: torch.Tensor,
        legal: torch.Tensor,
        is_legal: torch.Tensor,
        played: torch.Tensor,
        value: torch.Tensor,
        plies_left: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        """The means of `PARTS`, and the share of positions whose move comes first."""
        with self._precision():
            output = self.network(observations)
        each = _each(output, legal, is_legal, played, value, plies_left)
        return tuple(number.mean() for number in each)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    @torch.no_grad()
    def test(self, rows: torch.Tensor) -> TestScores:
        """Score the averaged network on some rows."""
        network, sums = self.average.network, torch.zeros(4, dtype=torch.float64)
        for some in torch.split(rows, 8192):
            batch = self._tests.make(some)
            with self._precision():
                output = network(batch.observations)
            each = _each(output, *_tensors(batch)[1:])
            sums += torch.stack([number.double().sum() for number in each]).cpu()
        means = [float(number) / max(1, len(rows)) for number in sums]
        return TestScores(len(rows), means[3], means[0], means[1], means[2])

    def state(self) -> dict[str, NDArray[Any]]:
        """All tensors that the next update depends on; copied."""
        arrays = {f"network/{name}": each for name, each in _arrays(self.network).items()}
        arrays |= {f"average/{n}": each for n, each in _arrays(self.average.network).items()}
        memory = optimizer_arrays(self.optimizer, self.network)
        return arrays | {f"optimizer/{name}": each for name, each in memory.items()}

    def restore(self, updates: int, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on where another one stopped."""
        load_tensors(self.network, _under("network/", arrays), "the checkpoint")
        load_tensors(self.average.network, _under("average/", arrays), "the checkpoint")
        restore_optimizer(self.optimizer, self.network, _under("optimizer/", arrays))
        self.average.updates = self.updates = updates


def _new_network(section: ImitationSection) -> Any:
    is_mlp = section.network.startswith("mlp")
    attention = {"policy": "attention", "policy_channels": section.policy_channels}
    settings: dict[str, Any] = {} if is_mlp else attention
    return build_network(
        section.network,
        game=Chess(),
        encoding=ENCODING,
        moves_left=True,
        seed=section.seed,
        **settings,
    )


def _tensors(batch: PositionBatch) -> tuple[torch.Tensor, ...]:
    """The tensors of a batch in their order."""
    return (
        batch.observations,
        batch.legal,
        batch.is_legal,
        batch.played,
        batch.value,
        batch.plies_left,
    )


def _each(
    output: Any,
    legal: torch.Tensor,
    is_legal: torch.Tensor,
    played: torch.Tensor,
    value: torch.Tensor,
    plies_left: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """`[B]` each: policy, value and moves-left error, and whether the played move comes first."""
    lowest = torch.finfo(torch.float32).min
    logits = output.policy.gather(1, legal).float().masked_fill(~is_legal, lowest)
    policy = functional.cross_entropy(logits, played, reduction="none")
    outcome = -(value * torch.log_softmax(output.value.float(), dim=1)).sum(dim=1)
    error = (output.moves_left.float().squeeze(1) - plies_left) / PLIES
    huber = functional.huber_loss(error, torch.zeros_like(error), reduction="none", delta=0.5)
    first = (logits.argmax(dim=1) == played).float()
    return policy, outcome, huber, first


def _arrays(network: nn.Module) -> dict[str, NDArray[Any]]:
    return {
        name: np.array(each.detach().cpu().numpy(), order="C")
        for name, each in network.state_dict().items()
    }


def _under(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


# --- checkpoints ------------------------------------------------------------------------------


def save_checkpoint(training: Imitation, folder: Path) -> None:
    """Write a checkpoint in place of an earlier one; one of the two is whole at any time."""
    new = folder.with_name(folder.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    parts = _packed(training.state())
    for number, part in enumerate(parts):
        write_checkpoint(new / f"part-{number}.safetensors", training.header, part)
    state = {
        "updates": training.updates,
        "total_samples": training.total_samples,
        "batch": training.batch,
        "train_rows": len(training.table.train_rows),
        "parts": len(parts),
        "settings": training.config.model_dump(mode="json"),
    }
    write_bytes(new / "state.json", json.dumps(state, indent=2).encode())
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def load_checkpoint(training: Imitation, folder: Path) -> bool:
    """Go on from a checkpoint; False if there is none.

    :raises TrainingError: it is of other positions, another network, batch or seed.
    """
    new = folder.with_name(folder.name + ".new")
    if not (folder / "state.json").exists():
        if not (new / "state.json").exists():
            return False
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)  # the run was killed between the two
    state = json.loads((folder / "state.json").read_text())
    now = training.config.model_dump(mode="json")["imitation"]
    for name in ("network", "policy_channels", "seed", "mirror"):
        before = state["settings"]["imitation"][name]
        if before != now[name]:
            raise TrainingError(
                f"{folder} is of a training with {name} {before!r}, not {now[name]!r}: keep it, or "
                "give another folder with --out."
            )
    for name, found in (("batch", training.batch), ("train_rows", len(training.table.train_rows))):
        if state[name] != found:
            raise TrainingError(
                f"{folder} is of a training with {name} {state[name]:,}, not {found:,}: give the "
                "same files and settings, or another folder with --out."
            )
    arrays: dict[str, NDArray[Any]] = {}
    for number in range(state["parts"]):
        arrays |= read_checkpoint(folder / f"part-{number}.safetensors")[1]
    training.restore(state["updates"], arrays)
    return True


def _packed(arrays: dict[str, NDArray[Any]]) -> list[dict[str, NDArray[Any]]]:
    """Arrays in parts of at most `PART_BYTES`, unless one array alone is larger."""
    parts: list[dict[str, NDArray[Any]]] = [{}]
    size = 0
    for name, array in arrays.items():
        if parts[-1] and size + array.nbytes > PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][name] = array
        size += array.nbytes
    return parts


# --- a run ------------------------------------------------------------------------------------


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
    """Train on packed game files, going on from the checkpoint in `out` if there is one.

    Args:
        sources: `.bin` or `.bin.xz` files.
        out: the folder; made if it is not there.
        config: all settings.
        samples: positions to draw in all, over all runs; the learning rate falls over them. A
            later run may change it.
        epochs: instead of `samples`: times that every position is drawn.
        minutes: after which to stop, reading included; None: when all samples are drawn.
        device: `cpu`, `cuda` or `auto`.
        threads: that read games.
        most_games: read only so many games of each file.
        tell: told sentences for a person.
        started: `time.monotonic()` when the minutes began; now if None.

    :return: by file, how the averaged network does on the games kept aside.
    :raises ConfigError: nothing in the files can be learned from.
    :raises TrainingError: a loss is no number, or the checkpoint is of another training.
    """
    begun = time.monotonic() if started is None else started
    if minutes is not None and not minutes > 0:
        raise ConfigError(f"minutes is {minutes}: give a time above 0.")
    (out / "networks").mkdir(parents=True, exist_ok=True)
    where = device_named(device)
    log = _Log(out / "log.jsonl", tell)
    table = read_game_files(sources, where, threads=threads, tell=tell, most_games=most_games)
    curve = _curve(table, tell)
    _tune(where)
    total = samples or max(1, round(epochs * len(table.train_rows)))
    training = Imitation(table, config, curve, total)
    write_bytes(out / "pretrain.toml", toml_text(config, "Settings of an imitation.").encode())
    resumed = load_checkpoint(training, out / "checkpoint")
    read = time.monotonic() - begun
    tell(
        f"{'going on from' if resumed else 'starting at'} sample {training.samples:,} of "
        f"{total:,} with {training.network.parameter_count:,} parameters on "
        f"{where}, after {read:.0f} s."
    )
    deadline = math.inf if minutes is None else begun + 60.0 * minutes
    _run(training, out, deadline, log)
    scores = _tested(training, None)
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
    """Chances by evaluation, fitted to the training games."""
    rows = table.train_rows
    known = rows[table.evaluations[rows] != -32768]
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


def _run(training: Imitation, out: Path, deadline: float, log: _Log) -> None:
    """Update until all samples are drawn or the time is over."""
    now = time.monotonic()
    tested = saved = now
    log.begin(training)
    while not training.done:
        training.update()
        if training.updates % CHECKED and not training.done:
            continue
        _check(training)
        now = time.monotonic()
        if now >= deadline:
            break
        if log.due(now):
            log.losses(training)
        if now - tested > TESTED:
            log.test(training, _tested(training, TEST_ROWS))
            tested = time.monotonic()
        if now - saved > SAVED:
            save_checkpoint(training, out / "checkpoint")
            saved = time.monotonic()
    log.losses(training)


def _check(training: Imitation) -> None:
    """Stop at a loss that is no number; the checkpoint is of before."""
    if not bool(torch.isfinite(training.sums).all()):
        raise TrainingError(
            f"A loss or gradient is no finite number within {CHECKED} updates before update "
            f"{training.updates}: lower learner.learning_rate and run again; the checkpoint is of "
            "before."
        )


def _tested(training: Imitation, most: int | None) -> dict[str, TestScores]:
    scores = {}
    for name, rows in training.table.test_rows.items():
        if len(rows):
            stride = 1 if most is None else max(1, len(rows) // most)
            scores[name] = training.test(rows[::stride])
    return scores


class _Log:
    """Lines of JSON in a file, and sentences for a person."""

    def __init__(self, path: Path, tell: Tell) -> None:
        self._path, self._tell = path, tell
        self._since, self._samples = time.monotonic(), 0

    def begin(self, training: Imitation) -> None:
        """Speeds are counted from here."""
        self._since, self._samples = time.monotonic(), training.samples
        training.sums.zero_()

    def due(self, now: float) -> bool:
        return now - self._since >= LOGGED

    def losses(self, training: Imitation) -> None:
        """Write the mean losses since the last line."""
        *sums, updates = training.sums.tolist()
        if not updates:
            return
        means = [number / updates for number in sums]
        now = time.monotonic()
        names = (*PARTS, "top1", "gradient_norm")
        speed = (training.samples - self._samples) / max(now - self._since, 1e-9)
        line = dict(zip(names, means, strict=True)) | {
            "samples_per_second": speed,
            "learning_rate": learning_rate(training.config.learner, training.progress),
        }
        self._write(training, line)
        self._tell(
            f"{training.samples / 1e6:.1f} M samples ({100 * training.progress:.1f} %), "
            f"{speed / 1000:.1f} k/s: policy {line['policy']:.4f}, value {line['value']:.4f}, "
            f"moves left {line['moves_left']:.4f}, top-1 {100 * line['top1']:.2f} %, gradient "
            f"{line['gradient_norm']:.2f}, rate {line['learning_rate']:.2e}"
        )
        self.begin(training)

    def test(self, training: Imitation, scores: dict[str, TestScores]) -> None:
        """Write how the network does on the games kept aside."""
        begun = time.monotonic()
        for name, each in scores.items():
            self._write(training, {"file": name} | asdict(each))
            self._tell(f"kept aside, {name}: {each}")
        self._since += time.monotonic() - begun

    def _write(self, training: Imitation, line: dict[str, Any]) -> None:
        head = {"time": time.time(), "samples": training.samples, "updates": training.updates}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(head | line) + "\n")


def _export(training: Imitation, folder: Path, tell: Tell) -> None:
    """Write the averaged network as ONNX, where the packages for it are installed."""
    if any(
        importlib.util.find_spec(name) is None for name in ("onnx", "onnxruntime", "onnxscript")
    ):
        tell(f"ONNX is not installed here: sylvan convert {folder / 'last.safetensors'} best.onnx")
        return
    from sylvan.networks import export_onnx

    export_onnx(training.average.network.cpu().eval(), folder / "best.onnx")
