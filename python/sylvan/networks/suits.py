"""A network for cards that is equivariant under permutations of the suits.

Blob stays the same game when suits are renamed. Each suit has a token with its cards (own hand,
unseen, on the table, played by each seat, seats without this suit, trump, led suit), through
weights shared by all suits, plus the features of the table (bids, tricks, sizes):

    t_s = W · suit_s + G · table                                  for each suit s
    block:  t_s = t_s + V · relu(A · norm(t_s) + M · mean over suits of norm(t) + b)

Permuting the suits permutes the logits of the cards; bids and values do not change. One network
serves 3 to 8 players and 1 to 13 cards; empty seats are zeros.

Paper: Zaheer 2017 (deep sets).
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field
from torch import nn

from sylvan.errors import NetworkError
from sylvan.networks.layers import activation_layer, dense
from sylvan.networks.settings import BodySettings, Count

__all__ = ["BIDS", "CARDS", "SEATS", "Suits", "SuitsSettings"]

SEATS, CARDS, BIDS, SUITS, RANKS = 8, 52, 14, 4, 13
_HEAD = 3 * CARDS + 5 + 4 + 2 + 3 * 14 + 9
_BLOCK = 2 * CARDS + 2 * 14 + 4 + 4
OBSERVATION = _HEAD + SEATS * _BLOCK
"""Length of an observation of Blob; `crates/sylvan-games/src/blob/encoding.rs` has the order."""


class SuitsSettings(BodySettings):
    """Settings of a network for cards; `suits3x256` has three blocks of width 256."""

    pooled: ClassVar[bool] = True

    blocks: Count = Field(3, description="residual blocks")
    width: Count = Field(256, description="features per suit")


class SuitsBlock(nn.Module):
    """A residual block on each suit and the mean over suits: `[B, 4, width]` to the same."""

    def __init__(self, settings: SuitsSettings) -> None:
        super().__init__()
        width = settings.width
        self.norm = nn.LayerNorm(width)
        self.own, self.all = dense(width, width), nn.Linear(width, width, bias=False)
        self.activation = activation_layer(settings.activation)
        self.out = dense(width, width, last=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """`[B, 4, width]` to the same."""
        normal = self.norm(tokens)
        hidden = self.own(normal) + self.all(normal.mean(dim=1, keepdim=True))
        out: torch.Tensor = tokens + self.out(self.activation(hidden))
        return out


class Suits(nn.Module):
    """An observation of Blob, `[B, 1338]`, to a vector per suit, as planes `[B, width, 4, 1]`."""

    suit_cells: torch.Tensor
    table_cells: torch.Tensor

    def __init__(self, observation_shape: tuple[int, ...], settings: SuitsSettings) -> None:
        super().__init__()
        if observation_shape != (OBSERVATION,):
            raise NetworkError(
                f"The architecture 'suits' needs observations of Blob, {OBSERVATION} numbers, not "
                f"{observation_shape}: use an MLP, 'mlp3x256'."
            )
        self.out_shape = (settings.width, SUITS, 1)
        by_suit, table = _cells()
        self.register_buffer("suit_cells", torch.tensor(by_suit).flatten(), persistent=False)
        self.register_buffer("table_cells", torch.tensor(table), persistent=False)
        self.suit = dense(len(by_suit[0]), settings.width)
        self.table = nn.Linear(len(table), settings.width, bias=False)
        self.blocks = nn.Sequential(*(SuitsBlock(settings) for _ in range(settings.blocks)))
        self.norm = nn.LayerNorm(settings.width)
        self.activation = activation_layer(settings.activation)

    @torch.no_grad()
    def see_hands(self) -> None:
        """Add all hands to the input, `[B, 1338 + 8 * 52]`; the new weights are 0 at first."""
        begins = range(OBSERVATION, OBSERVATION + SEATS * CARDS, CARDS)
        cards = torch.tensor([[begin + card for card in range(CARDS)] for begin in begins])
        by_suit = cards.reshape(SEATS, SUITS, RANKS).transpose(0, 1).flatten(1)
        cells = [self.suit_cells.reshape(SUITS, -1), by_suit.to(self.suit_cells.device)]
        self.suit_cells = torch.cat(cells, dim=1).flatten()
        weight = self.suit.weight
        more = weight.new_zeros(len(weight), SEATS * RANKS)
        self.suit.weight = nn.Parameter(torch.cat([weight, more], dim=1))
        self.suit.in_features += SEATS * RANKS

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """`[B, 1338]` to `[B, width, 4, 1]`."""
        suits = observations.index_select(1, self.suit_cells).reshape(
            -1, SUITS, self.suit.in_features
        )
        table = observations.index_select(1, self.table_cells)
        tokens = self.suit(suits) + self.table(table).unsqueeze(1)
        features = self.activation(self.norm(self.blocks(tokens)))
        planes: torch.Tensor = features.transpose(1, 2).unsqueeze(3)
        return planes


def _cells() -> tuple[list[list[int]], list[int]]:
    """The observation's indices of each suit, in the same order, and all other indices."""
    by_suit: list[list[int]] = [[] for _ in range(SUITS)]

    def cards(begin: int) -> None:
        for suit, own in enumerate(by_suit):
            own += range(begin + RANKS * suit, begin + RANKS * (suit + 1))

    def flags(begin: int) -> None:
        for suit, own in enumerate(by_suit):
            own.append(begin + suit)

    for begin in (0, CARDS, 2 * CARDS):  # own hand, unseen, turned up
        cards(begin)
    flags(3 * CARDS)  # trump; the fifth cell means no trump
    flags(3 * CARDS + 5)  # led
    for seat in range(SEATS):
        begin = _HEAD + seat * _BLOCK
        cards(begin)  # played before
        cards(begin + CARDS)  # in the trick
        flags(begin + 2 * CARDS + 2 * 14)  # has no card of it
    used = {cell for own in by_suit for cell in own}
    return by_suit, [cell for cell in range(OBSERVATION) if cell not in used]
