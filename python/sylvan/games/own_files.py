"""Objects from a user's own Python file: `my_game.py:MyGame`.

The file's folder counts for its imports, as in `python my_game.py`. What the file raises is the
user's to mend: `own_fault` says where, so that commands can name the line instead of printing a
traceback through Sylvan.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from sylvan.errors import ConfigError, SylvanError

__all__ = ["load_object", "own_fault"]

PREFIX = "_sylvan_file_"
"""Begins the names of modules that are users' files."""


def load_object(name: str, what: str) -> Any:
    """Load an object from a Python file: `path.py:Name`.

    :param what: description for errors: "the game's class".
    :raises ConfigError: the file does not exist, cannot be imported, or has no such name.
    """
    path, _, own = name.rpartition(":")
    found = getattr(_module(Path(path)), own, None)
    if found is None:
        raise ConfigError(f"{path} has no {own!r}: give path.py:Name of {what}.")
    return found


def own_fault(error: BaseException) -> str | None:
    """Return where a user's file raised an error, and which; None if Sylvan raised it.

    The file is at fault if it called last, directly or through a library.
    """
    line = None
    for frame, number in walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        if module.startswith(PREFIX):
            line = f"line {number} of {Path(frame.f_code.co_filename).name}"
        elif module.partition(".")[0] == "sylvan":
            line = None
    if line is None:
        return None
    return f"{_described(error)} in {line}"


def _module(path: Path) -> ModuleType:
    """Import a file as a module, once per process."""
    if not path.is_file():
        raise ConfigError(f"There is no file {str(path)!r}: give the path of a Python file.")
    path = path.resolve()
    key = f"{PREFIX}{abs(hash(path))}"
    if key not in sys.modules:
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        spec = importlib.util.spec_from_file_location(key, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module  # before it runs: dataclasses look up their module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[key]
            if isinstance(error, SylvanError) or not isinstance(error, Exception):
                raise
            raise ConfigError(f"{path.name} cannot be imported: {_of_import(error)}.") from error
    return sys.modules[key]


def _of_import(error: Exception) -> str:
    """The exception of a file while it was imported, with its line."""
    if isinstance(error, SyntaxError):
        file = Path(error.filename or "?").name
        return f"{type(error).__name__} ({error.msg}) in line {error.lineno} of {file}"
    return own_fault(error) or _described(error)


def _described(error: BaseException) -> str:
    """A kind of error, and what it says."""
    return f"{type(error).__name__} ({error})" if str(error) else type(error).__name__
