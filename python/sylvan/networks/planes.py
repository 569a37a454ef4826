"""Expand packed planes on the device, so that less is copied to it.

A chess position has one 64-bit integer per plane: 896 bytes instead of 28 kB for 112 planes. Most
planes have a bit per square; a few hold one number for all squares (the half-move clock).
"""

from __future__ import annotations

import numpy as np
import torch

from sylvan.games.encoding import Encoding

__all__ = ["PackedPlanes"]


class PackedPlanes(torch.nn.Module):
    """Expands the planes of one encoding, like `sylvan.games.chess.expand_planes`.

    >>> planes = PackedPlanes(Encoding("planes18"))
    >>> planes(torch.ones(2, 18, dtype=torch.int64)).shape
    torch.Size([2, 18, 8, 8])
    """

    shifts: torch.Tensor

    def __init__(self, encoding: Encoding) -> None:
        super().__init__()
        from sylvan.games.chess import expand_planes

        # A plane of bits with the integer 2 is 0 on the last square; a plane of a number is not.
        twos = np.full((1, encoding.observation_shape[0]), 2, np.uint64)
        last = expand_planes(twos, encoding.encoder)[0, :, 7, 7]
        self.numbers = [(int(plane), float(last[plane]) / 2) for plane in np.flatnonzero(last)]
        """The planes that hold a number instead of bits, with its scale."""
        self.register_buffer("shifts", torch.arange(8, dtype=torch.uint8), persistent=False)

    def forward(self, packed: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Planes `[B, planes, 8, 8]` from packed int64 `[B, planes]`."""
        count, planes = packed.shape
        # Shift bytes (ranks) instead of int64: an eighth of the memory traffic.
        ranks = packed.view(torch.uint8).view(count, planes, 8, 1)
        squares = ((ranks >> self.shifts) & 1).to(dtype)
        for plane, scale in self.numbers:
            squares[:, plane] = (packed[:, plane] * scale).to(dtype).view(count, 1, 1)
        return squares
