"""The storage of a run's cluster: a folder that the learner and all workers can reach.

    blobs/HASH            networks, recipes, positions to start from: named by their contents
    leases/NAME.shard     the games of a lease: written once, never changed

It is a shared folder or anything that fsspec can write to, such as `s3://bucket/run`. A file
appears whole or not at all: on a disk it is written under a temporary name, flushed and renamed; an
object store shows an object only when it is complete. Both kinds of files are verified when they
are read: a blob by its name, a shard by the checksum in its header.

    shard   8 bytes magic, 4 bytes length of the header, header in JSON, payload
"""

from __future__ import annotations

import errno
import json
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sylvan.cluster.lease import Lease, content_hash
from sylvan.errors import ClusterError, MissingExtra
from sylvan.files import remove_leftovers, write_bytes

__all__ = ["DamagedShard", "Storage"]

MAGIC = b"SYLVANLS"
_HEAD = struct.Struct("<8sI")


class DamagedShard(ClusterError):
    """A shard or blob whose contents do not fit its checksum."""


def _checksum(facts: dict[str, Any], payload: bytes) -> str:
    return content_hash(json.dumps(facts, sort_keys=True).encode() + payload)


class Storage:
    """Blobs and shards under one address.

    >>> storage = Storage("memory://a-run")
    >>> storage.blob(storage.put_blob(b"weights"))
    b'weights'

    :param address: a folder, or an address that fsspec knows.
    """

    def __init__(self, address: str | os.PathLike[str]) -> None:
        try:
            from fsspec.core import url_to_fs
            from fsspec.implementations.local import LocalFileSystem
        except ModuleNotFoundError:
            raise MissingExtra.named("A cluster's storage needs fsspec", "cluster") from None
        self.address = str(address)
        self._files, self._root = url_to_fs(self.address)
        self._is_local = isinstance(self._files, LocalFileSystem)

    # --- blobs ------------------------------------------------------------------------------

    def put_blob(self, data: bytes) -> str:
        """Store bytes under their hash, and return it."""
        name = content_hash(data)
        if not self.has_blob(name):
            self._write(f"blobs/{name}", data)
        return name

    def has_blob(self, name: str) -> bool:
        """Whether a blob is there."""
        return bool(self._files.exists(f"{self._root}/blobs/{name}"))

    def blob(self, name: str) -> bytes:
        """Read a blob and verify it.

        :raises DamagedShard: its contents have another hash.
        """
        data = self._read(f"blobs/{name}")
        if content_hash(data) != name:
            raise DamagedShard(f"The blob {name} in {self.address} is damaged: write it again.")
        return data

    def remove_blob(self, name: str) -> None:
        """Remove a blob, if it is there."""
        self._remove(f"blobs/{name}")

    def keep_blobs(self, names: Iterable[str]) -> None:
        """Remove all blobs but these."""
        kept = set(names)
        for name in self._names("blobs"):
            if name not in kept:
                self._remove(f"blobs/{name}")

    # --- shards -----------------------------------------------------------------------------

    def write_shard(self, lease: Lease, facts: dict[str, Any], payload: bytes) -> int:
        """Write the games of a lease, unless it has an undamaged shard; return the size in bytes.

        The learner may have read a shard already, so another worker's games never replace it.
        """
        fields = {"lease": lease.to_dict(), "facts": facts, "checksum": _checksum(facts, payload)}
        header = json.dumps(fields).encode()
        data = _HEAD.pack(MAGIC, len(header)) + header + payload
        if not self._has_undamaged(lease):
            self._write(f"leases/{lease.name}.shard", data)
        return len(data)

    def _has_undamaged(self, lease: Lease) -> bool:
        try:
            return self.has_shard(lease) and bool(self.read_shard(lease))
        except DamagedShard:
            return False

    def read_shard(self, lease: Lease) -> tuple[dict[str, Any], bytes]:
        """The facts and the payload of a lease's shard, verified.

        :raises DamagedShard: it is missing, damaged or of another lease.
        """
        try:
            data = self._read(f"leases/{lease.name}.shard")
        except FileNotFoundError:
            raise DamagedShard(f"The shard of lease {lease.name} is missing.") from None
        try:
            magic, length = _HEAD.unpack_from(data)
            payload = data[_HEAD.size + length :]
            fields = json.loads(data[_HEAD.size : _HEAD.size + length])
            valid = (
                magic == MAGIC
                and Lease.from_dict(fields["lease"]) == lease
                and fields["checksum"] == _checksum(fields["facts"], payload)
            )
        except (struct.error, ValueError, KeyError, TypeError):
            valid = False
        if not valid:
            raise DamagedShard(f"The shard of lease {lease.name} is damaged.")
        return fields["facts"], payload

    def has_shard(self, lease: Lease) -> bool:
        """Whether a lease has a shard."""
        return bool(self._files.exists(f"{self._root}/leases/{lease.name}.shard"))

    def shards(self) -> set[str]:
        """The names of the leases that have a shard."""
        return {name[: -len(".shard")] for name in self._names("leases") if name.endswith(".shard")}

    def remove_shard(self, name: str) -> None:
        """Remove the shard of a lease, if it is there."""
        self._remove(f"leases/{name}.shard")

    # --- files ------------------------------------------------------------------------------

    def _read(self, name: str) -> bytes:
        data: bytes = self._files.cat_file(f"{self._root}/{name}")
        return data

    def _write(self, name: str, data: bytes) -> None:
        """Write a file that appears whole or not at all."""
        path = f"{self._root}/{name}"
        if not self._is_local:
            self._files.pipe_file(path, data)
            return
        target = Path(path)
        if not Path(self._root).is_dir():  # a folder that was unmounted is not made anew
            raise OSError(errno.ENOENT, "the storage has disappeared", self._root)
        target.parent.mkdir(exist_ok=True)
        write_bytes(target, data)

    def _names(self, folder: str) -> list[str]:
        try:
            found = self._files.ls(f"{self._root}/{folder}", detail=False, refresh=True)
        except FileNotFoundError:
            return []
        names = (str(path).rpartition("/")[2] for path in found)
        return [name for name in names if name and not name.startswith(".")]

    def _remove(self, name: str) -> None:
        try:
            self._files.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return

    def make(self) -> None:
        """Create the folder; the learner does it once."""
        self._files.makedirs(self._root, exist_ok=True)

    def sweep(self) -> None:
        """Remove the half-written files of killed workers; no worker may be running."""
        if self._is_local:
            for folder in ("blobs", "leases"):
                remove_leftovers(Path(self._root) / folder)
