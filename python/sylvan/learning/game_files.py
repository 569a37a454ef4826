"""Read packed game files into columns of positions on one device.

A file is `.bin` or `.bin.xz`: games from the start position, one after another, little-endian.

| bytes | meaning |
|---|---|
| u16 | number of plies n |
| u8 | result: 0 Black won, 1 draw, 2 White won |
| n × u8 | each move: its index among the legal moves sorted by UCI text (`e1g1`, `e7e8q`) |
| n × i16 | only in files with evaluations: centipawns for White before the move; −32768: unknown |

Each game is replayed once, in Rust threads. A position takes 110 bytes (mean of 37 million).
One game in a hundred, chosen by a hash of its number, is held out for testing.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sylvan import _native
from sylvan.errors import ConfigError
from sylvan.evaluators.splitting import processors

__all__ = ["GameTable", "game_columns", "is_game_file", "is_held_out", "read_game_files"]

HELD_OUT = 100
"""One game in this many is held out."""

GAMES_AT_ONCE = 16384
"""Games read per call; their columns are copied to the device together."""

MAX_REPORTED = 5
"""Faults of one file that are reported one by one."""

Tell = Callable[[str], None]

_SIGNED = {np.dtype(np.uint64): np.int64, np.dtype(np.uint32): np.int32}
_SIGNED |= {np.dtype(np.uint16): np.int16}


@dataclass(frozen=True)
class GameTable:
    """N positions of games, with M legal moves in total. See `_native.ChessGameFile.read`."""

    boards: torch.Tensor
    """`[N, 4]` int64 bitboards from the mover's side: three encode the kind of piece, the last
    marks the opponent's pieces."""
    facts: torch.Tensor
    """`[N]` int32 castling rights, colour, en passant and half-move clock."""
    choices: torch.Tensor
    """`[N]` uint8 number of legal moves."""
    played: torch.Tensor
    """`[N]` uint8 index of the played move among the legal ones."""
    legal: torch.Tensor
    """`[M]` int16 codes of the legal moves of all positions, concatenated."""
    legal_begin: torch.Tensor
    """`[N]` int64 index in `legal` of each position's first legal move."""
    results: torch.Tensor
    """`[N]` uint8 0 the mover lost, 1 draw, 2 the mover won."""
    evaluations: torch.Tensor
    """`[N]` int16 centipawns for the mover; -32768: unknown."""
    plies_left: torch.Tensor
    """`[N]` int16 plies to the end of the game, including the next one."""
    train_rows: torch.Tensor
    """`[T]` int64 rows to train on."""
    test_rows: dict[str, torch.Tensor]
    """File name to int64 rows of its held-out games."""
    games: int
    """Games read."""
    most_choices: int
    """Maximum number of legal moves of a position."""

    def __len__(self) -> int:
        return len(self.facts)


def is_game_file(path: Path) -> bool:
    """Whether a path has the suffix of a packed game file.

    >>> is_game_file(Path("games.bin.xz")), is_game_file(Path("games.pgn"))
    (True, False)
    """
    return path.name.endswith((".bin", ".bin.xz"))


def is_held_out(games: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether games are held out, by a hash of their numbers."""
    mixed = (games.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    held: NDArray[np.bool_] = (mixed >> np.uint64(33)) % np.uint64(HELD_OUT) == 0
    return held


def read_game_files(
    paths: Sequence[Path],
    device: torch.device,
    *,
    threads: int | None = None,
    tell: Tell = lambda _: None,
    most_games: int | None = None,
) -> GameTable:
    """Read files into one table on a device.

    Args:
        paths: `.bin` or `.bin.xz` files.
        device: the device of the columns.
        threads: threads that replay games; None: one per core.
        tell: called with a message for each file and for skipped games.
        most_games: maximum games read from each file.

    :raises ConfigError: a file cannot be read, or the files have no usable positions.
    """
    blocks: list[dict[str, torch.Tensor]] = []
    train: list[torch.Tensor] = []
    test: dict[str, torch.Tensor] = {}
    rows = games = 0
    for path in paths:
        held = []
        for columns in game_columns(path, threads, tell, most_games):
            is_held = torch.from_numpy(is_held_out(columns.pop("games")))
            games += int((columns["plies_left"] == 1).sum())
            numbers = torch.arange(rows, rows + len(is_held))
            train.append(numbers[~is_held].to(device))
            held.append(numbers[is_held].to(device))
            rows += len(is_held)
            blocks.append({name: _tensor(each, device) for name, each in columns.items()})
        test[path.name] = torch.cat(held) if held else torch.zeros(0, dtype=torch.int64)
    if not any(len(each) for each in train):
        names = ", ".join(map(str, paths))
        raise ConfigError(f"No position in {names} is usable: give packed game files.")
    tensors = {name: torch.cat([block.pop(name) for block in blocks]) for name in list(blocks[0])}
    ends = tensors["choices"].to(torch.int64).cumsum(0)
    return GameTable(
        **tensors,
        legal_begin=ends - tensors["choices"],
        train_rows=torch.cat(train),
        test_rows={name: each.to(device) for name, each in test.items()},
        games=games,
        most_choices=int(tensors["choices"].max()),
    )


def game_columns(
    path: Path, threads: int | None, tell: Tell, most_games: int | None = None
) -> Iterator[dict[str, NDArray[Any]]]:
    """Read a file: columns of at most `GAMES_AT_ONCE` games each, see `_native.ChessGameFile.read`.

    The other arguments are those of `read_game_files`.
    """
    file = _native.ChessGameFile(_bytes(path))
    faults = [file.cut] if file.cut else []
    count, positions = min(file.num_games, most_games or file.num_games), 0
    for first in range(0, count, GAMES_AT_ONCE):
        last = min(first + GAMES_AT_ONCE, count)
        columns, wrong = file.read(first, last, threads or processors())
        faults += wrong
        positions += len(columns["facts"])
        yield columns
    _report(path, file, positions, count, faults, tell)


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise ConfigError(f"{path} cannot be opened: {reason}.") from None
    except lzma.LZMAError as error:
        raise ConfigError(f"{path} is not a complete .xz file ({error}): copy it again.") from None


def _tensor(column: NDArray[Any], device: torch.device) -> torch.Tensor:
    """A column as a tensor; unsigned integers become signed, since PyTorch lacks them."""
    return torch.from_numpy(column.view(_SIGNED.get(column.dtype, column.dtype))).to(device)


def _report(
    path: Path, file: Any, positions: int, count: int, faults: list[str], tell: Tell
) -> None:
    kind = "with evaluations" if file.has_evaluations else "without evaluations"
    tell(f"{path.name}: {positions:,} positions of {count:,} games {kind}.")
    for fault in faults[:MAX_REPORTED]:
        tell(f"{path.name}: {fault}.")
    if len(faults) > MAX_REPORTED:
        tell(f"{path.name}: {len(faults) - MAX_REPORTED:,} more games are left out.")
