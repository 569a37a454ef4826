"""The order of lc0's policy outputs, and their indices in its convolutional head.

Moves are from the mover's side (Black's ranks are flipped); castling is king takes own rook.
Outputs 0 to 1791 are all moves of a queen or a knight, by from-square and then to-square, a1 = 0,
b1 = 1, ... h8 = 63; they include promotions to a knight. The last 66 are the other promotions: by
file, then to-file, then queen, rook, bishop.

The convolutional head has planes of 64 from-squares; `conv_gather` maps outputs to its numbers.
Plane 7 d + n - 1 is a slide of n squares in direction d (N, NE, E, SE, S, SW, W, NW), 56 to 63 are
knight jumps, 64 to 72 promotions: to the left, straight, to the right, each to a rook, a bishop, a
queen. Later planes are padding.

Source: lc0's `src/neural/encoder.cc` and `src/neural/tables/policy_map.h`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["POLICY_OUTPUTS", "POLICY_PLANES", "conv_gather", "moves"]

POLICY_OUTPUTS = 1858
POLICY_PLANES = 73
"""Planes of the convolutional head, without padding."""

# Steps as (file, rank).
DIRECTIONS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
KNIGHT = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))


def moves() -> list[str]:
    """The move of each output, from the mover's side.

    >>> table = moves()
    >>> len(table), table[322], table[159], table[-1]
    (1858, 'e2e4', 'g1f3', 'h7h8b')
    """
    return [
        f"{_square(start)}{_square(end)}{piece}"
        for start, end, piece in (*_pairs(), *_promotions())
    ]


def conv_gather() -> NDArray[np.int64]:
    """`[1858]` index of each output among the head's numbers, `64 * plane + from-square`."""
    plain = [64 * _plane(start, end) + start for start, end, _ in _pairs()]
    promotions = [
        64 * (64 + 3 * (end % 8 - start % 8 + 1) + "rbq".index(piece)) + start
        for start, end, piece in _promotions()
    ]
    return np.array(plain + promotions, np.int64)


def _pairs() -> Iterator[tuple[int, int, str]]:
    for start in range(64):
        for end in range(64):
            files, ranks = abs(end % 8 - start % 8), abs(end // 8 - start // 8)
            straight = files == 0 or ranks == 0 or files == ranks
            if start != end and (straight or {files, ranks} == {1, 2}):
                yield start, end, ""


def _promotions() -> Iterator[tuple[int, int, str]]:
    for file in range(8):
        for to_file in range(max(file - 1, 0), min(file + 1, 7) + 1):
            for piece in "qrb":
                yield 48 + file, 56 + to_file, piece


def _plane(start: int, end: int) -> int:
    """The plane of a plain move."""
    file, rank = end % 8 - start % 8, end // 8 - start // 8
    if (file, rank) in KNIGHT:
        return 56 + KNIGHT.index((file, rank))
    distance = max(abs(file), abs(rank))
    return 7 * DIRECTIONS.index((file // distance, rank // distance)) + distance - 1


def _square(index: int) -> str:
    return "abcdefgh"[index % 8] + str(index // 8 + 1)
