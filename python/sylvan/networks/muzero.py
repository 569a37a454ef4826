"""A learned model (MuZero): representation, dynamics and prediction networks.

    representation   observation            → hidden state
    dynamics         hidden state, action   → next hidden state, reward
    prediction       hidden state           → policy, value

Values are for the seat to move, rewards for the seat that made the step; with one number per seat,
the other seats follow in seat order. The networks output numbers in encoded form (see `support`);
`initial_inference` and `recurrent_inference` decode them.

For the consistency loss, a projector and a predictor map hidden states to the space where predicted
and observed states are compared (as in SimSiam, with layer norms, so that examples of a batch are
independent). For the reconstruction loss, a decoder maps a hidden state back to an observation.

Papers: Schrittwieser 2020; Ye 2021 (EfficientZero: consistency); Chen and He 2021 (SimSiam); Anand
2022 (reconstruction).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn

from sylvan.errors import NetworkError
from sylvan.networks.header import NetworkHeader
from sylvan.networks.layers import activation_layer, dense
from sylvan.networks.muzero_mlp import DenseDynamics, DensePrediction, DenseRepresentation
from sylvan.networks.muzero_settings import (
    MuZeroMLPSettings,
    MuZeroSettings,
    MuZeroTowerSettings,
)
from sylvan.networks.muzero_tower import TowerDynamics, TowerPrediction, TowerRepresentation
from sylvan.networks.output import NetworkOutput
from sylvan.networks.support import number_form

__all__ = ["MUZERO", "Inference", "MuZeroNetwork", "learned", "muzero_network"]

MUZERO: dict[str, type[MuZeroSettings]] = {
    "muzero_mlp": MuZeroMLPSettings,
    "muzero_tower": MuZeroTowerSettings,
}
"""Settings of each architecture by name."""


class Inference(NamedTuple):
    """Outputs for a batch of B states, in the order of the published pseudocode."""

    value: torch.Tensor
    """`[B]`, or `[B, S]` with the seat to move first."""
    reward: torch.Tensor
    """`[B]`, or `[B, S]` with the seat that made the step first."""
    policy: torch.Tensor
    """`[B, A]` logits."""
    hidden: torch.Tensor
    """`[B, ...]`."""


class MuZeroNetwork(nn.Module):
    """The three networks and their header."""

    def __init__(self, header: NetworkHeader, settings: MuZeroSettings) -> None:
        super().__init__()
        self.header = header
        self.outputs = settings.outputs
        """Numbers in a value or reward: 1, or one per seat."""
        self.value = number_form(settings.value_kind, settings.support, settings.value_range)
        self.reward = number_form(settings.reward_kind, settings.support)
        sizes = [form.size * settings.outputs for form in (self.value, self.reward)]
        self.representation: DenseRepresentation | TowerRepresentation
        self.dynamics: DenseDynamics | TowerDynamics
        self.prediction: DensePrediction | TowerPrediction
        self.hidden_shape: tuple[int, ...]
        if isinstance(settings, MuZeroMLPSettings):
            self.representation, self.dynamics, self.prediction = _dense(header, sizes, settings)
            self.hidden_shape = (settings.hidden,)
        else:
            assert isinstance(settings, MuZeroTowerSettings)
            self.representation, self.dynamics, self.prediction = _towers(header, sizes, settings)
            self.hidden_shape = self.representation.out_shape
        self.projector, self.predictor = _consistency(math.prod(self.hidden_shape), settings)
        self.decoder = _decoder(header, self.hidden_shape) if settings.reconstruction else None

    def initial_inference(self, observations: torch.Tensor) -> Inference:
        """Evaluate observations `[B, *observation_shape]`; the rewards are zeros."""
        hidden = self.representation(observations)
        policy, value = self.prediction(hidden)
        numbers = self.numbers(self.value.decode(value))
        return Inference(numbers, torch.zeros_like(numbers), policy, hidden)

    def recurrent_inference(self, hidden: torch.Tensor, actions: torch.Tensor) -> Inference:
        """Apply `actions` `[B]` to hidden states `[B, ...]` and evaluate the next states."""
        following, reward = self.dynamics(hidden, actions)
        policy, value = self.prediction(following)
        numbers = self.numbers(self.value.decode(value))
        return Inference(numbers, self.numbers(self.reward.decode(reward)), policy, following)

    def numbers(self, decoded: torch.Tensor) -> torch.Tensor:
        """Values or rewards `[B, outputs]` as a search takes them: `[B]` for one output."""
        return decoded[:, 0] if self.outputs == 1 else decoded

    def projected(self, hidden: torch.Tensor) -> torch.Tensor:
        """Project hidden states `[B, ...]` for the consistency loss, `[B, projection]`."""
        if self.projector is None:
            raise NetworkError(
                "The network has no layers for the consistency loss: build it with consistency."
            )
        projected: torch.Tensor = self.projector(hidden.flatten(1))
        return projected

    def foreseen(self, projected: torch.Tensor) -> torch.Tensor:
        """Predict the observed state's projection from that of a predicted state."""
        assert self.predictor is not None
        predicted: torch.Tensor = self.predictor(projected)
        return predicted

    def shown(self, hidden: torch.Tensor) -> torch.Tensor:
        """Decode hidden states `[B, ...]` to observations `[B, *observation_shape]`."""
        if self.decoder is None:
            raise NetworkError(
                "The network has no layer for the reconstruction loss: build it with "
                "reconstruction."
            )
        decoded: torch.Tensor = self.decoder(hidden)
        return decoded.view(-1, *self.header.observation_shape)

    def forward(self, observations: torch.Tensor) -> NetworkOutput:
        """Policy and value only, with the signature of every network."""
        policy, value = self.prediction(self.representation(observations))
        if self.header.value == "wdl":
            return NetworkOutput(policy, value.flip(1))  # from the order loss, draw, win
        return NetworkOutput(policy, self.value.decode(value))

    @property
    def parameter_count(self) -> int:
        """Number of trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


def learned(network: nn.Module) -> MuZeroNetwork:
    """Check that a module is a learned model.

    :raises NetworkError: it is not.
    """
    if not isinstance(network, MuZeroNetwork):
        raise NetworkError(
            f"{type(network).__name__} is not a learned model: give one from build_muzero."
        )
    return network


def muzero_network(header: NetworkHeader) -> MuZeroNetwork:
    """A new network from its header; weights come from PyTorch's generator.

    :raises NetworkError: the architecture is unknown, or does not fit the game.
    """
    architecture = dict(header.architecture)
    name = str(architecture.pop("name", None))
    if name not in MUZERO:
        raise NetworkError(f"The architecture {name!r} is not one of {', '.join(MUZERO)}.")
    settings = MUZERO[name].read(name, architecture)
    full = {"name": name} | settings.model_dump(mode="json")
    return MuZeroNetwork(header.replace(architecture=full), settings)


def _dense(
    header: NetworkHeader, sizes: list[int], settings: MuZeroMLPSettings
) -> tuple[DenseRepresentation, DenseDynamics, DensePrediction]:
    return (
        DenseRepresentation(header.observation_shape, settings),
        DenseDynamics(header.num_logits, sizes[1], settings),
        DensePrediction(header.num_logits, sizes[0], settings),
    )


def _towers(
    header: NetworkHeader, sizes: list[int], settings: MuZeroTowerSettings
) -> tuple[TowerRepresentation, TowerDynamics, TowerPrediction]:
    representation = TowerRepresentation(header.observation_shape, settings)
    shape = representation.out_shape
    return (
        representation,
        TowerDynamics(header.num_logits, sizes[1], shape, settings),
        TowerPrediction(header, sizes[0], shape, settings),
    )


def _consistency(
    features: int, settings: MuZeroSettings
) -> tuple[nn.Module | None, nn.Module | None]:
    """Projector and predictor; None without the consistency loss."""
    if not settings.consistency:
        return None, None
    width, act = settings.projection, settings.activation
    narrow = max(1, width // 4)
    projector = nn.Sequential(
        dense(features, width), nn.LayerNorm(width), activation_layer(act), dense(width, width)
    )
    predictor = nn.Sequential(
        dense(width, narrow), nn.LayerNorm(narrow), activation_layer(act), dense(narrow, width)
    )
    return projector, predictor


def _decoder(header: NetworkHeader, hidden_shape: tuple[int, ...]) -> nn.Module:
    """One layer from a hidden state to an observation; per square on a board.

    :raises NetworkError: the hidden state is smaller than the image.
    """
    seen = header.observation_shape
    if len(hidden_shape) == 1:
        return dense(hidden_shape[0], math.prod(seen))
    if seen[-2:] != hidden_shape[-2:]:
        raise NetworkError(
            f"A hidden state of {hidden_shape[-2]} by {hidden_shape[-1]} cannot be decoded to an "
            f"image of {seen[-2]} by {seen[-1]}: set reconstruction to 0."
        )
    return nn.Conv2d(hidden_shape[0], math.prod(seen[:-2]), 1)
