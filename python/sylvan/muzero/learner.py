"""The learner of a learned model: `sylvan.learning.learner`, on sequences instead of positions.

Optimizer, schedule, clipping, averaged weights, the check for NaN, precision and state are
inherited; the batches and their loss (`losses`) differ.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import nn

from sylvan.errors import ConfigError, TrainingError
from sylvan.learning.base_learner import BaseLearner
from sylvan.learning.config import LearnerConfig
from sylvan.learning.feed import Sender
from sylvan.learning.graphed import GradientGraph, Gradients
from sylvan.learning.group import Group
from sylvan.muzero.build import consistency_weight
from sylvan.muzero.config import MuZeroConfig
from sylvan.muzero.losses import SequenceTargets, sequence_entropy, unrolled_losses
from sylvan.muzero.sequences import SequenceBatch
from sylvan.networks.header import NetworkHeader
from sylvan.networks.muzero import learned

__all__ = ["MuZeroLearner", "SequenceSender"]


class MuZeroLearner(BaseLearner[SequenceBatch, SequenceTargets]):
    """Trains a learned model; plan with `averaged`.

    :param network: from `build_muzero`.
    :param muzero: number of unrolled steps, and weights of the losses.
    :raises NetworkError: it is another kind of network.
    :raises ConfigError: the network lacks the layers of a loss, or `learner.loss` is set.
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
        network = learned(network)
        if config.loss:
            raise ConfigError(
                "learner.loss is for runs with the game's rules: remove it for a learned model."
            )
        self.muzero = muzero or MuZeroConfig()
        self.consistency = consistency_weight(self.muzero, network.header.num_players)
        if self.consistency and network.projector is None:
            raise ConfigError(
                f"muzero.consistency is {self.consistency:g}, but the network was built without "
                "layers for that loss: set it to 0, or start a new run."
            )
        if self.muzero.reconstruction and network.decoder is None:
            raise ConfigError(
                f"muzero.reconstruction is {self.muzero.reconstruction:g}, but the network was "
                "built without a layer for that loss: set it to 0, or start a new run."
            )
        self.looks_ahead = bool(self.consistency or self.muzero.reconstruction)
        """Whether the losses need the observations of later states."""
        super().__init__(network, config, device, threads, folder)
        self._graph: GradientGraph[SequenceTargets] | None = None
        if self.device.type == "cuda" and not (self._compiles() or self._scaler.is_enabled()):
            self._graph = GradientGraph(self._computed, self._parameters, self._statistics)

    def _settings(self) -> dict[str, Any]:
        return {"muzero": self.muzero}

    def _join(self, group: Group) -> None:
        super()._join(group)
        self._graph = None

    def _compiles(self) -> bool:
        """Only on request: an unrolled network compiles for minutes, and a graph is as fast."""
        return bool(self.config.compile)

    def _gradients(self, observations: torch.Tensor, targets: SequenceTargets) -> Gradients:
        if self._graph is None:
            return super()._gradients(observations, targets)
        return self._graph(observations, targets)

    def _make_sender(self) -> SequenceSender:
        outputs = learned(self.network).outputs
        return SequenceSender(self.header, self.device, outputs, self.looks_ahead)

    def _weight(self, part: str) -> float:
        own = {
            "reward": self.muzero.reward_weight,
            "consistency": self.consistency,
            "reconstruction": self.muzero.reconstruction,
        }
        return own[part] if part in own else self.config.weight(part)

    def _entropy(self, targets: SequenceTargets) -> torch.Tensor:
        return sequence_entropy(targets)

    def _losses(
        self, observations: torch.Tensor, targets: SequenceTargets
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The parts of the loss, and the absolute value error of each first state, `[B]`."""
        with self._precision():
            return unrolled_losses(
                learned(self.network),
                observations,
                targets,
                gradient_scale=self.muzero.gradient_scale,
                consistency=bool(self.consistency),
                reconstruction=bool(self.muzero.reconstruction),
            )


class SequenceSender(Sender[SequenceBatch, SequenceTargets]):
    """Converts a `SequenceBatch` to tensors on a device.

    :param outputs: numbers per value: 1, or one per seat.
    :param following: whether to send later observations too.
    """

    def __init__(
        self, header: NetworkHeader, device: torch.device, outputs: int, following: bool
    ) -> None:
        super().__init__(header, device)
        self.outputs, self.following = outputs, following

    def targets(self, batch: SequenceBatch) -> SequenceTargets:
        """Everything but the first observations.

        :raises TrainingError: the batch is of another game, or lacks later observations.
        """
        self._check(batch)
        following = None
        if self.following:
            assert batch.following is not None
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

    def _policy(self, batch: SequenceBatch) -> torch.Tensor:
        """`[B, K + 1, A]`; sparse policies are expanded on the device."""
        policy = self.sent(batch.policy)
        if batch.policy_actions is None:
            return policy
        actions = self.sent(batch.policy_actions)
        dense = policy.new_zeros(*policy.shape[:2], self.header.num_logits)
        return dense.scatter_add_(2, actions, policy)

    def _check(self, batch: SequenceBatch) -> None:
        examples, steps = batch.actions.shape
        codes = batch.policy_actions
        width = self.header.num_logits if codes is None else codes.shape[-1]
        expected = {
            "policy": (batch.policy, (examples, steps + 1, width)),
            "value": (batch.value, (examples, steps + 1, self.header.num_players)),
            "reward": (batch.reward, (examples, steps + 1, self.header.num_players)),
        }
        for name, (array, shape) in expected.items():
            if array.shape != shape:
                raise TrainingError(
                    f"The replay has a {name} of shape {array.shape} for {steps} steps, but a "
                    f"model of {self.header.game} needs {shape}: train it on its own games."
                )
        if self.following and batch.following is None:
            raise TrainingError(
                "The batch has no later observations, but the losses consistency and "
                "reconstruction need them: create the replay with following=True, or set both to 0."
            )
