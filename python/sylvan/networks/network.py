"""A network: a body, its heads and a header."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from sylvan.networks.header import NetworkHeader
from sylvan.networks.heads import Auxiliary, MovesLeft, Value, policy_head
from sylvan.networks.output import NetworkOutput
from sylvan.networks.settings import BodySettings

if TYPE_CHECKING:
    from sylvan.networks.layers import Norm
    from sylvan.networks.mlp import MLP
    from sylvan.networks.suits import Suits
    from sylvan.networks.tower import Tower
    from sylvan.networks.transformer import Transformer

    Body = MLP | Suits | Tower | Transformer

__all__ = ["Network"]


class Network(nn.Module):
    """A body and heads: `[B, *header.observation_shape]` to `NetworkOutput`."""

    def __init__(
        self, header: NetworkHeader, body: Body, settings: BodySettings, norm: Norm
    ) -> None:
        super().__init__()
        self.header = header
        self.body = body
        shape = body.out_shape
        self.policy = policy_head(header, shape, settings, norm)
        self.value = Value(header, shape, settings, norm)
        self.moves_left = MovesLeft(shape, settings, norm) if header.moves_left else None
        self.auxiliary = nn.ModuleDict(
            {
                name: Auxiliary(outputs, shape, settings, norm)
                for name, outputs in settings.auxiliary.items()
            }
        )

    def forward(self, observations: torch.Tensor) -> NetworkOutput:
        """Logits, value and moves left of `[B, *header.observation_shape]`."""
        features = self.body(observations)
        moves_left = self.moves_left(features) if self.moves_left is not None else None
        auxiliary = {name: head(features) for name, head in self.auxiliary.items()} or None
        return NetworkOutput(self.policy(features), self.value(features), moves_left, auxiliary)

    @property
    def parameter_count(self) -> int:
        """Number of trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters())
