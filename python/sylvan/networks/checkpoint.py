"""Network files: safetensors with a header.

A safetensors file has eight bytes (the length of the index), a JSON index with the name, type,
shape and offset of every tensor, and then the data. It contains no code. The header
(`NetworkHeader`) is text under the key `sylvan` in the index's metadata.

A file is written under a temporary name and renamed, so it is never incomplete. Reading checks
format, game, shapes, every tensor, and the CRC-32 of index and data that the metadata has under
`crc32`; files without it are read unverified.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import NetworkError
from sylvan.files import write_bytes
from sylvan.networks.header import HEADER_KEY, NetworkHeader, header_of

if TYPE_CHECKING:
    import torch

    from sylvan.games import Game
    from sylvan.networks.muzero import MuZeroNetwork
    from sylvan.networks.network import Network

__all__ = [
    "load_network",
    "load_tensors",
    "read_checkpoint",
    "read_header",
    "save_network",
    "write_checkpoint",
]

M = TypeVar("M", bound="torch.nn.Module")

Arrays = Mapping[str, NDArray[Any]]

CHECKSUM_KEY = "crc32"
"""Key of the checksum in a file's metadata."""

_LARGEST_INDEX = 100_000_000
"""Maximum bytes of the JSON index: the limit of safetensors."""

_OTHER_FORMATS = {
    b"\x1f\x8b": "a gzip file, such as lc0's .pb.gz: load it by that name",
    b"PK": "a zip file, such as PyTorch's .pt, which can run code when read: save it with "
    "save_network",
    b"\x80": "a pickle, which can run code when read: save it with save_network",
    b"\x89H": "an HDF5 file: save the network with save_network",
}


def save_network(
    network: torch.nn.Module,
    path: str | PathLike[str],
    *,
    header: NetworkHeader | None = None,
    training_step: int | None = None,
) -> None:
    """Write a module's tensors and header to a `.safetensors` file.

    Args:
        network: a `Network`, or any module with the signature of `NetworkOutput`.
        path: the file; its folder must exist.
        header: for a module without a header.
        training_step: replaces the header's.
    """
    header = header or header_of(network)
    if header is None:
        raise NetworkError(
            f"{type(network).__name__} has no header: give header=NetworkHeader.for_game(game)."
        )
    if training_step is not None:
        header = header.replace(training_step=training_step)
    tensors = {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
    write_checkpoint(path, header, tensors)


def write_checkpoint(path: str | PathLike[str], header: NetworkHeader, tensors: Arrays) -> None:
    """Write arrays and a header; needs no PyTorch."""
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    saved = save(contiguous, metadata={HEADER_KEY: header.to_json()})
    index = _index(saved, Path(path))
    data = memoryview(saved)[_data_start(saved) :]
    index["__metadata__"][CHECKSUM_KEY] = _checksum(index, data)
    text = json.dumps(index, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # safetensors aligns the data to 8 bytes
    write_bytes(path, b"".join((struct.pack("<Q", len(text)), text, data)))


def read_header(path: str | PathLike[str]) -> NetworkHeader:
    """Read only the header."""
    source = Path(path)
    with _opened(source) as file:
        return _header(_index(file.read(_LARGEST_INDEX + 8), source), source)


def read_checkpoint(path: str | PathLike[str]) -> tuple[NetworkHeader, dict[str, NDArray[Any]]]:
    """Read the header and the arrays of a file; needs no PyTorch.

    :raises NetworkError: the file is missing, not safetensors, truncated, or not by Sylvan.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    source = Path(path)
    with _opened(source) as file:
        data = file.read()
    index = _index(data, source)
    header = _header(index, source)
    ends = [_end(entry) for name, entry in index.items() if name != "__metadata__"]
    missing = _data_start(data) + max(ends, default=0) - len(data)
    if missing > 0:
        raise NetworkError(
            f"{source} is truncated: {missing} bytes of {len(data) + missing} are missing; copy it "
            "again."
        )
    stated = index["__metadata__"].get(CHECKSUM_KEY)
    if stated is not None and stated != _checksum(index, memoryview(data)[_data_start(data) :]):
        raise NetworkError(
            f"{source} is damaged: its checksum does not match its contents; copy it again."
        )
    try:
        return header, load(data)
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise NetworkError(f"{source} is damaged ({error}): copy it again.") from None


@overload
def load_network(
    path: str | PathLike[str], *, module: M, game: Game | None = None, device: str = "cpu"
) -> M: ...


@overload
def load_network(
    path: str | PathLike[str], *, game: Game | None = None, device: str = "cpu"
) -> Network | MuZeroNetwork: ...


def load_network(
    path: str | PathLike[str],
    *,
    module: torch.nn.Module | None = None,
    game: Game | None = None,
    device: str = "cpu",
) -> torch.nn.Module:
    """Load the network in a file, in evaluation mode: a `Network`, or a `MuZeroNetwork`.

    Args:
        path: a `.safetensors` file that `save_network` wrote.
        module: the module to load into; None: build one from the header.
        game: a state of the game to check the network against.
        device: device of the network.

    :raises NetworkError: the file is invalid, or does not fit; the message says why.
    """
    from sylvan.networks import build_module

    header, tensors = read_checkpoint(path)
    if game is not None:
        header.shown(game)
    network: torch.nn.Module = build_module(header) if module is None else module
    load_tensors(network, tensors, str(path))
    network.header = header  # type: ignore[assignment]
    return network.to(device).eval()


def load_tensors(module: torch.nn.Module, tensors: Arrays, source: str = "the file") -> None:
    """Load arrays into a module whose tensors have the same names and shapes.

    :raises NetworkError: one is missing, unknown, or has another shape; nothing is changed.
    """
    import torch

    wanted = module.state_dict()
    for name, tensor in wanted.items():
        if name not in tensors:
            raise NetworkError(
                f"{source} has no tensor {name!r}, which {type(module).__name__} needs: it was "
                "saved from another network."
            )
        if tuple(tensor.shape) != tensors[name].shape:
            raise NetworkError(
                f"{source} has {name!r} of shape {tensors[name].shape}, but "
                f"{type(module).__name__} needs {tuple(tensor.shape)}: it was saved from another "
                "network."
            )
    for name in tensors:
        if name not in wanted:
            raise NetworkError(
                f"{source} has a tensor {name!r}, which {type(module).__name__} does not have: it "
                "was saved from another network."
            )
    module.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})


def _opened(source: Path) -> BinaryIO:
    try:
        return source.open("rb")
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise NetworkError(f"{source} cannot be opened: {reason}.") from None


def _index(data: bytes, source: Path) -> dict[str, Any]:
    """The JSON index of a safetensors file."""
    for magic, kind in _OTHER_FORMATS.items():
        if data.startswith(magic) and data[8:9] != b"{":
            raise NetworkError(f"{source} is {kind}.")
    if len(data) < 8:
        raise NetworkError(f"{source} is truncated: it has {len(data)} bytes; copy it again.")
    (length,) = struct.unpack("<Q", data[:8])
    if data[8:9] not in (b"{", b"") or length > _LARGEST_INDEX:
        raise NetworkError(f"{source} is not a safetensors file: give one that save_network wrote.")
    if length > len(data) - 8:
        raise NetworkError(f"{source} is truncated in its list of tensors: copy it again.")
    try:
        index = json.loads(data[8 : 8 + length])
    except ValueError:
        raise NetworkError(f"{source} has a damaged list of tensors: copy it again.") from None
    if not isinstance(index, dict):
        raise NetworkError(f"{source} has a damaged list of tensors: copy it again.")
    return index


def _data_start(file: bytes) -> int:
    """The position of the first tensor in a safetensors file."""
    (length,) = struct.unpack("<Q", file[:8])
    return int(length) + 8


def _checksum(index: dict[str, Any], data: memoryview) -> str:
    """The CRC-32 of an index, without the checksum itself, and of the tensors."""
    metadata = {k: v for k, v in index["__metadata__"].items() if k != CHECKSUM_KEY}
    text = json.dumps({**index, "__metadata__": metadata}, sort_keys=True).encode()
    return f"{zlib.crc32(data, zlib.crc32(text)):08x}"


def _header(index: dict[str, Any], source: Path) -> NetworkHeader:
    metadata = index.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get(HEADER_KEY), str):
        raise NetworkError(f"{source} has no header: it was not written by save_network.")
    return NetworkHeader.from_json(metadata[HEADER_KEY], str(source))


def _end(entry: Any) -> int:
    """The end offset of a tensor in the data; 0 if the entry is invalid."""
    offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
    last = offsets[-1] if isinstance(offsets, list) and offsets else 0
    return last if isinstance(last, int) else 0
