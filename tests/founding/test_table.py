"""`docs/founding.md` tells the truth: ids and mistakes are listed, the tests it names exist."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "founding.md").read_text()
IDS = [
    *(f"S0.{n}" for n in (*range(1, 15), *range(20, 30))),
    *(f"S1.{n}" for n in (*range(1, 6), *range(20, 27))),
    *(f"S2.{n}" for n in (*range(1, 11), *range(20, 23))),
    *(f"S3.{n}" for n in (*range(1, 13), *range(20, 24))),
    *(f"S4.{n}" for n in range(1, 14)),
]
"""Every id of the founding table, built or not."""
MISTAKES = [f"M{n}" for n in range(1, 34)]
COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}


def own_tests():
    """The names of all tests in this folder."""
    for path in HERE.glob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name


NAMES = list(own_tests())


@pytest.mark.parametrize("key", IDS + MISTAKES)
def test_every_id_and_mistake_is_listed(key):
    (row,) = re.findall(rf"^\| {re.escape(key)} \|.*", PAGE, re.MULTILINE)
    prefix = "test_" + key.lower().replace(".", "_") + "_"
    assert f"`{prefix}*`" in row and any(name.startswith(prefix) for name in NAMES)


def test_nothing_else_is_listed():
    found = re.findall(r"^\| ([SM]\d[\d.]*) \|", PAGE, re.MULTILINE)
    assert sorted(found) == sorted(IDS + MISTAKES)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(test_\w+\*?)`", PAGE))))
def test_every_test_that_is_named_exists(name):
    found = [test for test in NAMES if re.fullmatch(name.replace("*", ".*"), test)]
    assert found
    if stated := re.search(rf"`{re.escape(name)}` \((\w+)\)", PAGE):
        assert len(found) == COUNTS[stated[1]]
