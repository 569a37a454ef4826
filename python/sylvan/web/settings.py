"""The settings of a search for the page's panel, from the fields of `SearchConfig`."""

from __future__ import annotations

from typing import Any, Literal

from sylvan.errors import ConfigError
from sylvan.planning import SearchConfig
from sylvan.web.protocol import Setting, SettingInfo

__all__ = ["SHOWN", "kept_settings", "panel", "read_settings"]

SHOWN = (
    "simulations", "selection", "c_puct", "c_base", "c_factor", "c_uct", "fpu", "fpu_reduction",
    "noise", "dirichlet_alpha", "dirichlet_fraction", "temperature", "max_considered",
    "gumbel_scale", "widening", "rave", "proofs", "transpositions", "leaves_in_flight", "deals",
    "seed",
)  # fmt: skip
"""The settings that change what a person sees, in the order of the panel."""

MACHINE = ("bytes", "threads", "seconds")
"""Settings that are the server's."""

KEPT = tuple(name for name in SearchConfig.model_fields if name not in (*SHOWN, *MACHINE, "hidden"))
"""Settings that a page keeps when an analysis from a file has them, without a field of their own. A
page cannot choose what a search may see.
"""


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
        if name not in (*SHOWN, *KEPT):
            raise ConfigError(f"{name!r} is no setting of the page: use one of {', '.join(SHOWN)}.")
    values: dict[str, Any] = {name: value for name, value in given.items() if value != ""}
    if values.get("simulations") is None:
        # A Gumbel search plans each simulation ahead.
        values["simulations"] = 800 if values.get("selection") == "gumbel" else 2**32 - 1
    return SearchConfig(**values, bytes=memory)


def kept_settings(saved: dict[str, Any]) -> tuple[dict[str, Setting], list[str]]:
    """The settings of an analysis from a file that a page goes on with, and the names of those that
    it cannot keep.
    """
    kept = {
        name: value
        for name, value in saved.items()
        if name in (*SHOWN, *KEPT) and isinstance(value, bool | int | float | str | None)
    }
    return kept, [name for name in saved if name not in (*kept, *MACHINE)]
