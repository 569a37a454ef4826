"""A residual tower: the convolutional body of AlphaZero, lc0 and KataGo.

    x = act(conv(observations))
    block:  y = act(conv1(x));  y = conv2(y);  y = squeeze_excite(y);  x = act(y + x)

*Squeeze and excitation* (as in lc0) computes a scale and a shift per plane from the means of all
planes. *Global pooling* (as in KataGo) adds to some blocks a bias per plane, computed from means
and maxima of other planes. Both pass information across the whole board.

Papers: He 2015; Hu 2017 (squeeze and excitation); Wu 2019 (global pooling, section 3.3).
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import nn

from sylvan.errors import NetworkError
from sylvan.networks.layers import Norm, activation_layer, convolution
from sylvan.networks.settings import Activation, BodySettings, Count

__all__ = ["GlobalPooling", "ResidualBlock", "SqueezeExcitation", "Tower", "TowerSettings"]


class TowerSettings(BodySettings):
    """Settings of a residual tower; `6x64` has six blocks of 64 channels."""

    blocks: Count = Field(6, description="residual blocks of two convolutions")
    channels: Count = Field(64, description="planes of each layer")
    squeeze: int = Field(
        8, ge=0, le=65536, description="units of squeeze and excitation in each block; 0: none"
    )
    pooling_every: int = Field(
        0, ge=0, le=65536, description="every n-th block has global pooling; 0: none"
    )
    pooling_channels: Count = Field(16, description="planes to pool")
    norm: Norm = Field("batch", description="batch norm, fixed variance, or folded")


class SqueezeExcitation(nn.Module):
    """A scale and a shift per plane, from the means of all planes: `[B, C, H, W]` to the same."""

    def __init__(self, channels: int, squeeze: int, activation: Activation) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, squeeze)
        self.activation = activation_layer(activation)
        self.excite = nn.Linear(squeeze, 2 * channels)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """Planes times sigmoid(scale), plus shift: `[B, C, H, W]`."""
        means = planes.mean(dim=(2, 3))
        excited: torch.Tensor = self.excite(self.activation(self.squeeze(means)))
        scale, shift = excited[:, :, None, None].chunk(2, dim=1)
        return planes * torch.sigmoid(scale) + shift


class GlobalPooling(nn.Module):
    """A bias per plane, from means and maxima of other planes: `[B, C, H, W]` to `[B, C, 1, 1]`."""

    def __init__(self, channels: int, pooled: int, norm: Norm, activation: Activation) -> None:
        super().__init__()
        self.pooled = convolution(channels, pooled, 3, norm)
        self.activation = activation_layer(activation)
        self.bias = nn.Linear(2 * pooled, channels)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """The bias of each plane, `[B, C, 1, 1]`."""
        pooled = self.activation(self.pooled(planes))
        features = torch.cat([pooled.mean(dim=(2, 3)), pooled.amax(dim=(2, 3))], dim=1)
        bias: torch.Tensor = self.bias(features)
        return bias[:, :, None, None]


class ResidualBlock(nn.Module):
    """Two convolutions and a skip connection: `[B, C, H, W]` to the same.

    `variance` is the expected variance of the input; 1 with batch norm.
    """

    def __init__(self, settings: TowerSettings, *, pooling: bool, variance: float) -> None:
        super().__init__()
        channels, norm, act = settings.channels, settings.norm, settings.activation
        self.scale = variance**-0.5
        self.conv1 = convolution(channels, channels, 3, norm)
        self.conv2 = convolution(channels, channels, 3, norm, activated=False)
        self.pooling = (
            GlobalPooling(channels, settings.pooling_channels, norm, act) if pooling else None
        )
        self.se = SqueezeExcitation(channels, settings.squeeze, act) if settings.squeeze else None
        self.activation = activation_layer(act)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """`[B, C, H, W]` to the same."""
        branch = planes if self.scale == 1.0 else planes * self.scale
        hidden = self.conv1(branch)
        if self.pooling is not None:
            hidden = hidden + self.pooling(branch)
        branch = self.conv2(self.activation(hidden))
        if self.se is not None:
            branch = self.se(branch)
        out: torch.Tensor = self.activation(branch + planes)
        return out


class Tower(nn.Module):
    """A convolution and blocks: `[B, planes, H, W]` to `[B, channels, H, W]`.

    A two-dimensional observation is one plane.
    """

    def __init__(self, observation_shape: tuple[int, ...], settings: TowerSettings) -> None:
        super().__init__()
        planes, height, width = as_planes(observation_shape, "a residual tower")
        self.out_shape = (settings.channels, height, width)
        self.input = convolution(planes, settings.channels, 3, settings.norm)
        self.activation = activation_layer(settings.activation)
        every, fixed = settings.pooling_every, settings.norm == "fixed"
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(
                    settings,
                    pooling=every > 0 and (number + 1) % every == 0,
                    variance=number + 1.0 if fixed else 1.0,
                )
                for number in range(settings.blocks)
            )
        )
        self.scale = (settings.blocks + 1.0) ** -0.5 if fixed else 1.0

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """`[B, planes, H, W]` to features `[B, channels, H, W]`."""
        if observations.dim() == 3:
            observations = observations.unsqueeze(1)
        planes: torch.Tensor = self.blocks(self.activation(self.input(observations)))
        return planes if self.scale == 1.0 else planes * self.scale


def as_planes(shape: tuple[int, ...], body: str) -> tuple[int, int, int]:
    """Planes, height and width of observations that are boards.

    :raises NetworkError: the shape does not have two or three dimensions.
    """
    if len(shape) == 2:
        return (1, *shape)
    if len(shape) != 3:
        raise NetworkError(
            f"Observations of shape {shape} are not a board: {body} needs (planes, height, width); "
            "use an MLP such as 'mlp2x256'."
        )
    return shape
