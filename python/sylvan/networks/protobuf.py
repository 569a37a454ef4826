"""The wire format of protocol buffers: to read lc0's weights and write ONNX models.

A message is a sequence of fields, each a key (number << 3 | wire type) and a value: 0 a varint, 1
eight bytes, 2 a length and as many bytes (text, a message, packed numbers), 5 four bytes. This
suffices to read or write a file with known field numbers, and saves the tenth of a second
that generated classes take to import.

Reference: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

__all__ = ["Malformed", "Message", "encode", "read"]

Bytes = bytes | memoryview
Scalar = int | float | str | Bytes
Fields = Mapping[int, "Scalar | Fields | Sequence[Scalar | Fields]"]


class Malformed(ValueError):
    """Invalid bytes; the text gives the position."""


class Message(dict[int, list[int | memoryview]]):
    """The fields of a message: number to values in order; absent fields are empty.

    Fixed-width values stay bytes: their type is not in the message.
    """

    def __missing__(self, number: int) -> list[int | memoryview]:
        return []

    def integer(self, number: int, default: int = 0) -> int:
        """A field that holds a varint or a fixed-width unsigned integer."""
        value = self[number][-1] if self[number] else default
        return value if isinstance(value, int) else int.from_bytes(value, "little")

    def floating(self, number: int, default: float = 0.0) -> float:
        """A field that holds a single-precision number."""
        if not self[number]:
            return default
        value = self[number][-1]
        if isinstance(value, int) or len(value) != 4:
            raise Malformed(f"field {number} is not a number of 4 bytes")
        return float(struct.unpack("<f", value)[0])

    def data(self, number: int) -> memoryview:
        """A field that holds bytes."""
        value = self[number][-1] if self[number] else memoryview(b"")
        if isinstance(value, int):
            raise Malformed(f"field {number} is a number in place of bytes")
        return value

    def message(self, number: int) -> Message:
        """A field that holds a message; empty if there is none."""
        return read(self.data(number))

    def messages(self, number: int) -> list[Message]:
        """A repeated field of messages."""
        if any(isinstance(value, int) for value in self[number]):
            raise Malformed(f"field {number} is a number in place of a message")
        return [read(value) for value in self[number] if not isinstance(value, int)]


def read(data: Bytes) -> Message:
    """Parse the fields of a message. Inner messages are parsed on access; nothing is copied.

    >>> message = read(encode({1: 300, 2: "abc", 3: [1, 2]}))
    >>> message.integer(1), bytes(message.data(2)), message[3], message.integer(9, default=7)
    (300, b'abc', [1, 2], 7)
    """
    view, at, message = memoryview(data), 0, Message()
    while at < len(view):
        key, at = _varint(view, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(view, at)
            message.setdefault(number, []).append(value)
            continue
        if kind == 2:
            size, at = _varint(view, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise Malformed(f"byte {at} starts a field of the unknown type {kind}")
        if number == 0 or size > len(view) - at:
            raise Malformed(f"field {number} at byte {at} goes beyond the end")
        message.setdefault(number, []).append(view[at : at + size])
        at += size
    return message


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    """Decode the varint at offset `at`; return it and the offset after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(view):
            raise Malformed("it ends in the middle of a number")
        byte = view[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise Malformed(f"the number before byte {at} is too long")


def encode(fields: Fields) -> bytes:
    """Encode a message: integers as varints, floats in four bytes, sequences repeated.

    >>> encode({1: 300, 2: "ab", 3: {1: 1}, 4: 0.5}).hex()
    '08ac02120261621a020801250000003f'
    """
    parts: list[Bytes] = []
    for number, values in fields.items():
        repeated = isinstance(values, Sequence) and not isinstance(values, str | Bytes)
        for value in values if repeated else (values,):  # type: ignore[union-attr]
            _append(parts, number, value)  # type: ignore[arg-type]
    return b"".join(parts)


def _append(parts: list[Bytes], number: int, value: Scalar | Fields) -> None:
    if isinstance(value, int):
        parts += _number(number << 3), _number(value)
    elif isinstance(value, float):
        parts += _number(number << 3 | 5), struct.pack("<f", value)
    else:
        if isinstance(value, Mapping):
            value = encode(value)
        elif isinstance(value, str):
            value = value.encode()
        parts += _number(number << 3 | 2), _number(len(value)), value


def _number(value: int) -> bytes:
    """A varint; negative numbers are those of 64 bits, as for int32 and int64 fields."""
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
