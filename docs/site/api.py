"""The pages of the API reference: templates that mkdocstrings fills, one per room.

A page has the room's names first, then a section per module. A name that two modules offer is
described once, and linked elsewhere.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import sylvan

NO_API = ("sylvan.cli", "sylvan.moved")
"""Commands have a page of their own; moved names are old ones."""

WITHOUT_MEMBERS = [
    "    options:",
    "      members: false",
    "      show_root_heading: false",
    "      show_root_toc_entry: false",
]
"""Only the text of a module."""


def public_modules() -> Iterator[ModuleType]:
    """All modules of the package that have an API, packages before what they contain."""
    yield sylvan
    for found in pkgutil.walk_packages(sylvan.__path__, "sylvan."):
        if not found.name.startswith((*NO_API, "sylvan._")) and not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def public_names(module: ModuleType) -> list[str]:
    """The public names of a module, without modules and dunders."""
    names = getattr(module, "__all__", [])
    found = [name for name in names if not name.startswith("__")]
    return [name for name in found if not isinstance(getattr(module, name), ModuleType)]


def api_pages() -> dict[str, str]:
    """The pages of the API as templates for mkdocstrings, by path: one per room."""
    seen: dict[int | str, str] = {}  # the first path of each object
    rooms: dict[str, list[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for module in public_modules():
            room = module.__name__.split(".")[1] if module is not sylvan else "sylvan"
            rooms.setdefault(room, []).extend(api_section(module, seen))
    pages = {f"api/{room}.md": "\n".join(lines) for room, lines in rooms.items() if len(lines) > 8}
    return {"api/index.md": api_index(pages), **pages}


def api_section(module: ModuleType, seen: dict[int | str, str]) -> list[str]:
    """A module's heading and text, then its names; those of earlier sections as links."""
    title = "#" if module.__name__.count(".") < 2 else "##"
    lines = [f"{title} {module.__name__}", "", f"::: {module.__name__}", *WITHOUT_MEMBERS, ""]
    elsewhere = []
    for name in public_names(module):
        path = f"{module.__name__}.{name}"
        found = getattr(module, name)
        # Equal constants are not the same constant: only classes and functions have an identity.
        unique = id(found) if inspect.isclass(found) or inspect.isroutine(found) else path
        if seen.setdefault(unique, path) == path:
            lines += [f"::: {path}", ""]
        else:
            elsewhere.append(f"[`{name}`][{seen[unique]}]")
    return [*lines, f"Described elsewhere: {', '.join(elsewhere)}.", ""] if elsewhere else lines


def api_index(pages: dict[str, str]) -> str:
    lines = ["# API reference", "", "Every public name, room by room, from the docstrings.", ""]
    for path in pages:
        room = Path(path).stem
        module = sylvan if room == "sylvan" else importlib.import_module(f"sylvan.{room}")
        first = (module.__doc__ or "").partition("\n")[0]
        lines.append(f"- [`{module.__name__}`]({room}.md): {first}")
    return "\n".join([*lines, ""])
