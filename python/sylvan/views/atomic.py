"""Writing a file so that a reader finds it whole or not at all."""

import os
from os import PathLike
from pathlib import Path

from sylvan.errors import ConfigError


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write UTF-8 `text` under a temporary name beside `path`, then rename it to `path`."""
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise ConfigError(f"cannot save {target}: there is no folder {folder}; make it first")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
