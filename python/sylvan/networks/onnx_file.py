"""ONNX files with a checksum, so that damage is an error when they are loaded.

`write_model` appends one metadata property to the model: the CRC-32 of all bytes before it.
Protocol buffers allow that: a repeated field may continue at the end. Other programs read the file
as usual. Files without the property load unverified.
"""

from __future__ import annotations

import zlib
from os import PathLike
from pathlib import Path

from sylvan.errors import NetworkError
from sylvan.files import write_bytes
from sylvan.networks import protobuf
from sylvan.networks.header import HEADER_KEY, NetworkHeader

__all__ = ["read_model", "relabelled_model", "verified_model", "write_model"]

METADATA = 14
"""Number of the field `metadata_props` of a `ModelProto`."""
KEY = "sylvan.crc32"


def write_model(path: str | PathLike[str], model: bytes) -> None:
    """Write a model and its checksum to a file."""
    write_bytes(path, model + _property(model))


def read_model(path: str | PathLike[str]) -> bytes:
    """Read a model from a file, without its checksum.

    :raises NetworkError: the file cannot be read, or the checksum differs.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise NetworkError(f"{path} cannot be opened: {reason}.") from None
    return verified_model(data, str(path))


def verified_model(data: bytes, name: str) -> bytes:
    """Return a model without its checksum; one without a checksum is returned as it is.

    :param name: of the file, for errors.
    :raises NetworkError: the checksum differs.
    """
    end = len(data) - len(_property(b""))
    if data[end:-8] != _property(b"")[:-8]:
        return data
    model = data[:end]
    if data[end:] != _property(model):
        raise NetworkError(
            f"{name} is damaged: its checksum does not match its contents; copy it again."
        )
    return model


def relabelled_model(model: bytes, header: NetworkHeader) -> bytes:
    """Return a model, read by `read_model`, with another header."""
    import onnx

    parsed = onnx.load_model_from_string(model)
    for entry in parsed.metadata_props:
        if entry.key == HEADER_KEY:
            entry.value = header.to_json()
    data: bytes = parsed.SerializeToString()
    return data


def _property(model: bytes) -> bytes:
    """The property that states a model's checksum; it always has the same length."""
    return protobuf.encode({METADATA: {1: KEY, 2: f"{zlib.crc32(model):08x}"}})
