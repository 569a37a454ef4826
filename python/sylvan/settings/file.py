"""Read settings from TOML or YAML files; write them to TOML with a comment on each setting.

TOML has no null, so None is written as `"none"`, and `"none"` is read as None in every field that
accepts None.
"""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from sylvan.errors import ConfigError

__all__ = ["NONE", "plain_settings", "read_settings", "toml_text", "without_none"]

NONE = "none"
"""None in a TOML file."""

_SUFFIXES = (".toml", ".yaml", ".yml")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_settings(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a TOML or YAML file, section by section.

    :raises ConfigError: the file is missing, or is not valid TOML or YAML.
    """
    source = Path(path)
    if source.suffix not in _SUFFIXES:
        raise ConfigError(f"{source} is not a settings file: its name must end in .toml or .yaml.")
    if not source.is_file():
        raise ConfigError(f"There is no file {source}: give the path of a settings file.")
    try:
        text = source.read_text(encoding="utf-8")
        settings = tomllib.loads(text) if source.suffix == ".toml" else _yaml(text)
    except (ValueError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{source} cannot be read: {reason}.") from None
    if not isinstance(settings, dict):
        raise ConfigError(f"{source} contains no settings: write sections such as 'search:'.")
    return settings


def _yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def without_none(model: type[BaseModel], settings: Any) -> Any:
    """Replace `"none"` by None in the fields of `model` that accept None."""
    if not isinstance(settings, Mapping):
        return settings
    return {
        name: None
        if value == NONE and name in model.model_fields and _optional(model.model_fields[name])
        else value
        for name, value in settings.items()
    }


def _optional(field: FieldInfo) -> bool:
    return NoneType in get_args(field.annotation)


def plain_settings(config: BaseModel) -> dict[str, dict[str, Any]]:
    """All settings of all sections as JSON values, as stored in a file."""
    return config.model_dump(mode="json")


def toml_text(config: BaseModel, head: str) -> str:
    """Format all settings as a TOML file, with each setting's description as a comment above it."""
    lines = [f"# {line}" for line in head.splitlines()]
    for name in type(config).model_fields:
        section: BaseModel = getattr(config, name)
        lines += ["", f"[{name}]", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: BaseModel) -> Iterator[str]:
    values = section.model_dump(mode="json")
    for name, field in type(section).model_fields.items():
        if field.description:
            description = " ".join(field.description.split())
            yield from textwrap.wrap(f"# {description}", 100, subsequent_indent="# ")
        yield f"{name} = {_toml(values[name])}"


def _toml(value: Any) -> str:
    """Format a value as TOML.

    >>> _toml({"rows": 6, "norm": None, "rates": [0.5, 1e-05], "on": True})
    '{rows = 6, norm = "none", rates = [0.5, 1e-05], on = true}'
    """
    if value is None:
        return f'"{NONE}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)  # the shortest text that reads back as the same number
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{_key(str(key))} = {_toml(inner)}" for key, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    raise ConfigError(f"{value!r} cannot be written to a settings file: use numbers and text.")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
