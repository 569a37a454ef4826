"""A learned model of residual towers, for boards and images.

    representation   blocks(act(conv(o)));  images first through strided convolutions
    dynamics         blocks(act(conv(s, action planes) + s));  ranks flipped, if `turns`
    prediction       the heads of `heads`

Every hidden state is scaled to [0, 1] (`muzero_mlp.ranged`).

*Turns.* Chess encodes the board from the mover's side, so its ranks flip after each move.
Convolutions cannot move a rank to the other side of the board; an explicit flip at the end of the
step costs nothing.
"""

from __future__ import annotations

import torch
from torch import nn

from sylvan.networks.action_planes import ActionPlanes
from sylvan.networks.header import NetworkHeader
from sylvan.networks.heads import policy_head, reduced
from sylvan.networks.layers import activation_layer, convolution, dense
from sylvan.networks.muzero_mlp import ranged
from sylvan.networks.muzero_settings import MuZeroTowerSettings
from sylvan.networks.tower import ResidualBlock, Tower, as_planes

__all__ = ["TowerDynamics", "TowerPrediction", "TowerRepresentation", "small_board"]

SMALL = 8
"""Halve images until they are at most this large, about the size of a board."""


def small_board(height: int, width: int) -> tuple[int, int]:
    """Height and width of an image after the strided convolutions.

    >>> small_board(96, 96), small_board(210, 160)
    ((6, 6), (7, 5))
    """
    while max(height, width) > SMALL:
        height, width = (height + 1) // 2, (width + 1) // 2
    return height, width


class TowerRepresentation(nn.Module):
    """Boards or images to hidden states `[B, hidden, H, W]`."""

    def __init__(self, observation_shape: tuple[int, ...], settings: MuZeroTowerSettings) -> None:
        super().__init__()
        planes, height, width = as_planes(observation_shape, "a residual tower")
        self.scale = settings.scale
        self.stem: nn.Module = nn.Identity()
        if settings.image:
            self.stem, planes = _strided(planes, height, width, settings), settings.channels
            height, width = small_board(height, width)
        self.tower = Tower((planes, height, width), settings)
        self.out = _hidden_planes(settings)
        self.out_shape = (settings.hidden, height, width)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """`[B, planes, height, width]` or `[B, height, width]` to `[B, hidden, H, W]`."""
        seen = observations if observations.dim() == 4 else observations.unsqueeze(1)
        seen = seen if self.scale == 1.0 else seen / self.scale
        return ranged(self.out(self.tower(self.stem(seen))))


class TowerDynamics(nn.Module):
    """A hidden state and an action to the next hidden state and the reward of the step."""

    def __init__(
        self,
        num_actions: int,
        reward_outputs: int,
        hidden_shape: tuple[int, int, int],
        settings: MuZeroTowerSettings,
    ) -> None:
        super().__init__()
        planes, height, width = hidden_shape
        self.planes = ActionPlanes(settings.actions, num_actions, height, width)
        channels, norm = settings.channels, settings.norm
        self.input = convolution(planes + self.planes.planes, channels, 3, norm, activated=False)
        self.skips, self.turns = planes == channels, settings.turns
        self.activation = activation_layer(settings.activation)
        self.blocks = _blocks(settings.dynamics_blocks or settings.blocks, settings)
        self.out = _hidden_planes(settings)
        self.reward = _Numbers(reward_outputs, hidden_shape, settings)

    def step(self, hidden: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """The next hidden states `[B, hidden, H, W]`."""
        planes = self.input(torch.cat([hidden, self.planes(actions, hidden.dtype)], dim=1))
        mixed = self.activation(planes + hidden if self.skips else planes)
        following = self.out(self.blocks(mixed))
        return ranged(following.flip(2) if self.turns else following)

    def forward(
        self, hidden: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Next hidden states `[B, hidden, H, W]` and encoded rewards `[B, reward_outputs]`."""
        following = self.step(hidden, actions)
        return following, self.reward(following)


class TowerPrediction(nn.Module):
    """A hidden state to policy and value."""

    def __init__(
        self,
        header: NetworkHeader,
        value_outputs: int,
        hidden_shape: tuple[int, int, int],
        settings: MuZeroTowerSettings,
    ) -> None:
        super().__init__()
        self.policy = policy_head(header, hidden_shape, settings, settings.norm)
        self.value = _Numbers(value_outputs, hidden_shape, settings)

    def forward(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits `[B, num_actions]` and the encoded value `[B, value_outputs]`."""
        return self.policy(hidden), self.value(hidden)


class _Numbers(nn.Module):
    """Head for encoded values or rewards: `[B, C, H, W]` to `[B, outputs]`."""

    def __init__(
        self, outputs: int, features: tuple[int, ...], settings: MuZeroTowerSettings
    ) -> None:
        super().__init__()
        self.reduce, width = reduced(features, settings.value_channels, settings, settings.norm)
        self.hidden = dense(width, settings.value_hidden)
        self.activation = activation_layer(settings.activation)
        self.out = dense(settings.value_hidden, outputs, last=True)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """`[B, outputs]`."""
        out: torch.Tensor = self.out(self.activation(self.hidden(self.reduce(features))))
        return out


def _blocks(count: int, settings: MuZeroTowerSettings) -> nn.Sequential:
    fixed = settings.norm == "fixed"
    return nn.Sequential(
        *(
            ResidualBlock(settings, pooling=False, variance=number + 1.0 if fixed else 1.0)
            for number in range(count)
        )
    )


def _hidden_planes(settings: MuZeroTowerSettings) -> nn.Module:
    """A layer from the planes of a tower to the planes of a hidden state."""
    if settings.hidden == settings.channels:
        return nn.Identity()
    return convolution(settings.channels, settings.hidden, 1, settings.norm, activated=False)


def _strided(planes: int, height: int, width: int, settings: MuZeroTowerSettings) -> nn.Sequential:
    """Convolutions of stride 2, until an image is as small as a board.

    The first has half the planes, since the image is large there; a residual block follows each of
    the others.
    """
    layers: list[nn.Module] = []
    while max(height, width) > SMALL:
        channels = settings.channels if layers else max(1, settings.channels // 2)
        conv = convolution(planes, channels, 3, settings.norm)
        assert isinstance(conv[0], nn.Conv2d)
        conv[0].stride = (2, 2)
        follow = _blocks(1, settings) if channels == settings.channels else nn.Identity()
        layers += [conv, activation_layer(settings.activation), follow]
        planes, height, width = channels, (height + 1) // 2, (width + 1) // 2
    if planes != settings.channels:
        conv = convolution(planes, settings.channels, 3, settings.norm)
        layers += [conv, activation_layer(settings.activation)]
    return nn.Sequential(*layers)
