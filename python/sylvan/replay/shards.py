"""Shards: append-only files of records that tolerate truncation and damage.

A shard is a header in JSON, then frames. A frame is a marker, the number of its records, its
length, a checksum and compressed records. After damaged bytes, a reader continues at the next
marker with a correct checksum. An incomplete frame at the end, left by a crash, is ignored when
reading and truncated before writing. `docs/record-format.md` has the layout.
"""

from __future__ import annotations

import errno
import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sylvan._native import __version__
from sylvan.errors import ReplayError
from sylvan.files import sync_file, sync_folder
from sylvan.games.naming import GameSpec
from sylvan.replay.packing import Block, Layout
from sylvan.replay.record import GameRecord

__all__ = ["Damage", "DamagedHeader", "Frame", "Shard", "frames_of", "read_blocks", "records_of"]

MAGIC = b"SYLVANRC"
FORMAT = 1
"""Increased when earlier versions can no longer read the files."""

MARKER = b"\xc5\x5c"
_FRAME = struct.Struct("<2sHII")  # marker, records, length, checksum
_HEAD = struct.Struct("<8sII")  # magic, length and checksum of the JSON

LARGEST = 1 << 30
"""Maximum bytes of a decompressed frame; a larger one counts as damaged."""


@dataclass(frozen=True)
class Frame:
    """An intact frame: its offset in the file, and its records as bytes."""

    offset: int
    count: int
    payload: bytes


@dataclass(frozen=True)
class Damage:
    """Bytes of a file, from `begin` to `end`, that are not a valid frame.

    >>> print(Damage(Path("000003.shard"), 8192, 8704, record=40))
    000003.shard is damaged from byte 8192 to 8704, after its record 40: these bytes are lost.
    """

    path: Path
    begin: int
    end: int
    record: int
    """Intact records before the damage."""
    tail: bool = False
    """No intact frame follows: a write was interrupted."""

    def __str__(self) -> str:
        what = "the last write was interrupted" if self.tail else "these bytes are lost"
        return (
            f"{self.path} is damaged from byte {self.begin} to {self.end}, after its record "
            f"{self.record}: {what}."
        )


class DamagedHeader(ReplayError):
    """A file without a valid header; its records may be intact."""


class Shard:
    """A file to which records are appended.

    :param path: created with a header if missing; else truncated after its last intact frame.
    :param layout: layout of the records.
    :param before: number of records and positions in earlier shards.
    :raises ReplayError: the file has another game, or cannot be written.
    """

    def __init__(
        self, path: str | PathLike[str], layout: Layout, before: tuple[int, int] = (0, 0)
    ) -> None:
        self.path = Path(path)
        self.layout = layout
        self.length = 0
        """Length of the intact part, in bytes."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            self._write(_header(layout, before))
            return
        _, first_frame = read_header(self.path, layout)
        found = frames_of(self.path, first_frame)
        tails = [item.begin for item in found if isinstance(item, Damage) and item.tail]
        self.length = tails[0] if tails else self.path.stat().st_size
        os.truncate(self.path, self.length)

    def append(self, records: Sequence[GameRecord], together: int = 1) -> list[Block]:
        """Write all records or none; return them as they will be read.

        :param together: records per frame: more make the file smaller, and lose more records where
            a byte is damaged.
        :raises ReplayError: a record does not fit the game, or the disk is full; the file is
            unchanged.
        """
        groups = [records[i : i + together] for i in range(0, len(records), together)]
        blocks = [Block.of(group, self.layout) for group in groups]
        bodies = [(block.to_bytes(self.layout), len(block)) for block in blocks]
        self._write(b"".join(frame(body, count) for body, count in bodies))
        return blocks

    def sync(self) -> None:
        """Flush the file and its directory entry to the disk (fsync)."""
        sync_file(self.path)
        sync_folder(self.path.parent)

    def _write(self, data: bytes) -> None:
        try:
            with self.path.open("ab", buffering=0) as file:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        except OSError as error:
            if self.path.exists():
                os.truncate(self.path, self.length)
            reason = (
                "the disk is full: free some space and run it again"
                if error.errno == errno.ENOSPC
                else (error.strerror or "it cannot be written").lower()
            )
            raise ReplayError(f"{self.path}: {reason}; its earlier records are intact.") from None
        self.length += len(data)


def frame(body: bytes, count: int) -> bytes:
    """Compress the bytes of `count` records into a frame."""
    # Self-play waits for small frames; large ones are written once and read often.
    payload = zlib.compress(body, 6 if count >= 64 else 1)
    head = struct.pack("<HI", count, len(payload))
    return _FRAME.pack(MARKER, count, len(payload), zlib.crc32(head + payload)) + payload


def _header(layout: Layout, before: tuple[int, int]) -> bytes:
    fields = {
        "format": FORMAT,
        "sylvan": __version__,
        "records_before": before[0],
        "positions_before": before[1],
    } | layout.to_dict()
    text = json.dumps(fields).encode()
    return _HEAD.pack(MAGIC, len(text), zlib.crc32(text)) + text


def read_header(path: Path, layout: Layout | None = None) -> tuple[dict[str, Any], int]:
    """The header's fields, and the offset of the first frame.

    :param layout: the expected layout.
    :raises ReplayError: the file is not a shard, has a later format, or another game.
    """
    with _opened(path) as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or head[:8] != MAGIC:
            raise DamagedHeader(f"{path} is not a shard: it does not begin with {MAGIC!r}.")
        _, length, checksum = _HEAD.unpack(head)
        text = file.read(min(length, 1 << 20))
    if len(text) < length or zlib.crc32(text) != checksum:
        raise DamagedHeader(f"{path} has a damaged header.")
    fields: dict[str, Any] = json.loads(text)
    if fields.get("format", 0) > FORMAT:
        raise ReplayError(
            f"{path} has format {fields['format']}, written by Sylvan {fields['sylvan']}: this "
            f"is {__version__}, which reads up to {FORMAT}; update Sylvan."
        )
    found = Layout.from_dict(fields)
    if layout is not None and not found.fits(layout):
        raise ReplayError(
            f"{path} has games of {_named(found)}, not of {_named(layout)}: use another folder."
        )
    return fields, _HEAD.size + length


def frames_of(path: Path, begin: int, end: int | None = None) -> Iterator[Frame | Damage]:
    """The frames of a file between two offsets, and damaged parts between them."""
    with _opened(path) as file:
        file.seek(begin)
        data = file.read(-1 if end is None else end - begin)
    offset, record = 0, 0
    while offset < len(data):
        found = _frame_at(data, offset)
        if found is not None:
            yield Frame(begin + offset, found[0], found[1])
            record, offset = record + found[0], found[2]
            continue
        following = _next_frame(data, offset + 1)
        yield Damage(
            path, begin + offset, begin + (following or len(data)), record, following is None
        )
        offset = following or len(data)


def _frame_at(data: bytes, offset: int) -> tuple[int, bytes, int] | None:
    """Record count, bytes and end of the frame at an offset; None if it is not intact."""
    if offset + _FRAME.size > len(data):
        return None
    marker, count, length, checksum = _FRAME.unpack_from(data, offset)
    first, end = offset + _FRAME.size, offset + _FRAME.size + length
    if marker != MARKER or end > len(data):
        return None
    payload = memoryview(data)[first:end]
    if zlib.crc32(payload, zlib.crc32(data[offset + 2 : offset + 8])) != checksum:
        return None
    reader = zlib.decompressobj()
    try:
        body = reader.decompress(payload, LARGEST)
    except zlib.error:
        return None
    return (count, body, end) if reader.eof else None


def _next_frame(data: bytes, offset: int) -> int | None:
    """The offset of the next intact frame."""
    while (offset := data.find(MARKER, offset)) >= 0:
        if _frame_at(data, offset) is not None:
            return offset
        offset += 1
    return None


def read_blocks(
    path: Path,
    layout: Layout,
    *,
    begin: int | None = None,
    end: int | None = None,
    on_damage: Callable[[Damage], None] | None = None,
) -> Iterator[Block]:
    """The blocks of a file, in the order of writing.

    :param layout: layout of the records; with `begin` the header is not read.
    :param on_damage: called for each damaged part; None: raise, except for an incomplete end.
    :raises ReplayError: the file is not a shard of this game, or it is damaged.
    """
    if begin is None:
        _, begin = read_header(path, layout)
    for found in frames_of(path, begin, end):
        if isinstance(found, Damage):
            if on_damage is not None:
                on_damage(found)
            elif not found.tail:
                raise ReplayError(str(found))
            continue
        yield Block.from_bytes(found.payload, found.count, layout)


def records_of(
    path: str | PathLike[str], on_damage: Callable[[Damage], None] | None = None
) -> Iterator[GameRecord]:
    """The records of one shard, including all legal actions.

    :param on_damage: called for each damaged part, whose records are skipped; None: raise. An
        incomplete end, as while a run is writing, is never an error.
    :raises ReplayError: the file is not a shard, or is damaged.
    """
    path = Path(path)
    layout = Layout.from_dict(read_header(path)[0])
    for block in read_blocks(path, layout, on_damage=on_damage):
        for record in block.records():
            yield complete(record, layout.spec) if layout.native else record


def complete(record: GameRecord, spec: GameSpec) -> GameRecord:
    """A native game's record with all legal actions, including those of probability 0."""
    state = spec.first(record.start)
    codes: list[int] = []
    policy: list[float] = []
    offsets = [0]
    for ply, action in enumerate(record.actions.tolist()):
        state.set_root()  # searches continue after a draw could be claimed
        if record.policy_offsets[ply + 1] > record.policy_offsets[ply]:
            target = dict(zip(record.legal(ply).tolist(), record.target(ply).tolist(), strict=True))
            legal = state.legal_actions()
            codes += legal
            policy += [target.get(code, 0.0) for code in legal]
        offsets.append(len(codes))
        state.apply(action)
    fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
    fields["policy_offsets"] = np.array(offsets, np.int64)
    fields["policy_actions"] = np.array(codes, np.int32)
    fields["policy"] = np.array(policy, np.float32)
    return GameRecord(**fields)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise ReplayError(f"{path} cannot be opened: {reason}.") from None


def _named(layout: Layout) -> str:
    """A game's name with its parameters."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in layout.params.items())
    return f"{layout.game}({arguments})" if arguments else layout.game
