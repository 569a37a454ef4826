"""The rooms of the core are ordered: each uses only rooms before it, without exceptions.

Paths are read from the sources: in `use` lines and inside functions.
"""

import re
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[1] / "crates"
SOURCES = CRATES / "sylvan-core" / "src"

# From lowest to highest, one room per level.
ROOMS = ["contracts", "memory", "sources", "search", "selfplay"]

FILES = sorted(SOURCES.glob("*/*.rs"))
LISTINGS = sorted([*CRATES.glob("*/src/lib.rs"), *CRATES.glob("*/src/**/mod.rs")])


def without_comments(source: str) -> str:
    """The source with its line comments blanked; lines keep their numbers."""
    return re.sub(r"//[^\n]*", "", source)


def used_paths(source: str, room: str, file: str) -> list[tuple[int, str]]:
    """Line and first segment, below the crate, of every path that `source` names.

    `crate::memory::node` is in `memory`. `super` is relative to its file: in `room/mod.rs`
    one `super` is the crate, in `room/file.rs` it is the room, in a module inside that file the
    file. So `super::super` of a file, and one more inside a module of it, is the crate.
    """
    found = []
    inner = 0  # enclosing modules with a body
    closing: list[int] = []
    depth = 0
    for number, line in enumerate(without_comments(source).splitlines(), 1):
        if re.match(r"\s*(pub(\([^)]*\))? )?mod \w+ \{", line):
            closing.append(depth)
            inner += 1
        for start in re.finditer(r"\bcrate::(\{[^;]*|\w+)", line):
            found += [(number, name) for name in first_segments(start[1])]
        for start in re.finditer(r"(?<!:)\b((?:super::)+)(\{[^;]*|\w+)", line):
            supers = start[1].count("super")
            levels = inner + (1 if file == "mod.rs" else 2)
            if supers == levels:
                found += [(number, name) for name in first_segments(start[2])]
            elif supers > levels:
                found.append((number, "a path above the crate"))
        depth += line.count("{") - line.count("}")
        while closing and depth <= closing[-1]:
            closing.pop()
            inner -= 1
    return [(line, name) for line, name in found if name != room]


def first_segments(path: str) -> list[str]:
    """`memory` of `memory`; `memory`, `search` of `{memory::node, search::tree}`."""
    if not path.startswith("{"):
        return [path]
    flat = path[1:]
    while "{" in flat:
        flat = re.sub(r"\{[^{}]*\}?", "", flat, count=1)
    return [part.split("::")[0].strip(" }") for part in flat.split(",") if part.strip(" }")]


def name(path: Path) -> str:
    return str(path.relative_to(SOURCES))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_room_uses_only_rooms_before_it(path):
    room = path.parent.name
    below = ROOMS[: ROOMS.index(room)]
    upwards = [
        f"{name(path)}:{line} uses {other}, which does not stand before {room}"
        for line, other in used_paths(path.read_text(), room, path.name)
        if other not in below
    ]
    assert not upwards, "\n".join(upwards)


def test_every_file_stands_in_a_room():
    assert {path.name for path in SOURCES.iterdir()} == {"lib.rs", *ROOMS}
    assert {path.parent.name for path in SOURCES.rglob("*.rs")} == {"src", *ROOMS}


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda path: str(path.relative_to(CRATES)))
def test_a_room_lists_its_files_with_a_line_each(listing):
    """A file without its line in `mod.rs` or `lib.rs` would not be compiled either."""
    source = listing.read_text()
    modules = re.findall(r"^(?:pub(?:\(crate\))? )?mod (\w+);", source, re.MULTILINE)
    remarked = re.findall(r"^(?:pub(?:\(crate\))? )?mod (\w+); // \S.*$", source, re.MULTILINE)
    files = {path.stem for path in listing.parent.glob("*.rs")} - {"mod", "lib"}
    assert files <= set(modules)
    if listing.parent != SOURCES:  # the rooms of the core have a paragraph each
        assert modules == remarked


def test_only_what_other_crates_use_is_public():
    """A `pub mod` of the core is exported by `lib.rs`; a games' module is used by another crate."""
    exported = (SOURCES / "lib.rs").read_text()
    for listing in LISTINGS:
        users = exported
        if SOURCES not in listing.parents:
            own = listing.relative_to(CRATES).parts[0]
            outside = [
                path
                for path in CRATES.rglob("*.rs")
                if path.relative_to(CRATES).parts[:2] != (own, "src")
            ]
            users = "\n".join(path.read_text() for path in outside)
        for module in re.findall(r"^pub mod (\w+);", listing.read_text(), re.MULTILINE):
            assert re.search(rf"\b{module}\b", users), f"{listing}: {module} can be pub(crate)"


def test_the_crate_lists_its_rooms_in_order():
    source = (SOURCES / "lib.rs").read_text()
    assert re.findall(r"^(?:pub )?mod (\w+);", source, re.MULTILINE) == ROOMS


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("use crate::memory::node::Node;", ["memory"]),
        ("use crate::{memory::node, selfplay::{moves, results}};", ["memory", "selfplay"]),
        ("fn f() { crate::selfplay::moves::f() }", ["selfplay"]),
        ("use super::tree::Tree;", []),
        ("use super::super::selfplay::moves;", ["selfplay"]),
        ("mod tests {\n    use super::super::super::selfplay;\n}", ["selfplay"]),
        ("mod tests {\n    use super::super::tree;\n}", []),
        ("use crate::search::tree::Tree; // crate::selfplay", []),
    ],
)
def test_paths_are_seen(source, rooms):
    assert [room for _, room in used_paths(source, "search", "tree.rs")] == rooms
