"""A transformer whose tokens are the squares of a board.

    x = embed(square's planes) + position
    layer:  x = x + attention(norm(x));  x = x + feed_forward(norm(x))

Attention adds a learned bias per head and pair of squares: on a fixed board, the relation between
squares depends mostly on their positions.

A vector becomes one token per number, a matrix one token per row.

Papers: Vaswani 2017; Xiong 2020 (pre-norm); Monroe and Chalmers 2024 (squares as
tokens, biases between squares, in chess).
"""

from __future__ import annotations

import torch
from pydantic import Field
from torch import nn
from torch.nn import functional

from sylvan.errors import NetworkError
from sylvan.networks.layers import activation_layer
from sylvan.networks.settings import BodySettings, Count

__all__ = ["Transformer", "TransformerLayer", "TransformerSettings"]


class TransformerSettings(BodySettings):
    """Settings of a transformer; `t4x128` has four layers of width 128."""

    layers: Count = Field(4, description="layers of attention and feed-forward")
    width: Count = Field(128, description="features per square")
    heads: Count = Field(4, description="attention heads; the width is split between them")
    feed_forward: Count = Field(256, description="width of the hidden feed-forward layer")


class TransformerLayer(nn.Module):
    """Attention between squares, then a feed-forward layer per square: `[B, T, D]` to the same."""

    def __init__(self, tokens: int, settings: TransformerSettings) -> None:
        super().__init__()
        width = settings.width
        self.heads = settings.heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.bias = nn.Parameter(torch.zeros(settings.heads, tokens, tokens))
        self.out = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, settings.feed_forward),
            activation_layer(settings.activation),
            nn.Linear(settings.feed_forward, width),
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """`[B, T, D]` to the same."""
        tokens = tokens + self.attention(self.norm1(tokens))
        out: torch.Tensor = tokens + self.feed_forward(self.norm2(tokens))
        return out

    def attention(self, tokens: torch.Tensor) -> torch.Tensor:
        """softmax(q·k / √d + bias) · v per head, mixed: `[B, T, D]`."""
        count, width = tokens.shape[1], tokens.shape[2]
        split = self.qkv(tokens).view(-1, count, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4).unbind(0)  # each [B, heads, T, d]
        mixed = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=self.bias.to(queries.dtype)
        )
        out: torch.Tensor = self.out(mixed.transpose(1, 2).reshape(-1, count, width))
        return out


class Transformer(nn.Module):
    """Squares as tokens: `[B, planes, H, W]` to `[B, width, H, W]`.

    For a vector `[B, n]` or a matrix `[B, n, f]` the features are `[B, width, n, 1]`.
    """

    def __init__(self, observation_shape: tuple[int, ...], settings: TransformerSettings) -> None:
        super().__init__()
        if settings.width % settings.heads:
            raise NetworkError(
                f"A width of {settings.width} cannot be split into {settings.heads} heads: choose "
                "a multiple."
            )
        features, height, width = _tokens(observation_shape)
        self.out_shape = (settings.width, height, width)
        self.planes = len(observation_shape) == 3
        self.embed = nn.Linear(features, settings.width)
        self.position = nn.Parameter(torch.zeros(height * width, settings.width))
        nn.init.normal_(self.position, std=0.02)
        self.layers = nn.Sequential(
            *(TransformerLayer(height * width, settings) for _ in range(settings.layers))
        )
        self.norm = nn.LayerNorm(settings.width)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """`[B, *observation_shape]` to features `[B, width, H, W]`."""
        tokens = observations.flatten(2).transpose(1, 2) if self.planes else observations
        if tokens.dim() == 2:
            tokens = tokens.unsqueeze(2)
        out: torch.Tensor = self.norm(self.layers(self.embed(tokens) + self.position))
        return out.transpose(1, 2).reshape(-1, *self.out_shape)


def _tokens(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Features per token, and height and width of the board of tokens."""
    if len(shape) == 3:
        return shape
    if len(shape) == 2:
        return shape[1], shape[0], 1
    if len(shape) == 1:
        return 1, shape[0], 1
    raise NetworkError(
        f"Observations of shape {shape} have more than three dimensions: a transformer takes a "
        "vector, a matrix or (planes, height, width)."
    )
