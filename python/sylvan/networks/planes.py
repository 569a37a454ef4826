"""Packed planes become numbers where they are needed: on the device, after the bus.

A chess position is one number of 64 bits per plane, 896 bytes instead of 28 kB for 112 planes. Most
planes are bits of squares; a few hold one number that fills the board (half-move clock, say).
"""

from __future__ import annotations

import numpy as np
import torch

from sylvan.games.encoding import Encoding

__all__ = ["PackedPlanes"]


class PackedPlanes(torch.nn.Module):
    """Expands the planes of one encoding as `sylvan.games.chess.expand_planes` does.

    >>> planes = PackedPlanes(Encoding("planes18"))
    >>> planes(torch.ones(2, 18, dtype=torch.int64)).shape
    torch.Size([2, 18, 8, 8])
    """

    shifts: torch.Tensor

    def __init__(self, encoding: Encoding) -> None:
        super().__init__()
        from sylvan.games.chess import expand_planes

        # The second bit alone: it says nothing of the last square, which a number fills.
        twos = np.full((1, encoding.observation_shape[0]), 2, np.uint64)
        last = expand_planes(twos, encoding.encoder)[0, :, 7, 7]
        self.numbers = [(int(plane), float(last[plane]) / 2) for plane in np.flatnonzero(last)]
        """The planes that hold a number instead of bits, and what it is multiplied by."""
        self.register_buffer("shifts", torch.arange(8, dtype=torch.uint8), persistent=False)

    def forward(self, packed: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Planes `[B, planes, 8, 8]` from bits `[B, planes]`, which are int64."""
        count, planes = packed.shape
        # By bytes, the ranks of a plane: eight times less to write than by numbers of 64 bits.
        ranks = packed.view(torch.uint8).view(count, planes, 8, 1)
        squares = ((ranks >> self.shifts) & 1).to(dtype)
        for plane, scale in self.numbers:
            squares[:, plane] = (packed[:, plane] * scale).to(dtype).view(count, 1, 1)
        return squares
