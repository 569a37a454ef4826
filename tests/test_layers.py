"""Dependencies point one way: every room of the house imports itself and lower rooms.

Imports are read from the source: those inside functions and for type checkers too, and those by
name with `import_module`. There are no exceptions.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "sylvan"

# From lowest to highest, one room per level. `sylvan` is the package's own `__init__`: the public
# names. It is above `runs`, the highest room that it names (`sylvan.load`), and imports most names
# on first use.
ROOMS = [
    "_native",
    "errors",
    "lazy",
    "moved",
    "registry",
    "files",
    "settings",
    "games",
    "testing",
    "networks",
    "evaluators",
    "planning",
    "reference",
    "views",
    "players",
    "replay",
    "selfplay",
    "learning",
    "ratings",
    "muzero",
    "runs",
    "sylvan",
    "cluster",
    "engines",
    "blob",
    "training",
    "classic",
    "web",
    "cli",
]
LEVEL = {room: level for level, room in enumerate(ROOMS)}

# The crates that each crate may use.
CRATES = {
    "sylvan-core": set(),
    "sylvan-games": {"sylvan-core"},
    "sylvan-python": {"sylvan-core", "sylvan-games"},
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(module: str) -> str:
    """The room of a module's dotted name: `sylvan.games.chess` is in `games`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "sylvan"


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__").removesuffix(".__main__")


def imported_rooms(source: str, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and room of every import of our own that `source` makes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".")
            # One dot is the package itself: drop a module's own name, then one part per dot more.
            cut = node.level - 1 if is_package else node.level
            base = base[: len(base) - cut] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            # `from sylvan import games` imports a room, not a name of `sylvan`.
            names = [
                f"{origin}.{alias.name}" if origin == "sylvan" and alias.name in LEVEL else origin
                for alias in node.names
            ]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [_start_of(node.args[0], module)]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "sylvan":
                yield node.lineno, room_of(name)


def _start_of(name: ast.expr, module: str) -> str:
    """The known start of the argument of `import_module`."""
    if isinstance(name, ast.Constant):
        return str(name.value)
    text = ast.unparse(name)[1:].strip("'\"") if isinstance(name, ast.JoinedStr) else ""
    return text.replace("{__name__}", module)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: module_name(path))
def test_imports_point_downwards(path):
    module = module_name(path)
    room = room_of(module)
    assert room in LEVEL, f"{path.name} is in no room that {Path(__file__).name} knows: add it"
    imports = imported_rooms(path.read_text(), module, path.name == "__init__.py")
    upwards = [
        f"{path.relative_to(ROOT)}:{line} imports {other}, which is above {room}"
        for line, other in imports
        if LEVEL.get(other, len(ROOMS)) > LEVEL[room]
    ]
    assert not upwards, "\n".join(upwards)


@pytest.mark.parametrize(
    ("line", "rooms"),
    [
        ("import sylvan.planning.forest", ["planning"]),
        ("import sylvan", ["sylvan"]),
        ("from sylvan import cli, search", ["cli", "sylvan"]),
        ("from . import game", ["games"]),
        ("from ..planning import Search", ["planning"]),
        ("def late():\n    from sylvan.views import svg", ["views"]),
        ("import numpy\nfrom json import dumps", []),
        ("if TYPE_CHECKING:\n    from sylvan.runs.run import Run", ["runs"]),
        ("import_module('sylvan.views')", ["views"]),
        ("importlib.import_module(f'sylvan.cli.{name}')", ["cli"]),
        ("import_module(f'{__name__}.{name}')", ["games"]),
    ],
)
def test_imports_are_seen(line, rooms):
    found = imported_rooms(line, "sylvan.games.chess", is_package=False)
    assert [room for _, room in found] == rooms


@pytest.mark.parametrize("crate", sorted(CRATES))
def test_crates_point_downwards(crate):
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    used = {
        name
        for table in ("dependencies", "dev-dependencies", "build-dependencies")
        for name in manifest.get(table, {})
        if name.startswith("sylvan-")
    }
    assert used <= CRATES[crate]


def test_every_crate_is_known():
    assert {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")} == set(CRATES)


def test_no_file_is_called_utils():
    folders = ["python", "crates", "tests", "benchmarks", "examples"]
    assert not [path for folder in folders for path in (ROOT / folder).rglob("utils*")]
