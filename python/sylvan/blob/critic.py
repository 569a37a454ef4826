"""A critic of Blob that sees all hands: a baseline with less variance.

An advantage compares the result of a decision with the expectation before it. Part of the
difference is the luck of the deal. A critic that sees all hands predicts this part, so the
advantage is closer to the decision's own effect. The policy does not see the other hands, so a
baseline that knows more adds no bias.

The critic is used only in practice: searches and matches use the network, whose own value still
learns from the seat's view.

It starts exactly equal to the network's value: a copy of the network's body and value head, whose
layer for suits gets more inputs (all hands, from the seat to move) with weights of 0.

Limits: it needs a body of suits. It costs about as much as the network, and learns slowly:
`benchmarks/blob.md` has its error after some hundred thousand decisions.

Papers: Pinto 2017 (asymmetric actor-critic); Yang 2022 (PerfectDou: the same for card games).
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional

from sylvan.errors import NetworkError
from sylvan.networks.network import Network
from sylvan.networks.suits import Suits

__all__ = ["DealCritic", "share_error"]


def share_error(values: torch.Tensor, shares: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error of `[B, 8]` values; shares of empty seats are NaN."""
    occupied = ~shares.isnan()
    return functional.mse_loss(values.float()[occupied], shares[occupied])


class DealCritic(nn.Module):
    """Predicts the shares of all seats from a view and all hands.

    :param network: a network of Blob with a body of suits; copied, not changed.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        if not isinstance(network.body, Suits):
            raise NetworkError(
                "critic='deal' needs a network of suits, such as 'suits3x256': use critic='view'."
            )
        self.body, self.value = copy.deepcopy(network.body), copy.deepcopy(network.value)
        self.body.see_hands()
        self.optimizer = torch.optim.AdamW(self.parameters(), weight_decay=0.01)

    def forward(self, seen: torch.Tensor, hands: torch.Tensor) -> torch.Tensor:
        """Map views `[B, 1338]` and hands `[B, 8 * 52]` to shares `[B, 8]`, seat to move first."""
        shares: torch.Tensor = self.value(self.body(torch.cat([seen, hands], dim=1)))
        return shares

    def learn(self, values: torch.Tensor, shares: torch.Tensor, rate: float) -> torch.Tensor:
        """Update on predictions and true shares; return the error."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        error = share_error(values, shares)
        self.optimizer.zero_grad(set_to_none=True)
        error.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.optimizer.step()
        return error
