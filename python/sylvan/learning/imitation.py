"""Imitation: train a chess network on the moves and results of packed games.

All positions are on the device (`game_files`) and batches are made there (`position_batches`).
`Imitation.update` copies nothing back to the host, so a GPU never waits.

    loss = policy + value + 0.2 · moves left      (the weights of `LearnerConfig`)

- *policy*: −log p(played move), softmax over legal moves;
- *value*: cross-entropy to win, draw and loss;
- *moves left*: Huber((m − plies) / 20).

Progress is the fraction of all samples that is drawn; it sets the learning rate. Each epoch is a
permutation of the training rows that depends only on the seed and the epoch, so a resumed run
draws the same batches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from torch import nn
from torch.nn import functional

from sylvan.games import Chess
from sylvan.learning.average import Average
from sylvan.learning.centipawns import OutcomeCurve
from sylvan.learning.config import LearnerConfig
from sylvan.learning.game_files import GameTable
from sylvan.learning.losses import PLIES
from sylvan.learning.optimizer import make_optimizer, optimizer_arrays, restore_optimizer
from sylvan.learning.position_batches import ENCODING, PositionBatch, PositionBatches
from sylvan.learning.schedule import learning_rate
from sylvan.networks.build import build_network
from sylvan.networks.checkpoint import load_tensors
from sylvan.networks.header import NetworkHeader
from sylvan.networks.network import Network
from sylvan.networks.output import NetworkOutput
from sylvan.settings.section import Section

__all__ = [
    "DEFAULT_LEARNER",
    "PARTS",
    "Imitation",
    "ImitationConfig",
    "ImitationSection",
    "TestScores",
]

PARTS = ("policy", "value", "moves_left")
"""Parts of the loss."""


class ImitationSection(Section):
    """The network, the value target and the seed."""

    network: str = Field(default="8x96", description="network size: 8x96, t4x128")
    policy_channels: int = Field(
        default=64, ge=1, description="width of queries and keys in the attention policy head"
    )
    value_mix: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="weight of evaluations against results in the value target",
    )
    mirror: bool = Field(
        default=True, description="mirror half of the positions without castling rights"
    )
    seed: int = Field(
        default=0, ge=0, description="seed of the weights and of the order of positions"
    )

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
    """Scores of a network on held-out games."""

    __test__ = False  # not a test class for pytest

    positions: int
    top1: float
    """Fraction of positions where the network's best legal move is the played one."""
    policy: float
    """Mean −log p(played move), in nats."""
    value: float
    """Cross-entropy to the game's result (win, draw, loss), in nats."""
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
        curve: outcome probabilities by evaluation.
        total_samples: total positions to draw, over all runs.
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
        self.network = network.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
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
        # Held-out games are scored against their results only, whatever `value_mix` is.
        self._tests = PositionBatches(table, None, 0.0)
        compiles = self.device.type == "cuda" if learner.compile is None else learner.compile
        self._losses = torch.compile(self._parts, dynamic=False) if compiles else self._parts
        self._order: torch.Tensor | None = None
        self._ordered_epoch = -1
        self.sums = torch.zeros(len(PARTS) + 3, device=self.device, dtype=torch.float64)
        """Sums since the last reset: parts of the loss, top-1, gradient norm, updates."""

    @property
    def samples(self) -> int:
        """Positions drawn so far."""
        return self.updates * self.batch

    @property
    def progress(self) -> float:
        """Fraction of all samples that is drawn."""
        return min(1.0, self.samples / self.total_samples)

    @property
    def done(self) -> bool:
        """Whether all samples are drawn."""
        return self.samples >= self.total_samples

    def update(self) -> None:
        """Make one update; add its losses to `sums` without waiting for the device."""
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
        """The rows of the next batch, and its epoch."""
        per_epoch = len(self.table.train_rows) // self.batch
        epoch, batch_in_epoch = divmod(self.updates, per_epoch)
        if self._order is None or epoch != self._ordered_epoch:
            generator = torch.Generator(self.device)
            generator.manual_seed(1_000_003 * self.config.imitation.seed + epoch)
            self._order = torch.randperm(
                len(self.table.train_rows), generator=generator, device=self.device
            )
            self._ordered_epoch = epoch
        chosen = self._order[batch_in_epoch * self.batch : (batch_in_epoch + 1) * self.batch]
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
        """The means of `PARTS`, and top-1 accuracy."""
        with self._precision():
            output = self.network(observations)
        each = _each(output, legal, is_legal, played, value, plies_left)
        return tuple(number.mean() for number in each)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    @torch.no_grad()
    def test(self, rows: torch.Tensor) -> TestScores:
        """Score the averaged network on these rows."""
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
        """Copies of all tensors on which the next update depends."""
        arrays = {f"network/{name}": each for name, each in _arrays(self.network).items()}
        arrays |= {f"average/{n}": each for n, each in _arrays(self.average.network).items()}
        memory = optimizer_arrays(self.optimizer, self.network)
        return arrays | {f"optimizer/{name}": each for name, each in memory.items()}

    def restore(self, updates: int, arrays: dict[str, NDArray[Any]]) -> None:
        """Load a state that `state` returned after `updates` updates."""
        load_tensors(self.network, _under("network/", arrays), "the checkpoint")
        load_tensors(self.average.network, _under("average/", arrays), "the checkpoint")
        restore_optimizer(self.optimizer, self.network, _under("optimizer/", arrays))
        self.average.updates = self.updates = updates


def _new_network(section: ImitationSection) -> Network:
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
    """The tensors of a batch, in the order that `_parts` takes them."""
    return (
        batch.observations,
        batch.legal,
        batch.is_legal,
        batch.played,
        batch.value,
        batch.plies_left,
    )


def _each(
    output: NetworkOutput,
    legal: torch.Tensor,
    is_legal: torch.Tensor,
    played: torch.Tensor,
    value: torch.Tensor,
    plies_left: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """`[B]` each: policy, value and moves-left loss, and whether the best move was played."""
    lowest = torch.finfo(torch.float32).min
    logits = output.policy.gather(1, legal).float().masked_fill(~is_legal, lowest)
    policy = functional.cross_entropy(logits, played, reduction="none")
    outcome = -(value * torch.log_softmax(output.value.float(), dim=1)).sum(dim=1)
    assert output.moves_left is not None
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
