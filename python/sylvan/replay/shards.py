"""Shards: files of records that only grow, and survive being cut off or damaged anywhere.

A shard is a header in JSON, then frames. A frame is a marker, the number of its records, its
length, a checksum and compressed records; a reader that meets damage looks for the next marker
whose checksum is right and goes on there. What a crash leaves at the end of a file is no frame, so
it is ignored when reading and cut off before writing. `docs/record-format.md` has the layout.
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
from typing import Any

import numpy as np

from sylvan._native import __version__
from sylvan.errors import ReplayError
from sylvan.games.naming import GameSpec
from sylvan.replay.packing import Block, Layout
from sylvan.replay.record import GameRecord

__all__ = ["Damage", "DamagedHeader", "Frame", "Shard", "frames_of", "read_blocks", "records_of"]

MAGIC = b"SYLVANRC"
FORMAT = 1
"""Grows when a file can no longer be read by earlier versions."""

MARKER = b"\xc5\x5c"
_FRAME = struct.Struct("<2sHII")  # marker, records, length, checksum
_HEAD = struct.Struct("<8sII")  # magic, length and checksum of the JSON

LARGEST = 1 << 30
"""Bytes that a frame may have after decompression: more is taken for damage."""


@dataclass(frozen=True)
class Frame:
    """A sound frame: where it begins, and its records in bytes."""

    offset: int
    count: int
    payload: bytes


@dataclass(frozen=True)
class Damage:
    """Bytes of a file, from `begin` to `end`, that are no frame.

    >>> print(Damage(Path("000003.shard"), 8192, 8704, record=40))
    000003.shard is damaged from byte 8192 to 8704, after its record 40: what was there is lost.
    """

    path: Path
    begin: int
    end: int
    record: int
    """Sound records of this file before it."""
    tail: bool = False
    """Nothing sound follows: a write was cut off."""

    def __str__(self) -> str:
        what = "its end was cut off; it is" if self.tail else "what was there is lost"
        return (
            f"{self.path} is damaged from byte {self.begin} to {self.end}, after its record "
            f"{self.record}: {what}."
        )


class DamagedHeader(ReplayError):
    """A file that does not begin as a shard; its records may still be sound."""


class Shard:
    """A file that records are appended to.

    :param path: made with its header if it is not there; else what follows its last sound frame is
        cut off.
    :param layout: of the records.
    :param before: records and positions in the shards before this one.
    :raises ReplayError: the file is of another game, or cannot be written.
    """

    def __init__(
        self, path: str | PathLike[str], layout: Layout, before: tuple[int, int] = (0, 0)
    ) -> None:
        self.path = Path(path)
        self.layout = layout
        self.length = 0
        """Bytes that are sound."""
        if not self.path.exists() or self.path.stat().st_size == 0:
            self._write(_header(layout, before))
            return
        _, place = read_header(self.path, layout)
        found = frames_of(self.path, place)
        tails = [item.begin for item in found if isinstance(item, Damage) and item.tail]
        self.length = tails[0] if tails else self.path.stat().st_size
        os.truncate(self.path, self.length)

    def append(self, records: Sequence[GameRecord], together: int = 1) -> list[Block]:
        """Write records at the end, all or none of them; give them as they will be read.

        :param together: records per frame: more make the file smaller, and a damaged byte costlier.
        :raises ReplayError: a record does not fit the game, or the disk is full; the file is as
            before.
        """
        groups = [records[i : i + together] for i in range(0, len(records), together)]
        blocks = [Block.of(group, self.layout) for group in groups]
        bodies = [(block.to_bytes(self.layout), len(block)) for block in blocks]
        self._write(b"".join(frame(body, count) for body, count in bodies))
        return blocks

    def sync(self) -> None:
        """Wait until all that was appended is on the disk, and the file's name too."""
        for path in (self.path, self.path.parent):
            opened = os.open(path, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)

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
                "the disk is full: make room and run it again"
                if error.errno == errno.ENOSPC
                else (error.strerror or "it cannot be written").lower()
            )
            raise ReplayError(f"{self.path}: {reason}; what it had is whole.") from None
        self.length += len(data)


def frame(body: bytes, count: int) -> bytes:
    """Records in bytes, as a frame."""
    # Self-play waits for it; large frames are written once and read often.
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
    """The header's fields, and where the frames begin.

    :param layout: what it must be.
    :raises ReplayError: the file is no shard, of a later format, or of another game.
    """
    with _opened(path) as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or head[:8] != MAGIC:
            raise DamagedHeader(f"{path} is no shard: it does not begin as one.")
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
    """The frames of a file between two places, and what lies between them if they are damaged."""
    with _opened(path) as file:
        file.seek(begin)
        data = file.read(-1 if end is None else end - begin)
    place, record = 0, 0
    while place < len(data):
        found = _frame_at(data, place)
        if found is not None:
            yield Frame(begin + place, found[0], found[1])
            record, place = record + found[0], found[2]
            continue
        following = _next_frame(data, place + 1)
        yield Damage(
            path, begin + place, begin + (following or len(data)), record, following is None
        )
        place = following or len(data)


def _frame_at(data: bytes, place: int) -> tuple[int, bytes, int] | None:
    """Records, bytes and end of the frame at a place, if a sound one is there."""
    if place + _FRAME.size > len(data):
        return None
    marker, count, length, checksum = _FRAME.unpack_from(data, place)
    first, end = place + _FRAME.size, place + _FRAME.size + length
    if marker != MARKER or end > len(data):
        return None
    payload = memoryview(data)[first:end]
    if zlib.crc32(payload, zlib.crc32(data[place + 2 : place + 8])) != checksum:
        return None
    reader = zlib.decompressobj()
    try:
        body = reader.decompress(payload, LARGEST)
    except zlib.error:
        return None
    return (count, body, end) if reader.eof else None


def _next_frame(data: bytes, place: int) -> int | None:
    """Where the next sound frame begins."""
    while (place := data.find(MARKER, place)) >= 0:
        if _frame_at(data, place) is not None:
            return place
        place += 1
    return None


def read_blocks(
    path: Path,
    layout: Layout,
    *,
    begin: int | None = None,
    end: int | None = None,
    on_damage: Callable[[Damage], None] | None = None,
) -> Iterator[Block]:
    """The records of a file in the order they were appended, as they are stored.

    :param layout: of the records; the file's own header is not asked if `begin` is given.
    :param on_damage: told of bytes that are no frame; None: raise, unless it is the end that was
        cut off.
    :raises ReplayError: the file is no shard of this game, or it is damaged.
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
    """The records of one shard, every legal action included.

    :param on_damage: called for damaged places, whose records are left out; None: raise there. An
        end that was cut off, as while a run is writing, is never an error.
    :raises ReplayError: it is no shard, or damaged.
    """
    path = Path(path)
    layout = Layout.from_dict(read_header(path)[0])
    for block in read_blocks(path, layout, on_damage=on_damage):
        for record in block.records():
            yield complete(record, layout.spec) if layout.native else record


def complete(record: GameRecord, spec: GameSpec) -> GameRecord:
    """A native game's record with all legal actions, whatever their probability."""
    state = spec.first(record.start)
    codes: list[int] = []
    policy: list[float] = []
    offsets = [0]
    for ply, action in enumerate(record.actions.tolist()):
        state.set_root()  # searched on where a draw could be claimed
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


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise ReplayError(f"{path} cannot be opened: {reason}.") from None


def _named(layout: Layout) -> str:
    """A game with its parameters."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in layout.params.items())
    return f"{layout.game}({arguments})" if arguments else layout.game
