"""The settings of a search for the page's panel, from the fields of `SearchConfig`."""

from __future__ import annotations

from typing import Any, Literal

from sylvan.errors import ConfigError
from sylvan.planning import SearchConfig
from sylvan.web.protocol import Setting, SettingInfo

__all__ = ["SHOWN", "panel", "read_settings"]

SHOWN = (
    "simulations", "selection", "c_puct", "c_base", "c_factor", "c_uct", "fpu", "fpu_reduction",
    "noise", "dirichlet_alpha", "dirichlet_fraction", "temperature", "max_considered",
    "gumbel_scale", "widening", "rave", "proofs", "leaves_in_flight", "deals", "seed",
)  # fmt: skip
"""The settings that change what a person sees, in the order of the panel."""


def panel() -> list[SettingInfo]:
    """The settings that a page can change."""
    properties = SearchConfig.model_json_schema()["properties"]
    return [_info(name, properties[name]) for name in SHOWN]


def _info(name: str, schema: dict[str, Any]) -> SettingInfo:
    kinds = schema.get("anyOf", [schema])
    types = {kind.get("type") for kind in kinds}
    choices = [str(choice) for kind in kinds for choice in kind.get("enum", ())]
    kind: Literal["switch", "choice", "number", "whole"]
    if "boolean" in types:
        kind = "switch"
    elif choices:
        kind = "choice"
    else:
        kind = "whole" if "integer" in types else "number"
    default = None if name == "simulations" else SearchConfig.model_fields[name].default
    return SettingInfo(
        name=name,
        help=schema["description"],
        kind=kind,
        choices=choices,
        optional="null" in types,
        default=default,
    )


def read_settings(given: dict[str, Setting], memory: int) -> SearchConfig:
    """The settings that a page asks for, within `memory` bytes.

    `simulations` is where a search stops by itself; without it, only the page stops it.

    :raises ConfigError: a setting does not exist, or its value does not fit.
    """
    for name in given:
        if name not in SHOWN:
            raise ConfigError(f"{name!r} is no setting of the page: use one of {', '.join(SHOWN)}.")
    values: dict[str, Any] = {name: value for name, value in given.items() if value != ""}
    if values.get("simulations") is None:
        # A Gumbel search plans each simulation ahead.
        values["simulations"] = 800 if values.get("selection") == "gumbel" else 2**32 - 1
    return SearchConfig(**values, bytes=memory)
