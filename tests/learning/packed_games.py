"""Packed game files made with python-chess, independently of the reader."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

import chess

UNKNOWN = -32768


def random_game(rng: random.Random, most_plies: int) -> list[chess.Move]:
    """Random legal moves from the start, captures and promotions preferred."""
    board, moves = chess.Board(), []
    while len(moves) < most_plies and (legal := list(board.legal_moves)):
        sharp = [m for m in legal if m.promotion or board.is_capture(m) or board.is_castling(m)]
        move = rng.choice(sharp if sharp and rng.random() < 0.4 else legal)
        board.push(move)
        moves.append(move)
    return moves


def packed_game(
    moves: Sequence[chess.Move], result: int, evaluations: Sequence[int] | None = None
) -> bytes:
    """The bytes of one game."""
    board, indices = chess.Board(), []
    for move in moves:
        texts = sorted(each.uci() for each in board.legal_moves)
        indices.append(texts.index(move.uci()))
        board.push(move)
    data = struct.pack("<HB", len(moves), result) + bytes(indices)
    if evaluations is not None:
        data += struct.pack(f"<{len(moves)}h", *evaluations)
    return data


def packed_games(count: int, seed: int, *, evaluated: bool = False, plies: int = 120) -> bytes:
    """Random games in one file."""
    rng, data = random.Random(seed), b""
    for _ in range(count):
        moves = random_game(rng, plies)
        values = [rng.choice([UNKNOWN, rng.randint(-900, 900)]) for _ in moves]
        data += packed_game(moves, rng.randrange(3), values if evaluated else None)
    return data
