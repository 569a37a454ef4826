"""docs/architecture.md names files and functions that exist; its pictures are up to date."""

import re
import runpy
from pathlib import Path

import pytest

from tests.test_layers import ROOMS
from tests.test_rust_layers import ROOMS as CORE_ROOMS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
# A path of ours, then the functions or classes in it: "`python/…/search.py`, `search`".
NAMED = re.compile(r"`((?:crates|python|tests|docs)/[\w./-]+)`((?:, `\w+`)*)")
FOUND = [(path, tuple(re.findall(r"\w+", names))) for path, names in NAMED.findall(PAGE)]
DEFINITION = r"\b(?:def|class|fn|struct|enum|trait) {}\b"


def missing(path: str, names: tuple[str, ...]) -> list[str]:
    """The names of the page that do not exist."""
    file = ROOT / path
    if not file.exists():
        return [path]
    if not names:
        return []
    text = file.read_text()
    return [f"{path}: {name}" for name in names if not re.search(DEFINITION.format(name), text)]


@pytest.mark.parametrize(("path", "names"), sorted(set(FOUND)))
def test_what_it_names_exists(path: str, names: tuple[str, ...]) -> None:
    assert missing(path, names) == []


def test_the_three_walks_name_functions() -> None:
    assert sum(bool(names) for _, names in FOUND) > 35


def test_what_is_gone_would_be_noticed() -> None:
    here = "tests/test_architecture.py"
    assert missing(here, ("missing", "no_such_function")) == [f"{here}: no_such_function"]
    assert missing("tests/no_such_file.py", ()) == ["tests/no_such_file.py"]


def test_every_room_is_listed_in_the_order_of_the_layers() -> None:
    core = [path for path, _ in FOUND if re.fullmatch(r"crates/sylvan-core/src/\w+", path)]
    assert [Path(path).name for path in dict.fromkeys(core)] == CORE_ROOMS
    rows = re.findall(r"^\| \w+ \| `python/sylvan/([\w.]+)` \|", PAGE, re.MULTILINE)
    package = ROOT / "python" / "sylvan"
    unlisted = {"_native", "sylvan", "training"}  # a binary, the package, and only old names
    rooms = [room for room in ROOMS if room not in unlisted]
    exist = [
        room for room in rooms if (package / room).is_dir() or (package / f"{room}.py").exists()
    ]
    assert [Path(row).stem for row in rows] == exist


def test_the_glossary_explains_our_own_words() -> None:
    rows = re.findall(r"^\| (\w+) \| (.+) \|$", PAGE.split("## Glossary")[1], re.MULTILINE)
    words = dict(rows)
    for word in ("seat", "leaf", "family", "deal", "view", "slot", "lease", "actor", "column"):
        assert len(words[word]) > 10, word


def test_the_pictures_are_up_to_date() -> None:
    drawing = runpy.run_path(str(ROOT / "docs" / "draw.py"))
    for path, text in drawing["pictures"]().items():
        assert path.read_text() == text, "run `python docs/draw.py`"
