"""Blobs on a machine's own disk: each is fetched once for all workers of the machine.

A blob is fetched under a lock, so the other workers wait and find it. Every read verifies its hash;
a damaged copy is fetched again. Old blobs are removed when there are many.
"""

from __future__ import annotations

import getpass
import tempfile
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sylvan.cluster.lease import content_hash
from sylvan.files import write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NodeCache"]

KEPT = 32
"""Blobs to keep."""


class NodeCache:
    """Blobs in a folder of this machine.

    :param folder: default: a folder of this user among temporary files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (
            folder or Path(tempfile.gettempdir()) / f"sylvan-{getpass.getuser()}" / "blobs"
        )
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def blob(self, name: str, fetch: Callable[[str], bytes]) -> bytes:
        """A blob: the machine's copy, or what `fetch` gives."""
        path = self.folder / name
        with self._lock(name):
            try:
                data = path.read_bytes()
                if content_hash(data) == name:
                    return data
            except FileNotFoundError:
                pass
            data = fetch(name)
            write_bytes(path, data)
            self._clean()
            return data

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        """Hold a blob's lock; the operating system releases those of killed workers."""
        try:
            import fcntl
        except ImportError:  # Windows: two workers may fetch the same blob
            yield
            return
        with (self.folder / f".{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _clean(self) -> None:
        blobs = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):  # another worker cleans too
                if not path.name.startswith("."):
                    blobs.append((path.stat().st_mtime, path))
        for _, path in sorted(blobs)[:-KEPT]:
            path.unlink(missing_ok=True)
            (self.folder / f".{path.name}.lock").unlink(missing_ok=True)
