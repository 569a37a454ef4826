"""Heads: policy, value, moves left and auxiliary outputs from a body's features.

Features are planes `[B, C, H, W]` or a vector `[B, D]`; a head accepts both where possible.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from sylvan.errors import NetworkError
from sylvan.games.suit_layout import SuitLayout, layout_of
from sylvan.networks.attention_policy import AttentionPolicy
from sylvan.networks.header import NetworkHeader
from sylvan.networks.layers import Norm, activation_layer, convolution, dense
from sylvan.networks.settings import BodySettings

__all__ = [
    "Auxiliary",
    "BidsAndCards",
    "DensePolicy",
    "Lc0Policy",
    "MovesLeft",
    "PlanePolicy",
    "Value",
    "policy_head",
    "policy_kind",
    "reduced",
]

LC0_PLANES = 80
"""Planes of lc0's convolutional policy; the last seven are padding."""


def policy_kind(header: NetworkHeader, features: tuple[int, ...], settings: BodySettings) -> str:
    """The kind of policy head in the settings; for `auto`, the one that fits."""
    if settings.policy != "auto":
        return settings.policy
    if settings.pooled:
        return "bids_and_cards"
    cells = _cells(features)
    if _codec(header) == "lc0" and cells == 64:
        return "lc0"
    return "planes" if cells and header.num_logits % cells == 0 else "dense"


def policy_head(
    header: NetworkHeader, features: tuple[int, ...], settings: BodySettings, norm: Norm
) -> nn.Module:
    """The policy head of `policy_kind`.

    :raises NetworkError: it cannot have `header.num_logits` outputs.
    """
    kind, cells = policy_kind(header, features, settings), _cells(features)
    if kind == "dense":
        return DensePolicy(header.num_logits, features, settings, norm)
    if kind == "planes":
        if not cells or header.num_logits % cells:
            raise NetworkError(
                f"{header.num_logits} logits do not fill planes of features of shape {features}: "
                "use policy='dense'."
            )
        return PlanePolicy(header.num_logits // cells, features, settings, norm)
    if kind == "bids_and_cards":
        layout = layout_of(header.observation_shape) if settings.pooled else None
        if layout is None or header.num_logits != layout.cards + layout.others:
            raise NetworkError(
                "The policy head 'bids_and_cards' needs the body 'suits' and the actions of its "
                "card game: use policy='auto'."
            )
        return BidsAndCards(features, settings, layout)
    if kind == "attention":
        if _codec(header) != "az73" or cells != 64:
            raise NetworkError(
                "The policy head 'attention' needs the codec az73 and a body that keeps the 8 × 8 "
                "board: use policy='auto'."
            )
        return AttentionPolicy(features, settings)
    if _codec(header) != "lc0" or cells != 64:
        raise NetworkError(
            "The policy head 'lc0' needs the codec lc0 and a body that keeps the 8 × 8 board: use "
            "policy='auto'."
        )
    return Lc0Policy(features, settings, norm)


def _cells(features: tuple[int, ...]) -> int:
    """Number of squares of planes; 0 for a vector."""
    return math.prod(features[1:]) if len(features) == 3 else 0


def _codec(header: NetworkHeader) -> str | None:
    return None if header.encoding is None else header.encoding.codec


class DensePolicy(nn.Module):
    """A dense layer over all features: `[B, C, H, W]` or `[B, D]` to `[B, num_logits]`."""

    def __init__(
        self, num_logits: int, features: tuple[int, ...], settings: BodySettings, norm: Norm
    ) -> None:
        super().__init__()
        self.reduce, width = reduced(features, settings.policy_channels, settings, norm)
        self.logits = dense(width, num_logits, last=True)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits `[B, num_logits]`."""
        logits: torch.Tensor = self.logits(self.reduce(features))
        return logits


class PlanePolicy(nn.Module):
    """Planes over the board, square by square: `[B, C, H, W]` to `[B, H * W * planes]`.

    The logit of plane p on square s has index `planes * s + p`, as in the chess codec `az73`.
    """

    def __init__(
        self, planes: int, features: tuple[int, ...], settings: BodySettings, norm: Norm
    ) -> None:
        super().__init__()
        channels = features[0]
        self.conv = convolution(channels, channels, 3, norm)
        self.activation = activation_layer(settings.activation)
        self.logits = _last_convolution(channels, planes)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits `[B, H * W * planes]`."""
        planes: torch.Tensor = self.logits(self.activation(self.conv(features)))
        return planes.flatten(2).transpose(1, 2).flatten(1)


class Lc0Policy(nn.Module):
    """lc0's convolutional policy: 80 planes; 1858 of their numbers are moves.

    `[B, C, 8, 8]` to `[B, 1858]`.
    """

    gather: torch.Tensor

    def __init__(self, features: tuple[int, ...], settings: BodySettings, norm: Norm) -> None:
        super().__init__()
        from sylvan.networks.lc0.policy import conv_gather

        channels = features[0]
        self.conv = convolution(channels, channels, 3, norm)
        self.activation = activation_layer(settings.activation)
        self.logits = _last_convolution(channels, LC0_PLANES)
        self.register_buffer("gather", torch.from_numpy(conv_gather()), persistent=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits `[B, 1858]`."""
        planes: torch.Tensor = self.logits(self.activation(self.conv(features)))
        return planes.flatten(1).index_select(1, self.gather)


class BidsAndCards(nn.Module):
    """Separate layers for bids and cards: `[B, C, S, 1]`, a vector per suit, to the logits of the
    cards, then of the bids.

    A card's logit comes from its suit's vector, through weights shared by all suits; bids from the
    mean over suits.
    """

    def __init__(
        self, features: tuple[int, ...], settings: BodySettings, layout: SuitLayout
    ) -> None:
        super().__init__()
        width = features[0]
        self.cards = dense(width, layout.ranks, last=True)
        self.hidden = dense(width, settings.value_hidden)
        self.activation = activation_layer(settings.activation)
        self.bids = dense(settings.value_hidden, layout.others, last=True)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits `[B, cards + bids]`."""
        suits = features.flatten(2).transpose(1, 2)
        cards = self.cards(suits).flatten(1)
        bids = self.bids(self.activation(self.hidden(suits.mean(dim=1))))
        return torch.cat([cards, bids], dim=1)


class Mean(nn.Module):
    """The mean over squares: `[B, C, H, W]` to `[B, C]`."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """`[B, C]`."""
        return features.flatten(2).mean(dim=2)


class Value(nn.Module):
    """The value in the format `header.value`: `[B, C, H, W]` or `[B, D]` to `[B, value_outputs]`.

    `wdl` gives logits; `scalar` applies tanh; `seats` is scaled to `settings.value_range`.
    """

    def __init__(
        self, header: NetworkHeader, features: tuple[int, ...], settings: BodySettings, norm: Norm
    ) -> None:
        super().__init__()
        self.kind = header.value
        self.range = settings.value_range if self.kind == "seats" else (-1.0, 1.0)
        self.reduce, width = reduced(features, settings.value_channels, settings, norm)
        self.hidden = dense(width, settings.value_hidden)
        self.activation = activation_layer(settings.activation)
        self.out = dense(settings.value_hidden, header.value_outputs, last=True)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Values `[B, value_outputs]`."""
        out: torch.Tensor = self.out(self.activation(self.hidden(self.reduce(features))))
        if self.kind == "wdl" or self.range is None:
            return out
        low, high = self.range
        if (low, high) == (-1.0, 1.0):
            return torch.tanh(out)
        return torch.tanh(out) * ((high - low) / 2) + (high + low) / 2


class MovesLeft(nn.Module):
    """Plies until the end, never negative: `[B, C, H, W]` or `[B, D]` to `[B, 1]`."""

    def __init__(self, features: tuple[int, ...], settings: BodySettings, norm: Norm) -> None:
        super().__init__()
        self.reduce, width = reduced(features, settings.moves_left_channels, settings, norm)
        self.hidden = dense(width, settings.moves_left_hidden)
        self.activation = activation_layer(settings.activation)
        self.out = dense(settings.moves_left_hidden, 1, last=True)
        nn.init.ones_(self.out.bias)  # positive, so that the last ReLU has a gradient

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Plies `[B, 1]`."""
        return torch.relu(self.out(self.activation(self.hidden(self.reduce(features)))))


class Auxiliary(nn.Module):
    """Unbounded numbers, for an auxiliary target of the game: `[B, C, H, W]` or `[B, D]` to
    `[B, outputs]`.
    """

    def __init__(
        self, outputs: int, features: tuple[int, ...], settings: BodySettings, norm: Norm
    ) -> None:
        super().__init__()
        self.reduce, width = reduced(features, settings.value_channels, settings, norm)
        self.out = dense(width, outputs, last=True)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """`[B, outputs]`."""
        out: torch.Tensor = self.out(self.reduce(features))
        return out


def reduced(
    features: tuple[int, ...], channels: int, settings: BodySettings, norm: Norm
) -> tuple[nn.Module, int]:
    """A module from features to a vector, and the vector's length.

    Planes are reduced to `channels` by a 1 × 1 convolution.
    """
    if len(features) == 1:
        return nn.Identity(), features[0]
    if settings.pooled:
        return Mean(), features[0]
    layers = (
        convolution(features[0], channels, 1, norm),
        activation_layer(settings.activation),
        nn.Flatten(),
    )
    return nn.Sequential(*layers), channels * math.prod(features[1:])


def _last_convolution(channels: int, planes: int) -> nn.Conv2d:
    """A 3 × 3 convolution with small initial weights, so that a new policy is nearly uniform."""
    conv = nn.Conv2d(channels, planes, 3, padding=1)
    nn.init.normal_(conv.weight, std=0.1 / (9 * channels) ** 0.5)
    assert conv.bias is not None
    nn.init.zeros_(conv.bias)
    return conv
