"""The learner of a learned model: that of `sylvan.learning`, on sequences instead of positions.

Optimizer, schedule, clipping, averaged weights, the stop at numbers that are none, precision and
state are the same; what a batch is and what its loss is (`losses`) are not.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import nn

from sylvan.errors import ConfigError, NetworkError, TrainingError
from sylvan.learning.feed import Sender
from sylvan.learning.graphed import GradientGraph, Gradients
from sylvan.learning.learner import Learner, LearnerConfig
from sylvan.muzero.build import consistency_weight
from sylvan.muzero.config import MuZeroConfig
from sylvan.muzero.losses import SequenceTargets, sequence_entropy, unrolled_losses
from sylvan.networks.header import NetworkHeader
from sylvan.networks.muzero import MuZeroNetwork

__all__ = ["MuZeroLearner", "SequenceSender"]


class MuZeroLearner(Learner):
    """Trains a learned model; `averaged` is the one to plan with.

    :param network: what `build_muzero` made.
    :param muzero: how far it is unrolled and what its parts count.
    :raises NetworkError: it is another kind of network.
    :raises ConfigError: the settings ask for a loss that it has no layers for, or for one's own.
    """

    def __init__(
        self,
        network: nn.Module,
        config: LearnerConfig,
        device: str = "auto",
        threads: int | None = None,
        folder: str | PathLike[str] = ".",
        *,
        muzero: MuZeroConfig | None = None,
    ) -> None:
        if not isinstance(network, MuZeroNetwork):
            raise NetworkError(
                f"{type(network).__name__} is no learned model: give what build_muzero made."
            )
        if config.loss:
            raise ConfigError(
                "learner.loss is for networks that know the rules: leave it out for a learned "
                "model."
            )
        self.muzero = muzero or MuZeroConfig()
        self.consistency = consistency_weight(self.muzero, network.header.num_players)
        if self.consistency and network.projector is None:
            raise ConfigError(
                f"muzero.consistency is {self.consistency:g}, but the network was built without "
                "layers for that loss: set it to 0, or begin a new run."
            )
        if self.muzero.reconstruction and network.decoder is None:
            raise ConfigError(
                f"muzero.reconstruction is {self.muzero.reconstruction:g}, but the network was "
                "built without a layer for that loss: set it to 0, or begin a new run."
            )
        self.looks_ahead = bool(self.consistency or self.muzero.reconstruction)
        """Whether the losses compare with what is seen later."""
        super().__init__(network, config, device, threads, folder)
        self._graph: GradientGraph | None = None
        if self.device.type == "cuda" and not (self._compiles() or self._scaler.is_enabled()):
            self._graph = GradientGraph(self._computed, self._parameters, self._statistics)

    def _compiles(self) -> bool:
        """Only if asked: an unrolled network takes minutes to compile, and a graph does as much."""
        return bool(self.config.compile)

    def _gradients(self, observations: torch.Tensor, targets: Any) -> Gradients:
        if self._graph is None:
            return super()._gradients(observations, targets)
        return self._graph(observations, targets)

    def _make_sender(self) -> Sender:
        return SequenceSender(self.header, self.device, self.network.outputs, self.looks_ahead)

    def _weight(self, part: str) -> float:
        own = {
            "reward": self.muzero.reward_weight,
            "consistency": self.consistency,
            "reconstruction": self.muzero.reconstruction,
        }
        return own[part] if part in own else self.config.weight(part)

    def _entropy(self, targets: Any) -> torch.Tensor:
        return sequence_entropy(targets)

    def _losses(
        self, observations: torch.Tensor, targets: Any
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The parts of the loss, and how far off the value of each first state was, `[B]`."""
        with self._precision():
            return unrolled_losses(
                self.network,
                observations,
                targets,
                gradient_scale=self.muzero.gradient_scale,
                consistency=bool(self.consistency),
                reconstruction=bool(self.muzero.reconstruction),
            )


class SequenceSender(Sender):
    """Makes tensors on a device of a `SequenceBatch`.

    :param outputs: numbers in the network's values: 1, or one per seat.
    :param following: whether later observations are needed too.
    """

    def __init__(
        self, header: NetworkHeader, device: torch.device, outputs: int, following: bool
    ) -> None:
        super().__init__(header, device)
        self.outputs, self.following = outputs, following

    def targets(self, batch: Any) -> SequenceTargets:
        """Everything but the first observations.

        :raises TrainingError: the batch is of another game, or lacks what the losses need.
        """
        self._check(batch)
        following = None
        if self.following:
            by_step = np.swapaxes(batch.following, 0, 1)
            following = self.observations(by_step.reshape(-1, *by_step.shape[2:]))
        return SequenceTargets(
            actions=self.sent(batch.actions),
            value=self.sent(batch.value[..., : self.outputs]),
            reward=self.sent(batch.reward[..., : self.outputs]),
            policy=self._policy(batch),
            policy_weight=self.sent(batch.policy_weight),
            known=self.sent(batch.known.astype(np.float32)),
            alive=self.sent(batch.alive.astype(np.float32)),
            weight=self.sent(batch.weight),
            following=following,
        )

    def _policy(self, batch: Any) -> torch.Tensor:
        """`[B, K + 1, A]`; where a batch names its actions, spread out over there."""
        policy = self.sent(batch.policy)
        if batch.policy_actions is None:
            return policy
        actions = self.sent(batch.policy_actions)
        spread = policy.new_zeros(*policy.shape[:2], self.header.num_logits)
        return spread.scatter_add_(2, actions, policy)

    def _check(self, batch: Any) -> None:
        examples, steps = batch.actions.shape
        codes = batch.policy_actions
        width = self.header.num_logits if codes is None else codes.shape[-1]
        wanted = {
            "policy": (examples, steps + 1, width),
            "value": (examples, steps + 1, self.header.num_players),
            "reward": (examples, steps + 1, self.header.num_players),
        }
        for name, shape in wanted.items():
            found = getattr(batch, name).shape
            if found != shape:
                raise TrainingError(
                    f"The replay has a {name} of shape {found} for {steps} steps, but a model of "
                    f"{self.header.game} needs {shape}: train it on its own games."
                )
        if self.following and batch.following is None:
            raise TrainingError(
                "The losses consistency and reconstruction compare with later observations, which "
                "the batch has not: make the replay with following=True, or set both to 0."
            )
