"""Every room's `__init__.py` lists the room's files, a line each."""

import ast
import re
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
