"""An attention policy head for chess: a move is a pair of squares, from and to.

    tokens = act(embed(features))                 [B, 64, C], one per square
    score(from, to) = query(from) · key(to) / √d  [B, 64, 64]

An underpromotion's logit is the score of its squares plus an offset per piece, computed from the
to-square; promotion to a queen is the plain score. Each square needs only one query and one key, so
this costs a tenth of the convolutions of `PlanePolicy`.

Reference: lc0's attention policy (2021).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sylvan.networks.layers import activation_layer, dense
from sylvan.networks.lc0.policy import DIRECTIONS, KNIGHT
from sylvan.networks.settings import BodySettings

__all__ = ["AttentionPolicy", "az73_gather"]

SQUARES = 64
PIECES = 3
"""Knight, bishop and rook, in the order of the codec `az73`."""


class AttentionPolicy(nn.Module):
    """`[B, C, 8, 8]` to logits `[B, 4672]` of the codec `az73`.

    Codes of moves off the board get the score of another pair; no legal move has them.
    """

    gather: torch.Tensor

    def __init__(self, features: tuple[int, ...], settings: BodySettings) -> None:
        super().__init__()
        channels, width = features[0], settings.policy_channels
        self.embed = dense(channels, channels)
        self.activation = activation_layer(settings.activation)
        self.query = dense(channels, width, last=True)
        self.key = dense(channels, width)
        self.offset = dense(width, PIECES, last=True)
        self.scale = width**-0.5
        self.register_buffer("gather", torch.from_numpy(az73_gather()), persistent=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits `[B, 4672]`."""
        tokens = self.activation(self.embed(features.flatten(2).transpose(1, 2)))
        keys = self.key(tokens)
        scores = torch.matmul(self.query(tokens) * self.scale, keys.transpose(1, 2))
        # From the seventh rank to the eighth, for each piece: [B, pieces, from file, to file].
        offsets = self.offset(keys[:, 56:]).transpose(1, 2).unsqueeze(2)
        promotions = scores[:, 48:56, 56:].unsqueeze(1) + offsets
        numbers = torch.cat([scores.flatten(1), promotions.flatten(1)], dim=1)
        return numbers.index_select(1, self.gather)


def az73_gather() -> NDArray[np.int64]:
    """`[4672]` index of each code's logit: `64 * from + to` among the scores, or after them
    `64 * piece + 8 * from file + to file`. Codes of moves off the board are spread over all pairs:
    thousands of gradients added to one address are slow on a GPU.

    >>> gather = az73_gather()
    >>> divmod(int(gather[73 * 12 + 1]), 64)  # e2e4
    (12, 28)
    """
    slides = [(n * files, n * ranks) for files, ranks in DIRECTIONS for n in range(1, 8)]
    table = np.arange(SQUARES * 73).reshape(SQUARES, 73) % SQUARES**2
    for square in range(SQUARES):
        rank, file = divmod(square, 8)
        for plane, (files, ranks) in enumerate([*slides, *KNIGHT]):
            to_rank, to_file = rank + ranks, file + files
            if 0 <= to_rank < 8 and 0 <= to_file < 8:
                table[square, plane] = SQUARES * square + 8 * to_rank + to_file
        for piece in range(PIECES):
            for step in (-1, 0, 1):
                if rank == 6 and 0 <= file + step < 8:
                    index = SQUARES * SQUARES + SQUARES * piece + 8 * file + file + step
                    table[square, 64 + 3 * piece + step + 1] = index
    return table.reshape(-1)
