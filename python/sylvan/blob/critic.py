"""A critic of Blob that sees the deal: what a decision was worth, by one who looks into all hands.

An advantage compares what came of a decision with what was expected before it. Part of the
difference is the luck of the deal; who sees all hands expects it, and what is left is nearer to the
decision's own part. The policy does not see them: it chooses alike in all deals that look alike to
it, so a baseline that knows more than it adds no bias.

It is thrown away after practice: searches and matches ask the network, whose own value goes on
learning from the seat's view.

How it starts: as the network's own value, exactly. It is a copy of the network's body and value
head whose layer for suits has more inputs, all hands from the seat to move on, with weights of 0.
So the first turn is as without it, and nothing must be blended or waited for.

Limits: a body of suits. It costs about as much as the network again, and what hands mean together
it learns slowly: `benchmarks/blob.md` has how much it knew after some hundred thousand decisions.

Papers: Pinto 2017 (a critic that sees the state); Yang 2022 (PerfectDou: cards so).
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from sylvan.errors import NetworkError
from sylvan.networks.suits import Suits

__all__ = ["DealCritic", "share_error"]


def share_error(values: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """Mean squared error of `[B, 8]` values; shares are NaN where nobody sits."""
    there = ~shares.isnan()
    return functional.mse_loss(values.float()[there], shares[there])


class DealCritic(nn.Module):
    """Shares of all seats from a view and all hands.

    :param network: of Blob, with a body of suits; copied, not changed.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        if not isinstance(network.body, Suits):
            raise NetworkError(
                "A critic that sees the deal needs a network of suits, as 'suits3x256': practise "
                "with critic='view'."
            )
        self.body, self.value = copy.deepcopy(network.body), copy.deepcopy(network.value)
        self.body.see_hands()
        self.optimizer = torch.optim.AdamW(self.parameters(), weight_decay=0.01)

    def forward(self, seen: torch.Tensor, hands: torch.Tensor) -> torch.Tensor:
        """`[B, 1338]` and `[B, 8 * 52]` to shares `[B, 8]`, from the seat to move on."""
        shares: torch.Tensor = self.value(self.body(torch.cat([seen, hands], dim=1)))
        return shares

    def learn(self, values: torch.Tensor, shares: torch.Tensor, rate: float) -> torch.Tensor:
        """One update by what it said and what came; the error."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        error = share_error(values, shares)
        self.optimizer.zero_grad(set_to_none=True)
        error.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.optimizer.step()
        return error
