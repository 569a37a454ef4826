"""What a network gives for a batch of observations: the signature of every module.

    forward(observations [B, *observation_shape]) -> NetworkOutput

A module of one's own fits when its `forward` takes and gives these; the tensors are PyTorch's in
a module and NumPy's where the same three things are computed elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch

__all__ = ["NetworkOutput"]


class NetworkOutput(NamedTuple):
    """The outputs of a network; B is the batch."""

    policy: torch.Tensor
    """`[B, num_logits]` logits, not probabilities; illegal moves need no masking."""
    value: torch.Tensor
    """For the seat to move, by `NetworkHeader.value`:

    - `wdl`: logits `[B, 3]` of win, draw, loss
    - `scalar`: `[B, 1]`, between -1 and 1
    - `seats`: `[B, num_players]`, the seat to move first, then those that follow it in seat order
    """
    moves_left: torch.Tensor | None = None
    """`[B, 1]` plies until the end, or nothing."""
    auxiliary: dict[str, torch.Tensor] | None = None
    """Name to `[B, ...]`: further outputs that teach the body something and that no search asks
    for; each is trained on the target of its name."""
