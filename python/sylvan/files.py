"""Write a file so that a reader finds the old contents or the new, never a part.

Every file that Sylvan replaces is written here: write under a temporary name in the same folder,
fsync, rename, fsync the folder. After `write_bytes` returns, the new contents survive a crash.
Folders that are complete get their names by `rename`.
"""

import os
import re
import secrets
from os import PathLike
from pathlib import Path

from sylvan.errors import MissingFolder

__all__ = [
    "remove_leftovers",
    "rename",
    "sync_file",
    "sync_folder",
    "write_bytes",
    "write_new",
    "write_text",
]

_TEMPORARY = re.compile(r"\..+\.\d+\.tmp")
"""The temporary name of a file: its name, and a number of its own."""


def write_text(path: str | PathLike[str], text: str) -> None:
    """Replace a file by UTF-8 `text`, with line feeds on every system."""
    write_bytes(path, text.encode())


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Replace a file.

    :raises MissingFolder: its folder does not exist.
    """
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise MissingFolder(
            f"{target} cannot be written: there is no folder {folder}; make it first."
        )
    # Process numbers are not enough: machines that share the folder have the same ones.
    temporary = target.with_name(f".{target.name}.{secrets.randbits(64)}.tmp")
    try:
        write_new(temporary, data)
        rename(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def rename(path: Path, target: Path) -> None:
    """Rename a file, replacing `target`, or a folder, and wait until the new name is on the disk.

    The contents must be on the disk already.
    """
    os.replace(path, target)
    sync_folder(target.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of killed processes; no other process may write there now."""
    for path in folder.glob(".*.tmp"):
        if _TEMPORARY.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that nobody reads yet, and wait until its contents are on the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Wait until the contents of a file are on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: before that a crash can undo a rename."""
    if os.name == "nt":  # Windows cannot open folders, and orders renames itself
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
