"""Docstrings and comments say what something is or does: none begins with "what" or "who"."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "crates", "docs", "examples", "python", "tests", "web/src")
SUFFIXES = (".py", ".pyi", ".rs", ".ts")
BEGINS = re.compile(r'^\s*("""|#|//[/!]?|/\*\*) ?(What|Who|Whose)\b[^?\n]*$', re.MULTILINE)


def begins_badly(text: str) -> list[str]:
    """The first lines of docstrings and comments that begin with "what" or "who"."""
    return [found[0].strip() for found in BEGINS.finditer(text)]


def test_docstrings_begin_with_a_noun_or_a_verb():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
    files = [path for path in files if path.suffix in SUFFIXES]
    found = [(path.name, line) for path in files for line in begins_badly(path.read_text())]
    assert len(files) > 500 and found == []


def test_such_a_beginning_is_seen():
    assert begins_badly('    """What a worker says."""\n') == ['"""What a worker says."""']
    assert begins_badly("/// Who plays.\n") and begins_badly("/** Whose turn it is. */\n")
    assert begins_badly("# What is it?\n") + begins_badly('"""Whatever it is."""') == []
