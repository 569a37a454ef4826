"""Make batches of a `GameTable` on its own device.

A row becomes the planes of the encoder `planes19`, the codes of its legal moves, the index of the
played one among them, and a value: the game's result, mixed with the outcome probabilities of an
engine's evaluation.

Half of the positions without castling rights are mirrored left to right; the next epoch mirrors the
other half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sylvan.games.encoding import Encoding
from sylvan.learning.centipawns import UNKNOWN, OutcomeCurve
from sylvan.learning.game_files import GameTable
from sylvan.networks.lc0.policy import DIRECTIONS, KNIGHT
from sylvan.networks.planes import PackedPlanes

__all__ = ["ENCODING", "PositionBatch", "PositionBatches", "mirrored_codes", "packed_planes"]

ENCODING = Encoding("planes19", "az73")
"""The encoding of positions and moves for the network."""

_ODD = -7046029254386353131
"""2⁶⁴ / φ, odd: the multiplier of the hash that chooses the rows to mirror."""


@dataclass(frozen=True)
class PositionBatch:
    """B positions; K is the table's `most_choices`."""

    observations: torch.Tensor
    """`[B, 19, 8, 8]` float32."""
    legal: torch.Tensor
    """`[B, K]` int64 codes of legal moves, padded with 0."""
    is_legal: torch.Tensor
    """`[B, K]` bool."""
    played: torch.Tensor
    """`[B]` int64 index of the played move among the legal ones."""
    value: torch.Tensor
    """`[B, 3]` float32 probabilities of win, draw and loss for the mover."""
    plies_left: torch.Tensor
    """`[B]` float32."""


class PositionBatches:
    """Makes batches from a table.

    Args:
        table: the positions; batches are on its device.
        curve: outcome probabilities by evaluation; None: use results only.
        value_mix: weight of known evaluations in the value target, 0 to 1.
    """

    def __init__(self, table: GameTable, curve: OutcomeCurve | None, value_mix: float) -> None:
        device = table.facts.device
        self.table = table
        self.mix = value_mix if curve is not None else 0.0
        chances = curve.table() if curve is not None else np.zeros((65536, 3), np.float32)
        self._chances = torch.from_numpy(chances).to(device)
        self._outcomes = torch.eye(3, device=device).flip(0)  # by result: loss, draw, win
        self._planes = PackedPlanes(ENCODING).to(device)
        self._mirror = torch.from_numpy(mirrored_codes()).to(device)
        self._columns = torch.arange(table.most_choices, device=device)

    def make(self, rows: torch.Tensor, mirror_in_epoch: int | None = None) -> PositionBatch:
        """Make the batch of `rows` `[B]`; with an epoch, half of the rows are mirrored."""
        table = self.table
        facts = table.facts[rows]
        planes = self._planes(packed_planes(table.boards[rows], facts))
        is_legal = self._columns < table.choices[rows].unsqueeze(1)
        indices = table.legal_begin[rows].unsqueeze(1) + self._columns
        codes = table.legal[indices.clamp_(max=len(table.legal) - 1)].to(torch.int64)
        legal = torch.where(is_legal, codes, 0)
        if mirror_in_epoch is not None:
            chosen = ((rows * _ODD) >> 40) + mirror_in_epoch & 1 == 1
            mirror = chosen & (facts & 15 == 0)
            planes = torch.where(mirror.view(-1, 1, 1, 1), planes.flip(3), planes)
            legal = torch.where(mirror.unsqueeze(1), self._mirror[legal], legal)
        return PositionBatch(
            observations=planes.contiguous(memory_format=torch.channels_last),
            legal=legal,
            is_legal=is_legal,
            played=table.played[rows].to(torch.int64),
            value=self._value(rows),
            plies_left=table.plies_left[rows].to(torch.float32),
        )

    def _value(self, rows: torch.Tensor) -> torch.Tensor:
        outcome = self._outcomes[self.table.results[rows].to(torch.int64)]
        evaluation = self.table.evaluations[rows].to(torch.int64)
        share = (evaluation != UNKNOWN).to(torch.float32).unsqueeze(1) * self.mix
        return outcome + share * (self._chances[evaluation - UNKNOWN] - outcome)


def packed_planes(boards: torch.Tensor, facts: torch.Tensor) -> torch.Tensor:
    """`[B, 19]` int64, equal to the game's `observation()` with the encoder `planes19`."""
    low, middle, high, their = boards.unbind(1)
    kinds = (
        high & ~middle & ~low,  # pawns
        high & low,  # knights
        low & ~high & ~middle,  # bishops
        middle & ~high & ~low,  # rooks
        low & middle,  # queens
        high & middle,  # kings
    )
    facts = facts.to(torch.int64)
    own_short, own_long, their_short, their_long, black = (-(facts >> bit & 1) for bit in range(5))
    en_passant = (facts >> 5 & 1) << (40 + (facts >> 6 & 7))
    clock = facts >> 16 & 0xFFFF
    pieces = [kind & ~their for kind in kinds] + [kind & their for kind in kinds]
    rest = [black, own_short, own_long, their_short, their_long, en_passant, clock]
    return torch.stack(pieces + rest, dim=1)


def mirrored_codes() -> NDArray[np.int64]:
    """`[4672]` the code of each `az73` move on the board mirrored left to right.

    >>> codes = mirrored_codes()
    >>> int(codes[73 * 12 + 1]), 73 * 11 + 1  # e2e4 and d2d4
    (804, 804)
    """
    slides = [(n * files, n * ranks) for files, ranks in DIRECTIONS for n in range(1, 8)]
    steps = [*slides, *KNIGHT]
    planes = [steps.index((-files, ranks)) for files, ranks in steps]
    planes += [64 + 3 * piece + 2 - step for piece in range(3) for step in range(3)]
    squares = np.arange(64) ^ 7
    codes: NDArray[np.int64] = squares[:, None] * 73 + np.array(planes)
    return codes.reshape(-1)
