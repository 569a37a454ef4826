"""A multi-layer perceptron, for vectors and small boards."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from pydantic import Field
from torch import nn

from sylvan.networks.layers import activation_layer, dense
from sylvan.networks.settings import BodySettings, Count

__all__ = ["MLP", "MLPSettings"]


class MLPSettings(BodySettings):
    """Settings of an MLP; `mlp2x256` has two hidden layers of 256 units."""

    layers: Count = Field(2, description="hidden layers")
    width: Count = Field(256, description="units per layer")
    norm: bool = Field(False, description="layer normalisation before each activation")


class MLP(nn.Module):
    """Observations of any shape, flattened: `[B, *observation_shape]` to `[B, width]`."""

    def __init__(self, observation_shape: tuple[int, ...], settings: MLPSettings) -> None:
        super().__init__()
        self.out_shape = (settings.width,)
        widths = [math.prod(observation_shape)] + [settings.width] * settings.layers
        layers: list[nn.Module] = [nn.Flatten()]
        for inputs, outputs in pairwise(widths):
            layers.append(dense(inputs, outputs))
            if settings.norm:
                layers.append(nn.LayerNorm(outputs))
            layers.append(activation_layer(settings.activation))
        self.layers = nn.Sequential(*layers)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """`[B, *observation_shape]` to features `[B, width]`."""
        features: torch.Tensor = self.layers(observations)
        return features
