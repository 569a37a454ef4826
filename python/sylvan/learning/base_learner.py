"""The common part of all learners: the loop over batches, one update, and the state.

A learner adds the kind of batch, the network's losses and their weights: see `learner` (positions,
with the game's rules) and `sylvan.muzero.learner` (sequences, for a learned model).
"""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Generic

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sylvan.errors import ConfigError, NetworkError, TrainingError
from sylvan.learning.average import Average
from sylvan.learning.config import LearnerConfig
from sylvan.learning.feed import (
    AnyBatch,
    BatchT,
    Examples,
    PrioritisedExamples,
    Sender,
    Sent,
    TargetsT,
    batches,
)
from sylvan.learning.graphed import Gradients
from sylvan.learning.group import (
    Group,
    LearnerLost,
    need_shareable,
    parts_of,
    with_joint_norms,
)
from sylvan.learning.optimizer import make_optimizer, optimizer_arrays, restore_optimizer
from sylvan.learning.progress import LearnerWatcher
from sylvan.learning.saved_batch import save_batch
from sylvan.learning.schedule import learning_rate
from sylvan.networks.checkpoint import load_tensors
from sylvan.networks.device import device_named
from sylvan.networks.header import NetworkHeader, header_of

__all__ = ["BaseLearner", "LearnerConfig", "Losses", "help_learning"]

State = dict[str, Any]
"""Names to NumPy arrays, numbers and strings; not nested."""

Progress = float | Callable[[float], float]
"""Fraction of the run that is done, in [0, 1]; or a function from the fraction of updates made."""

PriorityUpdate = Callable[[NDArray[np.int64], NDArray[np.float32]], None]

WATCH_SECONDS = 0.2
"""Seconds between two calls of a watcher: reading a loss makes a GPU wait."""

MOST_SKIPPED = 30
"""Maximum consecutive float16 overflows while the loss scale is found."""


@dataclass(frozen=True)
class Losses:
    """Mean losses over some updates."""

    parts: Mapping[str, float]
    """Part of the loss by name, unweighted."""
    total: float
    """Weighted sum of the parts."""
    target_entropy: float
    """Entropy of the policy targets, in nats: the lower bound of the policy loss."""
    gradient_norm: float
    """Before clipping."""
    learning_rate: float
    """Of the last update."""
    updates: int
    """Number of updates."""
    seconds: float
    """Duration, including the wait for batches."""

    def numbers(self) -> dict[str, float]:
        """Metrics by name; without updates only their number and the duration."""
        if not self.updates:
            return {"learner.updates": 0.0, "learner.seconds": self.seconds}
        found = dict(self.parts) | {"total": self.total, "target_entropy": self.target_entropy}
        return _named(found | {"gradient_norm": self.gradient_norm}) | {
            "learner.learning_rate": self.learning_rate,
            "learner.updates": float(self.updates),
            "learner.seconds": self.seconds,
        }


class BaseLearner(ABC, Generic[BatchT, TargetsT]):
    """Trains a network; `averaged` is the network to play with.

    :param network: a module with a header; it is moved to the device and trained in place.
    :param device: `auto`: a GPU if there is one, else `cpu`.
    :param threads: PyTorch threads while training; None: PyTorch's default.
    :param folder: where to save a batch whose loss is not finite.
    :raises NetworkError: the module has no header.
    :raises ConfigError: the device does not exist, or does not support the settings.
    """

    def __init__(
        self,
        network: nn.Module,
        config: LearnerConfig,
        device: str = "auto",
        threads: int | None = None,
        folder: str | PathLike[str] = ".",
    ) -> None:
        header = header_of(network)
        if header is None:
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
        """Updates since the network was new."""
        self.network: nn.Module = network.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
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
        self._parts = torch.compile(self._losses) if self._compiles() else self._losses
        self._owed = 0.0
        self._skipped = 0
        self._group: Group | None = None
        """The processes that share each batch."""

    @property
    def averaged(self) -> nn.Module:
        """The network to play with: the averaged weights, or the newest if there is no average."""
        network: nn.Module = self._average.network if self._average else self.network
        return network

    def updates(self, new_positions: int) -> int:
        """Updates to make for these new positions; the remainder is carried over."""
        self._owed += new_positions * self.config.samples_per_position
        count = int(self._owed // self.config.batch)
        self._owed -= count * self.config.batch
        return count

    def train(
        self,
        replay: Examples[BatchT],
        updates: int,
        progress: Progress,
        rng: np.random.Generator,
        watch: LearnerWatcher | None = None,
    ) -> Losses:
        """Make `updates` updates on batches of the replay, and return the mean losses.

        :param progress: fraction of the run that is done; sets the learning rate.
        :param rng: draws the batches.
        :raises TrainingError: a loss is not finite, or the examples do not fit the network.
        """
        begun, watched = time.perf_counter(), 0.0
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
                if watch is not None and time.perf_counter() - watched > WATCH_SECONDS:
                    watched = time.perf_counter()
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
        self, sent: Sent[BatchT, TargetsT], rate: float, update: PriorityUpdate | None
    ) -> dict[str, torch.Tensor]:
        """Make one optimizer step; return its losses, still on the device."""
        if self._statistics:
            torch._foreach_copy_(self._kept, self._statistics)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        parts, errors, total = self._all_gradients(sent)
        self._scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self._parameters, self.config.clip or math.inf)
        if bool(torch.isfinite(total + norm)):
            self._skipped = 0
        else:
            self._not_finite(sent.batch, parts, total, norm)
            norm = torch.zeros_like(norm)  # the step is skipped
        self._scaler.step(self.optimizer)
        self._scaler.update()
        self.updates_made += 1
        if self._average is not None:
            self._average.update(self.network)
        if update is not None:
            update(sent.batch.positions, errors.cpu().numpy())
        metrics = {name: part.detach() for name, part in parts.items()}
        metrics |= {"total": total.detach(), "gradient_norm": norm.detach()}
        return metrics | {"target_entropy": self._entropy(sent.targets)}

    def _all_gradients(self, sent: Sent[BatchT, TargetsT]) -> Gradients:
        """The loss of a batch; its gradients are in the parameters."""
        if self._group is None:
            return self._gradients(sent.observations, sent.targets)
        parts = parts_of(sent.batch, self._group.size)
        self._group.scatter(parts)
        return self._joint_gradients(self._group, parts[0])

    def _joint_gradients(self, group: Group, part: BatchT) -> Gradients:
        """The loss of the joint batch and its gradients, in process 0; here is a part of it."""
        group.copy(self._parameters)
        self.optimizer.zero_grad(set_to_none=True)
        own = self._sender(part)
        with group.sharing():
            parts, errors, total = self._computed(own.observations, own.targets)
        joint = {name: each.detach().clone() for name, each in (*parts.items(), ("total", total))}
        gradients = [each.grad for each in self._parameters if each.grad is not None]
        group.add([*gradients, *joint.values()])
        every = group.gather(errors.cpu().numpy())
        total = joint.pop("total")
        return joint, torch.from_numpy(np.concatenate(every)) if every else errors, total

    def share(self, group: Group) -> None:
        """Share each batch with the other processes of a group, in which `help_learning` runs.

        :raises ConfigError: the loss of a batch is not the sum over its parts.
        """
        if self.config.loss:
            raise ConfigError(
                f"learner.loss is {self.config.loss!r}, whose mean over a batch several learners "
                "cannot join: omit --learners."
            )
        if self.config.compile:
            raise ConfigError(
                "learner.compile is set, but several learners do not compile: omit it."
            )
        if self._scaler.is_enabled():
            raise ConfigError(
                "learner.precision is 'float16', but several learners need 'bfloat16' or 'float32'."
            )
        network = copy.deepcopy(self.network).cpu()
        need_shareable(network, group.size, self.config.batch)
        group.broadcast((type(self), network, self.config, self.device.type, self._settings()))
        self._join(group)

    def _join(self, group: Group) -> None:
        with_joint_norms(self.network)
        self._group, self._parts = group, self._losses

    def end_sharing(self) -> None:
        """Tell the other processes that no batch follows."""
        if self._group is not None:
            group, self._group = self._group, None
            with suppress(LearnerLost):
                group.scatter([None] * group.size)

    def help_group(self) -> None:
        """Compute gradients of parts of batches, until process 0 ends it."""
        assert self._group is not None
        self.network.train()
        with _threads(self.threads):
            while (part := self._group.scatter()) is not None:
                self._joint_gradients(self._group, part)

    def _settings(self) -> dict[str, Any]:
        """The arguments of this kind of learner, by name."""
        return {}

    def _computed(self, observations: torch.Tensor, targets: TargetsT) -> Gradients:
        """The loss of a batch; its gradients are added to the parameters' gradients."""
        parts, errors = self._parts(observations, targets)
        total = torch.stack([self._weight(name) * part for name, part in parts.items()]).sum()
        self._scaler.scale(total).backward()  # type: ignore[no-untyped-call]
        return parts, errors, total

    # --- what a kind of learner adds or replaces -----------------------------------------------

    @abstractmethod
    def _make_sender(self) -> Sender[BatchT, TargetsT]:
        """Make the object that copies batches to the device."""

    @abstractmethod
    def _losses(
        self, observations: torch.Tensor, targets: TargetsT
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The parts of the loss, and each example's priority, `[B]`."""

    @abstractmethod
    def _entropy(self, targets: TargetsT) -> torch.Tensor:
        """The lower bound of the policy loss: the entropy of its targets."""

    def _compiles(self) -> bool:
        """Whether to compile the loss: by default only on a GPU."""
        return self.device.type == "cuda" if self.config.compile is None else self.config.compile

    def _gradients(self, observations: torch.Tensor, targets: TargetsT) -> Gradients:
        """The loss of a batch; its gradients are in the parameters."""
        self.optimizer.zero_grad(set_to_none=True)
        return self._computed(observations, targets)

    def _weight(self, part: str) -> float:
        """The weight of a part in the total loss."""
        return self.config.weight(part)

    def _precision(self) -> torch.autocast:
        """Context for autocast to the configured precision."""
        enabled = self._dtype != torch.float32
        return torch.autocast(self.device.type, self._dtype, enabled=enabled)

    # ------------------------------------------------------------------------------------------

    def _prepare(self, batch: BatchT) -> BatchT | Sent[BatchT, TargetsT]:
        """Copy a batch to a GPU, in the prefetch thread.

        On a CPU this waits for the training thread: PyTorch would start threads that slow the
        current update.
        """
        return self._sender(batch) if self.device.type == "cuda" else batch

    def _sent(self, batch: BatchT | Sent[BatchT, TargetsT]) -> Sent[BatchT, TargetsT]:
        return batch if isinstance(batch, Sent) else self._sender(batch)

    def _not_finite(
        self,
        batch: BatchT,
        parts: Mapping[str, torch.Tensor],
        total: torch.Tensor,
        norm: torch.Tensor,
    ) -> None:
        """Raise an error with the weights unchanged; tolerate float16 overflows at first."""
        if self._scaler.is_enabled() and bool(torch.isfinite(total)):
            self._skipped += 1
            if self._skipped < MOST_SKIPPED:
                return  # the scaler skips the step and halves its scale
        if self._statistics:
            torch._foreach_copy_(self._statistics, self._kept)
        self.optimizer.zero_grad(set_to_none=True)
        self.network.eval()
        path = self.folder / f"not-finite-update-{self.updates_made + 1}.npz"
        not_finite = save_batch(batch, path)
        figures = ", ".join(f"{name} {float(part.detach()):g}" for name, part in parts.items())
        cause = (
            f"the batch's {' and '.join(not_finite)} are not finite"
            if not_finite
            else "the batch is finite, so lower learner.learning_rate or learner.clip"
        )
        raise TrainingError(
            f"The loss or gradient of update {self.updates_made + 1} is not finite "
            f"({figures}, gradient norm {float(norm):g}): {cause}; the batch is in {path}, and the "
            "weights are unchanged."
        )

    def state_dict(self) -> State:
        """Copies of all arrays, numbers and strings on which the next update depends."""
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
        """Resume from the state of another learner, bit for bit.

        :raises NetworkError: the state is for another game or another network.
        :raises ConfigError: the state is for another optimizer.
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
                f"The learner's state is for the game {header.game}, not "
                f"{self.header.game}: resume it with that game, or begin a new run."
            )
        if optimizer != self.config.optimizer:
            raise ConfigError(
                f"learner.optimizer is {self.config.optimizer!r}, but the saved state is for "
                f"{optimizer!r}: use {optimizer!r}, or begin a new run."
            )


def help_learning(group: Group, threads: int | None = None) -> None:
    """Help the learner of process 0 until it ends the sharing.

    :param threads: PyTorch threads; None: PyTorch's default.
    """
    kind, network, config, device, settings = group.broadcast()
    learner = kind(network, config, device, threads, **settings)
    learner._join(group)
    learner.help_group()


def _named(figures: Mapping[str, float]) -> dict[str, float]:
    """Add the prefix that each name has in the metrics."""
    prefixes = {"gradient_norm": "learner"}
    return {f"{prefixes.get(name, 'loss')}.{name}": value for name, value in figures.items()}


def _priority_update(replay: Examples[AnyBatch]) -> PriorityUpdate | None:
    """The replay's `update_priorities`, if it samples by priority."""
    if isinstance(replay, PrioritisedExamples) and replay.config.prioritised:
        return replay.update_priorities
    return None


def _arrays(network: nn.Module) -> dict[str, NDArray[Any]]:
    """C-contiguous copies of a network's tensors, as files need them."""
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
                f"learner.precision is {name!r}, which needs a GPU: use 'auto' or 'float32'."
            )
        return torch.float32
    if name == "auto":
        name = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    kind: torch.dtype = getattr(torch, name)
    return kind


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Set PyTorch's number of threads, and restore it afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
