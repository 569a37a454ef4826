"""A test that bounds wall time is marked `alone`: beside other tests it would fail by chance.

Bounds of ten seconds or more only end tests that hang.
"""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
BOUND = re.compile(r"(?:perf_counter|monotonic)\(\) - [\w.]+(?:\[\d\])? < ([\d.]+)")


def bounded(source: str) -> list[str]:
    """The tests in a source that bound wall time and are not marked `alone`."""
    return list(_bounded(ast.parse(source).body, marked=False))


def _bounded(body: list[ast.stmt], marked: bool) -> list[str]:
    found = []
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            marked |= "mark.alone" in ast.unparse(node) and "pytestmark" in ast.unparse(node)
            continue
        alone = marked or any("mark.alone" in ast.unparse(mark) for mark in node.decorator_list)
        if isinstance(node, ast.ClassDef):
            found += _bounded(node.body, alone)
        elif node.name.startswith("test") and not alone:
            text = "\n".join(ast.unparse(x) for x in ast.walk(node) if isinstance(x, ast.Assert))
            if any(float(limit) < 10 for limit in BOUND.findall(text)):
                found.append(node.name)
    return found


def test_tests_that_bound_wall_time_run_alone():
    found = {
        f"{path.relative_to(TESTS)}::{name}"
        for path in TESTS.rglob("test_*.py")
        for name in bounded(path.read_text())
    }
    assert not found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("assert time.perf_counter() - began < 0.5", ["test_it"]),
        ("assert 0.1 < time.monotonic() - self.began < 1", ["test_it"]),
        ("assert time.monotonic() - began < 30", []),
        ("assert time.monotonic() - began > 0.5", []),
    ],
)
def test_bounds_are_seen(line, found):
    assert bounded(f"def test_it():\n    {line}\n") == found
    assert bounded(f"@pytest.mark.alone\ndef test_it():\n    {line}\n") == []
    assert bounded(f"class A:\n    def test_it(self):\n        {line}\n") == found
