"""Encode actions as planes, for a learned model whose hidden state is a board.

A convolution is local, so an action should be marked on the squares where it acts. By name:

| kind | for | planes |
|---|---|---|
| `squares` | as many actions as squares (or one more, a pass) | one: its square |
| `columns` | as many actions as columns | one: its column, filled |
| `moves` | chess, codes of `az73` | five: from, to, and to as a knight, a bishop, a rook |
| `learned` | any other actions | four, learned: a pattern over the board per action |
| `filled` | images, where an action has no square | eight, learned: constant planes |

All but the last are a table `[actions, planes, height, width]`; each action of a batch looks up one
row (`[B] → [B, planes, height, width]`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sylvan.errors import NetworkError
from sylvan.networks.lc0.policy import DIRECTIONS, KNIGHT

__all__ = ["ActionKind", "ActionPlanes", "action_kind", "chess_moves"]

ActionKind = Literal["squares", "columns", "moves", "learned", "filled"]

LEARNED, FILLED = 4, 8
"""Number of planes of the learned kinds."""

AZ73 = 64 * 73
"""Number of codes of chess moves."""


def action_kind(num_actions: int, height: int, width: int, *, chess: bool) -> ActionKind:
    """The kind that fits a board."""
    if chess and num_actions == AZ73:
        return "moves"
    if num_actions in (height * width, height * width + 1):
        return "squares"
    return "columns" if num_actions == width else "learned"


class ActionPlanes(nn.Module):
    """Actions `[B]` to planes `[B, planes, height, width]`."""

    table: torch.Tensor

    def __init__(self, kind: ActionKind, num_actions: int, height: int, width: int) -> None:
        super().__init__()
        self.height, self.width, self.filled = height, width, kind == "filled"
        if kind in ("learned", "filled"):
            self.planes = FILLED if self.filled else LEARNED
            cells = 1 if self.filled else height * width
            self.table = nn.Parameter(torch.randn(num_actions, self.planes * cells))
            return
        table = _fixed(kind, num_actions, height, width)
        self.planes = table.shape[1]
        # Bytes: in float32 the table of chess would take 6 MB.
        fixed = torch.from_numpy(table.reshape(num_actions, -1))
        self.register_buffer("table", fixed, persistent=False)

    def forward(self, actions: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """`[B]` int64 to `[B, planes, height, width]`."""
        rows = self.table.index_select(0, actions).to(dtype)
        if self.filled:
            return rows[:, :, None, None].expand(-1, -1, self.height, self.width)
        return rows.view(-1, self.planes, self.height, self.width)


def _fixed(kind: ActionKind, num_actions: int, height: int, width: int) -> NDArray[np.uint8]:
    cells = height * width
    table = np.zeros((num_actions, 1, height, width), np.uint8)
    if kind == "squares" and num_actions in (cells, cells + 1):
        table.reshape(num_actions, cells)[np.arange(cells), np.arange(cells)] = 1
        return table  # a pass has no square
    if kind == "columns" and num_actions == width:
        table[np.arange(width), :, :, np.arange(width)] = 1
        return table
    if kind == "moves" and (num_actions, height, width) == (AZ73, 8, 8):
        return chess_moves()
    raise NetworkError(
        f"{num_actions} actions are not the {kind} of a board of {height} by {width}: use "
        "actions='learned'."
    )


def chess_moves() -> NDArray[np.uint8]:
    """`[4672, 5, 8, 8]` planes of each code of `az73`, from the mover's side: the from-square, the
    to-square, and the to-square again if it promotes to a knight, a bishop or a rook. Codes of
    moves off the board have the from-square only.

    >>> e2e4 = chess_moves()[73 * 12 + 1]
    >>> np.argwhere(e2e4).tolist()
    [[0, 1, 4], [1, 3, 4]]
    """
    slides = [(n * f, n * r, 0) for f, r in DIRECTIONS for n in range(1, 8)]
    jumps = [(f, r, 0) for f, r in KNIGHT]
    promotions = [(f, 1, piece) for piece in (1, 2, 3) for f in (-1, 0, 1)]
    table = np.zeros((64, 73, 5, 8, 8), np.uint8)
    for square in range(64):
        rank, file = divmod(square, 8)
        table[square, :, 0, rank, file] = 1
        for plane, (files, ranks, piece) in enumerate(slides + jumps + promotions):
            to_rank, to_file = rank + ranks, file + files
            if 0 <= to_rank < 8 and 0 <= to_file < 8 and (piece == 0 or rank == 6):
                table[square, plane, 1, to_rank, to_file] = 1
                if piece:
                    table[square, plane, 1 + piece, to_rank, to_file] = 1
    return table.reshape(AZ73, 5, 8, 8)
