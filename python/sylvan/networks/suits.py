"""A network for card games that is equivariant under permutations of the suits.

Many card games stay the same when suits are renamed. Each suit has a token with its cells of the
observation (in Blob: the cards in the own hand, unseen, on the table and played by each seat, seats
without this suit, trump, led suit), through weights shared by all suits, plus all other cells, the
features of the table (bids, tricks, sizes). `sylvan.games.suit_layout` says which cells are whose:

    t_s = W · suit_s + G · table                                  for each suit s
    block:  t_s = t_s + V · relu(A · norm(t_s) + M · mean over suits of norm(t) + b)

Permuting the suits permutes the logits of the cards; bids and values do not change. In Blob one
network serves 3 to 8 players and 1 to 13 cards; empty seats are zeros.

Paper: Zaheer 2017 (deep sets).
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field
from torch import nn

from sylvan.errors import NetworkError
from sylvan.games.suit_layout import LAYOUTS, layout_of
from sylvan.networks.layers import activation_layer, dense
from sylvan.networks.settings import BodySettings, Count

__all__ = ["Suits", "SuitsSettings"]


class SuitsSettings(BodySettings):
    """Settings of a network for cards; `suits3x256` has three blocks of width 256."""

    pooled: ClassVar[bool] = True

    blocks: Count = Field(3, description="residual blocks")
    width: Count = Field(256, description="features per suit")


class SuitsBlock(nn.Module):
    """A residual block on each suit and the mean over suits: `[B, S, width]` to the same."""

    def __init__(self, settings: SuitsSettings) -> None:
        super().__init__()
        width = settings.width
        self.norm = nn.LayerNorm(width)
        self.own, self.all = dense(width, width), nn.Linear(width, width, bias=False)
        self.activation = activation_layer(settings.activation)
        self.out = dense(width, width, last=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """`[B, S, width]` to the same."""
        normal = self.norm(tokens)
        hidden = self.own(normal) + self.all(normal.mean(dim=1, keepdim=True))
        out: torch.Tensor = tokens + self.out(self.activation(hidden))
        return out


class Suits(nn.Module):
    """An observation `[B, cells]` to a vector per suit, as planes `[B, width, S, 1]`."""

    suit_cells: torch.Tensor
    table_cells: torch.Tensor

    def __init__(self, observation_shape: tuple[int, ...], settings: SuitsSettings) -> None:
        super().__init__()
        layout = layout_of(observation_shape)
        if layout is None:
            known = ", ".join(str(each.size) for each in LAYOUTS)
            raise NetworkError(
                "The architecture 'suits' needs the observations of a card game such as Blob, "
                f"{known} numbers, not {observation_shape}: use an MLP, 'mlp3x256'."
            )
        self.layout = layout
        self.out_shape = (settings.width, layout.suits, 1)
        by_suit, table = layout.by_suit, layout.table
        self.register_buffer("suit_cells", torch.tensor(by_suit).flatten(), persistent=False)
        self.register_buffer("table_cells", torch.tensor(table), persistent=False)
        self.suit = dense(len(by_suit[0]), settings.width)
        self.table = nn.Linear(len(table), settings.width, bias=False)
        self.blocks = nn.Sequential(*(SuitsBlock(settings) for _ in range(settings.blocks)))
        self.norm = nn.LayerNorm(settings.width)
        self.activation = activation_layer(settings.activation)

    @torch.no_grad()
    def see_hands(self) -> None:
        """Add all hands to the input, `[B, cells + seats * cards]`, with weights 0 at first."""
        layout = self.layout
        hands = layout.size + torch.arange(layout.seats * layout.cards)
        by_suit = hands.reshape(layout.seats, layout.suits, layout.ranks).transpose(0, 1).flatten(1)
        cells = [self.suit_cells.reshape(layout.suits, -1), by_suit.to(self.suit_cells.device)]
        self.suit_cells = torch.cat(cells, dim=1).flatten()
        weight = self.suit.weight
        more = weight.new_zeros(len(weight), layout.seats * layout.ranks)
        self.suit.weight = nn.Parameter(torch.cat([weight, more], dim=1))
        self.suit.in_features += layout.seats * layout.ranks

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """`[B, cells]` to `[B, width, S, 1]`."""
        suits = observations.index_select(1, self.suit_cells).reshape(
            -1, self.layout.suits, self.suit.in_features
        )
        table = observations.index_select(1, self.table_cells)
        tokens = self.suit(suits) + self.table(table).unsqueeze(1)
        features = self.activation(self.norm(self.blocks(tokens)))
        planes: torch.Tensor = features.transpose(1, 2).unsqueeze(3)
        return planes
