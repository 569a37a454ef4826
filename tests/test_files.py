"""`sylvan.files` is the one place that renames files, and leaves no part of a file behind."""

import ast
from pathlib import Path

import pytest

from sylvan.files import remove_leftovers, rename, write_bytes

PACKAGE = Path(__file__).parents[1] / "python" / "sylvan"


def renames(source: str) -> list[int]:
    """The lines of `source` that rename a file or a folder."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (
            ast.unparse(node.func) in ("os.replace", "shutil.move")
            or node.func.attr in ("rename", "renames")
            # `str.replace` has two arguments, `config.replace` only names.
            or (node.func.attr == "replace" and len(node.args) == 1 and not node.keywords)
        )
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("os.replace(old, new)", [1]),
        ("shutil.move(old, new)", [1]),
        ("path.rename(new)", [1]),
        ("path.replace(new)", [1]),
        ("text.replace('a', 'b')", []),
        ("config.replace(seed=1)", []),
        ("dataclasses.replace(old, seed=1)", []),
    ],
)
def test_a_rename_is_seen(line, found):
    assert renames(line) == found


def test_only_one_file_renames():
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if renames(path.read_text())
    }
    assert found == {"files.py"}


def test_a_folder_is_renamed_with_its_files(tmp_path):
    (tmp_path / "new").mkdir()
    write_bytes(tmp_path / "new" / "file", b"contents")
    rename(tmp_path / "new", tmp_path / "done")
    assert [path.name for path in tmp_path.iterdir()] == ["done"]
    assert (tmp_path / "done" / "file").read_bytes() == b"contents"


def test_files_of_killed_processes_are_removed_and_others_kept(tmp_path):
    for name in (".table.json.123.tmp", ".notes.tmp", "table.json"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".notes.tmp", "table.json"]
