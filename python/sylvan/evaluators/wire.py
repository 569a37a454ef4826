"""Messages between a network server and its clients, over a Unix socket or loopback TCP.

A message is a header of 24 bytes and its contents, little-endian:

| bytes | field |
|---|---|
| 4 | `SYLV` |
| 1 | version of this format, 1 |
| 1 | `Kind` |
| 2 | 1 if observations are packed planes (uint64), 0 if they are float32 |
| 4 | rows B |
| 4 | legal actions A of all rows |
| 8 | length of the contents in bytes |

| kind | sender | contents |
|---|---|---|
| `WELCOME` | server, once | JSON: see `Welcome` |
| `EVALUATE` | client | observations; uint32: legal actions of each row `[B]`, logit indices `[A]` |
| `EVALUATED` | server | float32: logits `[A]`, values `[B, value columns]` |
| `INFER` | client | observations |
| `INFERRED` | server | float32: the outputs policy, value and, if the network has it, moves left |
| `REFUSED` | server | a sentence in UTF-8; the server then closes the connection |

A receiver knows the greatest length that it can accept before it reads the contents, and arrays
have the sizes that rows, actions and the network's header imply. Nothing is unpickled.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, ProtocolError
from sylvan.networks.header import NetworkHeader

__all__ = ["Kind", "Message", "Rows", "Welcome", "receive", "send"]

MAGIC, VERSION = b"SYLV", 1
HEADER = struct.Struct("<4sBBHIIQ")
LONGEST = 64 * 2**20
"""Most bytes of a message."""
MOST_ROWS = 1024
"""Most positions of a message; a client sends several if it has more."""


class Kind(IntEnum):
    """The kind of a message."""

    WELCOME = 1
    EVALUATE = 2
    EVALUATED = 3
    INFER = 4
    INFERRED = 5
    REFUSED = 6


@dataclass(frozen=True)
class Message:
    """A message that was received."""

    kind: Kind
    packed: bool
    rows: int
    actions: int
    contents: bytearray

    def arrays(self, *layouts: tuple[type, tuple[int, ...]]) -> list[NDArray[Any]]:
        """Split the contents into arrays of given types and shapes.

        :raises ProtocolError: they have another length.
        """
        sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for kind, shape in layouts]
        if sum(sizes) != len(self.contents):
            raise ProtocolError(
                f"A message {self.kind.name} of {self.rows} rows and {self.actions} actions has "
                f"{len(self.contents)} bytes instead of {sum(sizes)}.",
                "length",
            )
        found: list[NDArray[Any]] = []
        start = 0
        for (kind, shape), size in zip(layouts, sizes, strict=True):
            count = size // np.dtype(kind).itemsize
            found.append(np.frombuffer(self.contents, kind, count, start).reshape(shape))
            start += size
        return found


def send(
    connection: socket.socket,
    kind: Kind,
    parts: Sequence[bytes | NDArray[Any]],
    *,
    rows: int = 0,
    actions: int = 0,
    packed: bool = False,
) -> None:
    """Send a message.

    :raises OSError: the other side is gone.
    """
    contents = b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts)
    header = HEADER.pack(MAGIC, VERSION, kind, packed, rows, actions, len(contents))
    connection.sendall(header + contents)


def receive(connection: socket.socket, kinds: Sequence[Kind]) -> Message | None:
    """Wait for a message of one of these kinds; None if the other side has closed the connection.

    :raises ProtocolError: it is something else.
    :raises OSError: the connection broke, also in the middle of a message.
    """
    head = _exactly(connection, HEADER.size)
    if head is None:
        return None
    magic, version, kind, packed, rows, actions, length = HEADER.unpack(head)
    if magic != MAGIC or version != VERSION:
        raise ProtocolError(
            f"A message begins with {bytes(head[:5])!r}, not with {MAGIC!r} and version {VERSION}: "
            "use the same version of Sylvan on both sides.",
            "magic",
        )
    if kind not in kinds or packed > 1:
        names = " or ".join(kind.name for kind in kinds)
        raise ProtocolError(f"A message has kind {kind} and flags {packed}, not {names}.", "kind")
    if length > LONGEST or rows > MOST_ROWS:
        raise ProtocolError(
            f"A message of {rows} rows and {length} bytes is too long: at most {MOST_ROWS} rows "
            f"and {LONGEST} bytes.",
            "length",
        )
    contents = _exactly(connection, length)
    if contents is None:
        raise ConnectionResetError("the connection ended inside a message")
    return Message(Kind(kind), bool(packed), rows, actions, contents)


def _exactly(connection: socket.socket, count: int) -> bytearray | None:
    """Read `count` bytes; None if the connection ends before the first."""
    data = bytearray(count)
    view, have = memoryview(data), 0
    while have < count:
        got = connection.recv_into(view[have:])
        if got == 0 and have == 0:
            return None
        if got == 0:
            raise ConnectionResetError("the connection ended inside a message")
        have += got
    return data


@dataclass(frozen=True)
class Welcome:
    """The first message of a server to a client: its network."""

    header: NetworkHeader
    name: str
    preferred_batch: int
    fingerprint: str
    """Equal for equal networks; empty if unknown."""


Question: TypeAlias = tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.uint32]]
"""Observations `[B, ...]`, legal actions of each row `[B]`, and logit indices `[A]`."""


class Rows:
    """The sizes of a network's messages.

    :raises ConfigError: one position does not fit into a message.
    """

    def __init__(self, header: NetworkHeader) -> None:
        self.header = header
        widest = 8 * header.observation_size + 8 * header.num_logits + 4 * header.value_outputs + 64
        self.most = min(MOST_ROWS, LONGEST // widest)
        """Most rows of a message."""
        if self.most < 1:
            raise ConfigError(f"An observation of {header.observation_size} numbers is too long.")
        self.value_columns = header.num_players if header.value == "seats" else 1

    def observations(self, count: int, *, packed: bool) -> tuple[type, tuple[int, ...]]:
        """Type and shape of `count` observations.

        :raises ProtocolError: the network has no packed ones.
        """
        if not packed:
            return np.float32, (count, *self.header.observation_shape)
        if self.header.encoding is None:
            raise ProtocolError(f"Observations of {self.header.game} are not packed.", "flags")
        return np.uint64, (count, self.header.observation_shape[0])

    def question(self, message: Message) -> Question:
        """The arrays of `EVALUATE` or `INFER`.

        :raises ProtocolError: a size or a number is out of range.
        """
        rows = message.rows
        if not 1 <= rows <= self.most:
            raise ProtocolError(f"A message has {rows} rows: send 1 to {self.most}.", "rows")
        observations = self.observations(rows, packed=message.packed)
        if message.kind == Kind.INFER:
            nothing = np.empty(0, np.uint32)
            (seen,) = message.arrays(observations)
            return seen, nothing, nothing
        if message.packed != (self.header.encoding is not None):
            raise ProtocolError(
                f"Leaves of {self.header.game} are packed if it has planes.", "flags"
            )
        layouts = (np.uint32, (rows,)), (np.uint32, (message.actions,))
        seen, counts, indices = message.arrays(observations, *layouts)
        if counts.sum(dtype=np.uint64) != message.actions:
            raise ProtocolError(
                f"The rows have {counts.sum(dtype=np.uint64)} actions together, but the message "
                f"has {message.actions}.",
                "actions",
            )
        if len(indices) and indices.max() >= self.header.num_logits:
            raise ProtocolError(
                f"A logit index is {indices.max()}: the network has {self.header.num_logits}.",
                "indices",
            )
        return seen, counts, indices

    def outputs(self, rows: int) -> list[tuple[type, tuple[int, ...]]]:
        """The layout of `INFERRED`."""
        header = self.header
        widths = [header.num_logits, header.value_outputs, *([1] if header.moves_left else [])]
        return [(np.float32, (rows, width)) for width in widths]
