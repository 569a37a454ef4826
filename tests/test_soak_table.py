"""The table of soak tests in tests/README.md names exactly the tests that are marked `soak`."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def named() -> set[tuple[str, str]]:
    """File and function of every row."""
    page = (ROOT / "tests" / "README.md").read_text()
    return set(re.findall(r"^\| `(tests/[\w/]+\.py)::(\w+)", page, re.MULTILINE))


def marked() -> set[tuple[str, str]]:
    """File and function of every test with the mark, on itself or on a parameter."""
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        for mark in re.finditer(r"mark\.soak\b", text):
            function = re.compile(r"^def (test_\w+)", re.MULTILINE).search(text, mark.end())
            if function is not None:
                found.add((str(path.relative_to(ROOT)), function[1]))
    return found


def test_every_soak_test_is_listed():
    assert named() == marked()
    assert len(named()) >= 4
