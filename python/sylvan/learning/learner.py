"""The learner: makes a network agree better with what the searches found and how games ended.

One update:

    batch ← replay                          drawn ahead, see `feed`
    parts ← losses(network(observations))   see `losses`; logged apart
    total ← Σ weight · part
    gradient ← clipped to a norm
    weights ← optimizer's step at the schedule's rate
    average ← a little of the weights       see `average`; this is the network that plays

A loss or a gradient that is no finite number ends the training before the step: the weights are as
they were, the batch is in a file and the message names both.

On a processor everything is fp32, and the same batches give the same bits with the same number of
threads. On a GPU matrices are multiplied in bfloat16 (or float16, with the loss scaled so that
small gradients survive) and the network is compiled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sylvan.errors import ConfigError, NetworkError, TrainingError
from sylvan.learning.average import Average
from sylvan.learning.config import LearnerConfig
from sylvan.learning.feed import Examples, Sender, Sent, batches
from sylvan.learning.graphed import Gradients
from sylvan.learning.losses import losses, priorities, target_entropy
from sylvan.learning.optimizer import make_optimizer, optimizer_arrays, restore_optimizer
from sylvan.learning.plugins import Loss, loss_named
from sylvan.learning.progress import LearnerWatcher
from sylvan.learning.saved_batch import save_batch
from sylvan.learning.schedule import learning_rate
from sylvan.networks.checkpoint import load_tensors
from sylvan.networks.device import device_named
from sylvan.networks.header import NetworkHeader

__all__ = ["Learner", "LearnerConfig", "Losses"]

State = dict[str, Any]
"""NumPy arrays, numbers and strings, flat."""

Progress = float | Callable[[float], float]
"""How much of the run is done, in [0, 1]; or that as a function of the share of updates made."""

PriorityUpdate = Callable[[NDArray[np.int64], NDArray[np.float32]], None]

TOLD_EVERY = 0.2
"""Seconds between two calls of a watcher: reading a loss makes a GPU wait."""

MOST_SKIPPED = 30
"""Updates in a row that may overflow in float16 while the scale of the loss is found."""


@dataclass(frozen=True)
class Losses:
    """Means over some updates."""

    parts: Mapping[str, float]
    """Each part of the loss by its name, before its weight."""
    total: float
    """Their weighted sum."""
    target_entropy: float
    """Of the policy targets, in nats: the policy loss cannot go below it."""
    gradient_norm: float
    """Before clipping."""
    learning_rate: float
    """Of the last update."""
    updates: int
    """How many these are."""
    seconds: float
    """That they took, waiting for batches included."""

    def numbers(self) -> dict[str, float]:
        """For the metrics, by name."""
        found = dict(self.parts) | {"total": self.total, "target_entropy": self.target_entropy}
        return _named(found | {"gradient_norm": self.gradient_norm}) | {
            "learner.learning_rate": self.learning_rate,
            "learner.updates": float(self.updates),
            "learner.seconds": self.seconds,
        }


class Learner:
    """Trains a network; `averaged` is the one to play with.

    :param network: a module with a header; it is moved to the device and trained in place.
    :param device: `auto` is a GPU where there is one, else `cpu`.
    :param threads: that PyTorch uses while training; None: as many as it does anyway.
    :param folder: where a batch goes that makes a loss no number.
    :raises NetworkError: the module has no header.
    :raises ConfigError: there is no such device, or it cannot do what the settings ask.
    """

    def __init__(
        self,
        network: nn.Module,
        config: LearnerConfig,
        device: str = "auto",
        threads: int | None = None,
        folder: str | PathLike[str] = ".",
    ) -> None:
        header = getattr(network, "header", None)
        if not isinstance(header, NetworkHeader):
            raise NetworkError(
                f"{type(network).__name__} has no header: set network.header = "
                "NetworkHeader.for_game(game) before training it."
            )
        self.header = header
        self.config = config
        self.device = device_named(device)
        self.threads = threads
        self.folder = Path(folder)
        self.updates_made = 0
        """Since the network was new."""
        self.network: Any = network.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._parameters = [each for each in self.network.parameters() if each.requires_grad]
        self._statistics = list(self.network.buffers())
        self._kept = [each.clone() for each in self._statistics]
        self.optimizer = make_optimizer(
            self.network,
            self.config.optimizer,
            momentum=self.config.momentum,
            second_momentum=self.config.second_momentum,
            nesterov=self.config.nesterov,
            weight_decay=self.config.weight_decay,
        )
        self._average = Average(self.network, self.config.average) if self.config.average else None
        self._sender = self._make_sender()
        self._dtype = _dtype(self.config.precision, self.device)
        self._scaler = torch.amp.GradScaler(self.device.type, enabled=self._dtype == torch.float16)
        self._loss: Loss = loss_named(self.config.loss) if self.config.loss else losses
        self._parts = torch.compile(self._losses) if self._compiles() else self._losses
        self._owed = 0.0
        self._skipped = 0

    @property
    def averaged(self) -> nn.Module:
        """The network to play with: the averaged weights, or the newest where none are kept."""
        network: nn.Module = self._average.network if self._average else self.network
        return network

    def updates(self, new_positions: int) -> int:
        """How many updates so many new positions are worth; what is left over counts next time."""
        self._owed += new_positions * self.config.samples_per_position
        count = int(self._owed // self.config.batch)
        self._owed -= count * self.config.batch
        return count

    def train(
        self,
        replay: Examples,
        updates: int,
        progress: Progress,
        rng: np.random.Generator,
        watch: LearnerWatcher | None = None,
    ) -> Losses:
        """Make `updates` updates on batches of the replay, and return the mean losses.

        :param progress: how much of the run is done, which sets the learning rate.
        :param rng: what chooses the batches.
        :raises TrainingError: a loss is no number, or the examples do not fit the network.
        """
        begun, told = time.perf_counter(), 0.0
        sums: dict[str, torch.Tensor] = {}
        rate, update = 0.0, _priority_update(replay)
        self.network.train()
        with _threads(self.threads):
            feed = batches(
                replay, self.config.batch, updates, rng, self._prepare, ahead=update is None
            )
            for number, batch in enumerate(feed):
                share = progress(number / updates) if callable(progress) else progress
                rate = learning_rate(self.config, share)
                parts = self._update(self._sent(batch), rate, update)
                for name, value in parts.items():
                    sums[name] = sums[name] + value if name in sums else value
                if watch is not None and time.perf_counter() - told > TOLD_EVERY:
                    told = time.perf_counter()
                    newest = {name: float(value) for name, value in parts.items()}
                    watch.learner_progress(number + 1, updates, _named(newest))
        self.network.eval()
        means = {name: float(value) / max(1, updates) for name, value in sums.items()}
        return Losses(
            total=means.pop("total", 0.0),
            target_entropy=means.pop("target_entropy", 0.0),
            gradient_norm=means.pop("gradient_norm", 0.0),
            parts=means,
            learning_rate=rate,
            updates=updates,
            seconds=time.perf_counter() - begun,
        )

    def _update(
        self, sent: Sent, rate: float, update: PriorityUpdate | None
    ) -> dict[str, torch.Tensor]:
        """One step of the optimizer; what it says of itself, still on the device."""
        if self._statistics:
            torch._foreach_copy_(self._kept, self._statistics)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        parts, errors, total = self._gradients(sent.observations, sent.targets)
        self._scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self._parameters, self.config.clip or math.inf)
        if bool(torch.isfinite(total + norm)):
            self._skipped = 0
        else:
            self._not_finite(sent.batch, parts, total, norm)
            norm = torch.zeros_like(norm)  # of a step that is skipped
        self._scaler.step(self.optimizer)
        self._scaler.update()
        self.updates_made += 1
        if self._average is not None:
            self._average.update(self.network)
        if update is not None:
            update(sent.batch.places, errors.cpu().numpy())
        told = {name: part.detach() for name, part in parts.items()}
        told |= {"total": total.detach(), "gradient_norm": norm.detach()}
        return told | {"target_entropy": self._entropy(sent.targets)}

    def _computed(self, observations: torch.Tensor, targets: Any) -> Gradients:
        """The loss of a batch, and its gradients added to those that are there."""
        parts, errors = self._parts(observations, targets)
        total = torch.stack([self._weight(name) * part for name, part in parts.items()]).sum()
        self._scaler.scale(total).backward()  # type: ignore[no-untyped-call]
        return parts, errors, total

    # --- what another kind of network is trained on: see sylvan.muzero.learner ----------------

    def _compiles(self) -> bool:
        """Whether the loss is compiled: on a GPU, unless the settings say otherwise."""
        return self.device.type == "cuda" if self.config.compile is None else self.config.compile

    def _gradients(self, observations: torch.Tensor, targets: Any) -> Gradients:
        """The loss of a batch; its gradients are in the parameters."""
        self.optimizer.zero_grad(set_to_none=True)
        return self._computed(observations, targets)

    def _make_sender(self) -> Sender:
        """What makes tensors of a batch."""
        return Sender(self.header, self.device)

    def _weight(self, part: str) -> float:
        """What a part of the loss counts in the total."""
        return self.config.weight(part)

    def _entropy(self, targets: Any) -> torch.Tensor:
        """The part of the policy loss that no network can remove."""
        return target_entropy(targets)

    def _losses(
        self, observations: torch.Tensor, targets: Any
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The parts of the loss, and what is left to learn from each position, `[B]`."""
        with self._precision():
            output = self.network(observations)
        errors = priorities(output, targets, self.header)
        return dict(self._loss(output, targets, self.header)), errors

    def _precision(self) -> torch.autocast:
        """Products inside are of the precision that the settings ask for."""
        enabled = self._dtype != torch.float32
        return torch.autocast(self.device.type, self._dtype, enabled=enabled)

    # ------------------------------------------------------------------------------------------

    def _prepare(self, batch: Any) -> Any:
        """What the drawing thread does with a batch: send it, if that is to another device.

        On a processor PyTorch would wake threads for it, which would disturb the update.
        """
        return self._sender(batch) if self.device.type == "cuda" else batch

    def _sent(self, batch: Any) -> Sent:
        return batch if isinstance(batch, Sent) else self._sender(batch)

    def _not_finite(
        self,
        batch: Any,
        parts: Mapping[str, torch.Tensor],
        total: torch.Tensor,
        norm: torch.Tensor,
    ) -> None:
        """Stop with the weights as they were, unless float16 overflowed, as it does at first."""
        if self._scaler.is_enabled() and bool(torch.isfinite(total)):
            self._skipped += 1
            if self._skipped < MOST_SKIPPED:
                return  # the scaler skips the step and halves its scale
        if self._statistics:
            torch._foreach_copy_(self._statistics, self._kept)
        self.optimizer.zero_grad(set_to_none=True)
        self.network.eval()
        path = self.folder / f"not-finite-update-{self.updates_made + 1}.npz"
        culprits = save_batch(batch, path)
        figures = ", ".join(f"{name} {float(part.detach()):g}" for name, part in parts.items())
        cause = (
            f"the batch's {' and '.join(culprits)} are not finite"
            if culprits
            else "the batch is finite, so lower learner.learning_rate or learner.clip"
        )
        raise TrainingError(
            f"Update {self.updates_made + 1} has a loss or a gradient that is no finite number "
            f"({figures}, gradient norm {float(norm):g}): {cause}; the batch is in {path} and the "
            "weights are as they were before it."
        )

    def state_dict(self) -> State:
        """All that the next update depends on: arrays, numbers and strings, copied."""
        state: State = {
            "header": self.header.to_json(),
            "optimizer": self.config.optimizer,
            "updates_made": self.updates_made,
            "owed": self._owed,
        }
        state |= {f"network/{name}": array for name, array in _arrays(self.network).items()}
        memory = optimizer_arrays(self.optimizer, self.network)
        state |= {f"optimizer/{name}": array for name, array in memory.items()}
        if self._average is not None:
            average = _arrays(self._average.network)
            state["averaged_updates"] = self._average.updates
            state |= {f"average/{name}": array for name, array in average.items()}
        if self._scaler.is_enabled():
            scaler = self._scaler.state_dict()
            state |= {"scale": scaler["scale"], "scale_growth": scaler["_growth_tracker"]}
        return state

    def load_state_dict(self, state: State) -> None:
        """Go on where another learner of the same network stopped, to the bit.

        :raises NetworkError: it is the state of another game's or another size of network.
        :raises ConfigError: it was trained with another optimizer.
        """
        header = NetworkHeader.from_json(str(state["header"]), "the learner's state")
        self._need_same(header, str(state["optimizer"]))
        load_tensors(self.network, _under("network/", state), "the learner's state")
        restore_optimizer(self.optimizer, self.network, _under("optimizer/", state))
        if self._average is not None:
            average = _under("average/", state) or _under("network/", state)
            load_tensors(self._average.network, average, "the learner's state")
            self._average.updates = int(state.get("averaged_updates", 0))
        if self._scaler.is_enabled() and "scale" in state:
            scaler = self._scaler.state_dict()
            scaler |= {"scale": state["scale"], "_growth_tracker": state["scale_growth"]}
            self._scaler.load_state_dict(scaler)
        self.updates_made = int(state["updates_made"])
        self._owed = float(state["owed"])

    def _need_same(self, header: NetworkHeader, optimizer: str) -> None:
        if header.game != self.header.game:
            raise NetworkError(
                f"The learner's state is of a network that plays {header.game}, not "
                f"{self.header.game}: resume it with that game, or begin a new run."
            )
        if optimizer != self.config.optimizer:
            raise ConfigError(
                f"learner.optimizer is {self.config.optimizer!r}, but the state is of "
                f"{optimizer!r}, which remembers other things: keep it, or begin a new run."
            )


def _named(figures: Mapping[str, float]) -> dict[str, float]:
    """Figures of updates by the names that they have in the metrics."""
    rooms = {"gradient_norm": "learner"}
    return {f"{rooms.get(name, 'loss')}.{name}": value for name, value in figures.items()}


def _priority_update(replay: Examples) -> PriorityUpdate | None:
    """Where the replay wants to hear how much is left to learn, if it does."""
    if not getattr(getattr(replay, "config", None), "prioritised", False):
        return None
    update: PriorityUpdate = replay.update_priorities  # type: ignore[attr-defined]
    return update


def _arrays(network: nn.Module) -> dict[str, NDArray[Any]]:
    """Copies of a network's numbers, in the order of their indices: files know no other."""
    return {
        name: np.array(each.detach().cpu().numpy(), order="C")
        for name, each in network.state_dict().items()
    }


def _under(prefix: str, state: State) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(prefix): each for key, each in state.items() if key.startswith(prefix)}


def _dtype(name: str, device: torch.device) -> torch.dtype:
    if device.type != "cuda":
        if name not in ("auto", "float32"):
            raise ConfigError(
                f"learner.precision is {name!r}, which is for a GPU: use 'auto' or 'float32'."
            )
        return torch.float32
    if name == "auto":
        name = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    kind: torch.dtype = getattr(torch, name)
    return kind


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """PyTorch's threads, as many as wanted and then as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
