"""Files of settings: `name: value`, a line each, in sections if one likes.

    mcts:
      simulations_per_move: 400   # a comment
      c_puct: 1.5
    self_play:
      temp_threshold: 30

This is the part of YAML that settings need, so that no YAML library is needed: names, numbers,
true, false, null, text with or without quotes, comments, and sections by indentation, whose names
mean nothing. Anything else is refused with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sylvan.errors import ConfigError

__all__ = ["read_overrides", "read_settings"]

_LINE = re.compile(r"\s*([A-Za-z_]\w*)\s*:(?:\s+(.*))?")


def read_settings(source: Mapping[str, Any] | str | Path) -> dict[str, Any]:
    """Settings from a file or a dictionary; sections, which may be nested, are laid flat.

    >>> read_settings({"mcts": {"c_puct": 1.5}, "temp_threshold": 20})
    {'c_puct': 1.5, 'temp_threshold': 20}
    """
    if isinstance(source, Mapping):
        flat: dict[str, Any] = {}
        for name, value in source.items():
            inner = read_settings(value) if isinstance(value, Mapping) else {str(name): value}
            _add(flat, inner, "the settings")
        return flat
    try:
        lines = Path(source).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ConfigError(f"{source} is no text in UTF-8: give a file of settings.") from None
    flat = {}
    for number, line in enumerate(lines, 1):
        where = f"{source}, line {number}"
        text = re.sub(r"(^|\s)#.*", "", line).rstrip()
        match = _LINE.fullmatch(text)
        if text.strip() in ("", "---"):
            continue
        if match is None or re.match(r"[\[{&*!|>@`%]", match[2] or ""):
            raise ConfigError(f"{where} is {line.strip()!r}: write each setting as 'name: value'.")
        if match[2]:  # else the name of a section
            _add(flat, {match[1]: _value(match[2])}, where)
    return flat


def read_overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Settings as a command line has them.

    >>> read_overrides(["c_puct=2", "fpu=parent", "noise=false"])
    {'c_puct': 2, 'fpu': 'parent', 'noise': False}
    """
    flat: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"The setting {text!r} has no value: write it as name=value.")
        _add(flat, {name.strip().lstrip("-"): _value(value.strip())}, text)
    return flat


def _add(flat: dict[str, Any], more: dict[str, Any], where: str) -> None:
    for name in more:
        if name in flat:
            raise ConfigError(f"{name!r} is set a second time in {where}: set it once.")
    flat.update(more)


def _value(text: str) -> Any:
    """A number, true, false or null as in JSON; anything else is text."""
    if text[:1] == text[-1:] == "'":
        return text[1:-1]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        words = {"true": True, "yes": True, "false": False, "no": False, "null": None, "~": None}
        return words.get(text.lower(), text)
