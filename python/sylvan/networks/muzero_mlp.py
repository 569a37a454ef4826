"""A learned model of dense layers, for vectors and small boards.

    representation   x = act(norm(W o));  s = ranged(V x);  a vector o first through `in_many_units`
    dynamics         x = act(norm(W s + E[a]));  s' = ranged(s + V x);  reward from s'
    prediction       x = act(norm(W s));  policy and value from x

`W s + E[a]` is a dense layer over the state and the one-hot action, without multiplications by
zero. The step is residual, so that small changes are easy to learn.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from sylvan.networks.layers import activation_layer, dense
from sylvan.networks.muzero_settings import MuZeroMLPSettings

__all__ = ["DenseDynamics", "DensePrediction", "DenseRepresentation", "in_many_units", "ranged"]


SCALES = (1.0, 4.0, 16.0)
"""Scales of the inputs to tanh."""


def ranged(hidden: torch.Tensor) -> torch.Tensor:
    """Hidden states `[B, ...]`, each scaled to the range 0 to 1 (min-max normalisation).

    Keeps repeated steps from growing or vanishing.
    """
    flat = hidden.flatten(1)
    low, high = flat.amin(dim=1, keepdim=True), flat.amax(dim=1, keepdim=True)
    return ((flat - low) / (high - low + 1e-5)).view_as(hidden)


def in_many_units(numbers: torch.Tensor) -> torch.Tensor:
    """Numbers `[B, n]` of unknown units, as `[B, n * (1 + len(SCALES))]` between about -7 and 7.

    Each number becomes its signed logarithm, which resolves large numbers, and tanh at several
    scales, which resolve small ones.
    """
    logs = torch.sign(numbers) * torch.log1p(numbers.abs())
    return torch.cat([logs, *(torch.tanh(numbers * scale) for scale in SCALES)], dim=1)


class DenseRepresentation(nn.Module):
    """Observations of any shape, flattened, to hidden states `[B, hidden]`."""

    def __init__(self, observation_shape: tuple[int, ...], settings: MuZeroMLPSettings) -> None:
        super().__init__()
        self.scale = settings.scale
        self.is_vector = len(observation_shape) == 1
        numbers = math.prod(observation_shape) * (1 + len(SCALES) if self.is_vector else 1)
        self.layers = _layers(numbers, settings.layers, settings)
        if self.is_vector:
            # Without a bias, the layer norm would give a state and its double the same output.
            nn.init.uniform_(self.layers[0].bias, -1.0, 1.0)  # type: ignore[arg-type]

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """`[B, *observation_shape]` to `[B, hidden]`."""
        seen = observations.flatten(1)
        if self.scale != 1.0:
            seen = seen / self.scale
        return ranged(self.layers(in_many_units(seen) if self.is_vector else seen))


class DenseDynamics(nn.Module):
    """A hidden state and an action to the next hidden state and the reward of the step."""

    def __init__(self, num_actions: int, reward_outputs: int, settings: MuZeroMLPSettings) -> None:
        super().__init__()
        self.state = dense(settings.hidden, settings.width)
        self.action = nn.Embedding(num_actions, settings.width)
        self.norm = nn.LayerNorm(settings.width)
        self.activation = activation_layer(settings.activation)
        self.layers = _layers(settings.width, max(1, settings.layers - 1), settings)
        narrow = max(1, settings.width // 2)
        self.reward = nn.Sequential(
            dense(settings.hidden, narrow),
            nn.LayerNorm(narrow),
            activation_layer(settings.activation),
            dense(narrow, reward_outputs, last=True),
        )

    def step(self, hidden: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """The next hidden states `[B, hidden]`."""
        mixed = self.activation(self.norm(self.state(hidden) + self.action(actions)))
        return ranged(hidden + self.layers(mixed))

    def forward(
        self, hidden: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Next hidden states `[B, hidden]` and encoded rewards `[B, reward_outputs]`."""
        following = self.step(hidden, actions)
        return following, self.reward(following)


class DensePrediction(nn.Module):
    """A hidden state to policy and value."""

    def __init__(self, num_actions: int, value_outputs: int, settings: MuZeroMLPSettings) -> None:
        super().__init__()
        self.sizes = [num_actions, value_outputs]
        self.body = nn.Sequential(
            dense(settings.hidden, settings.width),
            nn.LayerNorm(settings.width),
            activation_layer(settings.activation),
        )
        self.out = dense(settings.width, sum(self.sizes), last=True)

    def forward(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits `[B, num_actions]` and the encoded value `[B, value_outputs]`."""
        policy, value = self.out(self.body(hidden)).split(self.sizes, dim=1)
        return policy, value


def _layers(inputs: int, count: int, settings: MuZeroMLPSettings) -> nn.Sequential:
    """`count` dense layers; the last gives a hidden state, without norm and activation."""
    layers: list[nn.Module] = []
    for _ in range(count - 1):
        layers += [
            dense(inputs, settings.width),
            nn.LayerNorm(settings.width),
            activation_layer(settings.activation),
        ]
        inputs = settings.width
    return nn.Sequential(*layers, dense(inputs, settings.hidden))
