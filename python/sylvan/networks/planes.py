"""Packed planes become numbers where they are needed: on the device, after the bus.

A chess position is one 64-bit number per plane, 896 bytes instead of 28 kB for 112 planes. Most
planes are bits of squares; a few hold one number that fills the board (half-move clock, say).
"""

from __future__ import annotations

import numpy as np
import torch

from sylvan.games.encoding import Encoding

__all__ = ["PackedPlanes"]


class PackedPlanes:
    """Expands the planes of one encoding as `sylvan.games.chess.expand_planes` does, in PyTorch.

    >>> planes = PackedPlanes(Encoding("planes18"))
    >>> planes(torch.ones(2, 18, dtype=torch.int64)).shape
    torch.Size([2, 18, 8, 8])
    """

    def __init__(self, encoding: Encoding) -> None:
        from sylvan.games.chess import expand_planes

        # The second bit alone: it says nothing of the last square, which a number fills.
        twos = np.full((1, encoding.observation_shape[0]), 2, np.uint64)
        last = expand_planes(twos, encoding.encoder)[0, :, 7, 7]
        self.numbers = [(int(plane), float(last[plane]) / 2) for plane in np.flatnonzero(last)]
        """The planes that hold a number instead of bits, and what it is multiplied by."""

    def __call__(self, packed: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Planes `[B, planes, 8, 8]` from bits `[B, planes]`, which are int64: PyTorch shifts no
        unsigned numbers.
        """
        squares = torch.arange(64, device=packed.device)
        planes = ((packed.unsqueeze(2) >> squares) & 1).to(dtype)
        for plane, scale in self.numbers:
            planes[:, plane] = (packed[:, plane] * scale).to(dtype).unsqueeze(1)
        return planes.view(len(packed), -1, 8, 8)
