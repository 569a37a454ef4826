"""Settings files of `alphachess`, YAML or TOML, with or without sections:

    mcts:
      simulations_per_move: 400   # a comment
      c_puct: 1.5
    self_play:
      temp_threshold: 30

Section names have no meaning: all settings are read into one flat dictionary.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sylvan.errors import ConfigError

__all__ = ["read_overrides", "read_settings"]


def read_settings(source: Mapping[str, Any] | str | Path) -> dict[str, Any]:
    """Read settings from a file or a dictionary into a flat dictionary.

    >>> read_settings({"mcts": {"c_puct": 1.5}, "temp_threshold": 20})
    {'c_puct': 1.5, 'temp_threshold': 20}
    """
    if not isinstance(source, Mapping):
        return _flat(_parsed(Path(source)), str(source))
    return _flat(source, "the settings")


def read_overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Read settings from a command line.

    >>> read_overrides(["c_puct=2", "fpu=parent", "noise=false"])
    {'c_puct': 2, 'fpu': 'parent', 'noise': False}
    """
    import yaml

    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"The setting {text!r} has no value: write it as name=value.")
        _add(settings, name.strip().lstrip("-"), yaml.safe_load(value), "the overrides")
    return settings


def _parsed(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        settings = tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text) or {}
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path} cannot be read as settings: {reason}.") from None
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{path} holds no settings: write each as 'name: value'.")
    return settings


def _flat(settings: Mapping[Any, Any], where: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        inner = _flat(value, where) if isinstance(value, Mapping) else {str(name): value}
        for each, setting in inner.items():
            _add(flat, each, setting, where)
    return flat


def _add(settings: dict[str, Any], name: str, value: Any, where: str) -> None:
    if name in settings:
        raise ConfigError(f"{name!r} is set a second time in {where}: set it once.")
    settings[name] = value
