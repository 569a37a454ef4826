"""Every room's `__init__.py` lists the room's files, a line each. A file comes after those that it
imports, also inside functions, so no imports form a cycle. Imports for type checkers do not count.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "sylvan"
FORWARDERS = {"training"}  # no files of its own
ROOMS = sorted(
    path
    for path in PACKAGE.rglob("__init__.py")
    if path.parent != PACKAGE and path.parent.name not in FORWARDERS
)


def listed(source: str) -> list[str]:
    """The names at the beginnings of lines and table rows of a module's docstring."""
    text = ast.get_docstring(ast.parse(source)) or ""
    return re.findall(r"^(?:\| )?`(\w+)/?`", text, re.MULTILINE)


def files_of(room: Path) -> set[str]:
    """The modules and packages of a room."""
    packages = {path.parent.name for path in room.glob("*/__init__.py")}
    return {path.stem for path in room.glob("*.py")} - {"__init__", "__main__"} | packages


@pytest.mark.parametrize("init", ROOMS, ids=lambda path: str(path.parent.relative_to(PACKAGE)))
def test_a_room_lists_its_files(init):
    names, files = listed(init.read_text()), files_of(init.parent)
    assert files - set(names) == set()
    assert [name for name in files if names.count(name) > 1] == []


def imported(node: ast.AST) -> Iterator[str]:
    """The modules that the code in a node may import when it runs, and the names from them."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.If) and "TYPE_CHECKING" in ast.unparse(inner.test):
            continue
        if isinstance(inner, ast.ImportFrom):
            yield inner.module or ""
            yield from (f"{inner.module}.{alias.name}" for alias in inner.names)
        elif isinstance(inner, ast.Import):
            yield from (alias.name for alias in inner.names)
        yield from imported(inner)


def too_early(room: Path, order: list[str], package: str) -> list[tuple[str, str]]:
    """Files of a room, each with one that it imports and that is listed after it."""
    found = []
    for number, name in enumerate(order):
        if (path := room / f"{name}.py").exists():
            modules = set(imported(ast.parse(path.read_text())))
            later = (other for other in order[number + 1 :] if f"{package}.{other}" in modules)
            found += [(name, other) for other in later]
    return found


@pytest.mark.parametrize("init", ROOMS, ids=lambda path: str(path.parent.relative_to(PACKAGE)))
def test_a_file_comes_after_those_it_imports(init):
    room = init.parent
    package = ".".join(room.relative_to(PACKAGE.parent).parts)
    order = [name for name in listed(init.read_text()) if name in files_of(room)]
    assert too_early(room, order, package) == []


def test_files_in_a_table_and_in_columns_are_seen():
    source = (
        '''"""Title.\n\n| file | idea |\n| `one` | a |\n`two`  b, after `one`\n`three/`  c\n"""'''
    )
    assert listed(source) == ["one", "two", "three"]


def test_a_file_that_is_not_listed_is_seen(tmp_path):
    (tmp_path / "one.py").touch()
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "__init__.py").touch()
    assert files_of(tmp_path) == {"one", "two"}


def test_a_cycle_is_seen_in_any_order(tmp_path):
    (tmp_path / "one.py").write_text("def f():\n    from room.two import g\n")
    (tmp_path / "two.py").write_text("from room import one\n")
    (tmp_path / "six.py").write_text("if TYPE_CHECKING:\n    from room.two import g\n")
    assert too_early(tmp_path, ["one", "two"], "room") == [("one", "two")]
    assert too_early(tmp_path, ["six", "two", "one"], "room") == [("two", "one")]
