"""The output of a network for a batch of observations: the signature of every module.

    forward(observations [B, *observation_shape]) -> NetworkOutput

A user's own module needs a `forward` with this signature. Tensors are PyTorch's in a module and
NumPy arrays elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch

__all__ = ["NetworkOutput"]


class NetworkOutput(NamedTuple):
    """The outputs of a network; B is the batch."""

    policy: torch.Tensor
    """`[B, num_logits]` logits; illegal actions need no masking."""
    value: torch.Tensor
    """For the seat to move, by `NetworkHeader.value`:

    - `wdl`: logits `[B, 3]` of win, draw, loss
    - `scalar`: `[B, 1]`, between -1 and 1
    - `seats`: `[B, num_players]`, the seat to move first, then the others in seat order
    """
    moves_left: torch.Tensor | None = None
    """`[B, 1]` plies until the end; None without this head."""
    auxiliary: dict[str, torch.Tensor] | None = None
    """Name to `[B, ...]`: auxiliary outputs, used only in training; each has the target of its
    name."""
