"""The documentation site: its pages, its API reference, and what it makes of docstrings.

`make docs` builds the site and finds dead links; these tests check what goes into it.
"""

import ast
import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("griffe", reason="the extra docs is not installed")

from docs.site import api, build
from docs.site.docstrings import field, prepared
from docs.site.notebooks import notebook_page

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "sylvan"
NAVIGATION = tomllib.loads((ROOT / "docs" / "site" / "zensical.toml").read_text())["project"]["nav"]


def pages_of(entries):
    """The paths in a navigation."""
    for entry in entries:
        for inner in entry.values():
            yield from [inner] if isinstance(inner, str) else pages_of(inner)


def test_every_page_is_in_the_navigation_once():
    pages = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))
    found = sorted(page for page in pages_of(NAVIGATION) if page.startswith("docs/"))
    assert found == pages, "list new pages in docs/site/zensical.toml"


def listed_names(path):
    """The names in a module's `__all__`, read from its source."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from ast.literal_eval(node.value)


def module_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def templates():
    return api.api_pages()


SOURCES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not module_of(path).startswith(api.NO_API) and path.name != "__main__.py"
]


@pytest.mark.slow
def test_every_public_name_is_in_the_api(templates):
    text = "\n".join(templates.values())
    described = set(re.findall(r"^::: (\S+)$(?!\n    options:)", text, re.MULTILINE))
    objects = {id(object_at(place)) for place in described}
    missing = []
    for path in SOURCES:
        module = importlib.import_module(module_of(path))
        for name in listed_names(path):
            found = getattr(module, name)
            dunder_or_room = name.startswith("__") or hasattr(found, "__spec__")
            place = f"{module.__name__}.{name}"
            if place not in described and id(found) not in objects and not dunder_or_room:
                missing.append(place)
    assert len(described) > 500 and missing == []


def object_at(place):
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_a_docstring_becomes_markdown_and_sections():
    text = (
        "Open it.\n\n`a`   first\n`b`   second\n\n>>> 1 + 1\n2\n\n"
        ":param name: of the file,\n    or a folder\n:raises OSError: no file"
    )
    assert prepared(text) == (
        "Open it.\n\n- `a` first\n- `b` second\n\n```pycon\n>>> 1 + 1\n2\n```\n\n"
        "Args:\n    name: of the file, or a folder\n\nRaises:\n    OSError: no file"
    )


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('Field(0.25, description="the " "share")', ("0.25", "the share")),
        ("Field(default=None, ge=0)", ("None", "")),
        ("Field(default_factory=list, description='all')", ("list", "all")),
        ("Field(description='required')", (None, "required")),
        ("0.25", None),
    ],
)
def test_a_setting_has_its_default_and_description(value, told):
    assert field(value) == told


@pytest.mark.parametrize(
    ("element", "asks"),
    [
        ('<script src="https://cdn.example/x"></script>', True),
        ("<script src=//cdn.example/x.js></script>", True),
        ('<link rel="stylesheet" href="https://fonts.example/css">', True),
        ("<link href=https://fonts.example rel=preconnect>", True),
        ('<img alt="a" src="http://example.com/a.png">', True),
        ('<a href="https://example.com">elsewhere</a>', False),
        ('<script src="../assets/x.js"></script>', False),
        ('<link rel="canonical" href="https://example.com/page">', False),
    ],
)
def test_requests_to_other_servers_are_seen(element, asks):
    assert bool(build.requests_in(f"<p>{element}</p>")) == asks


def test_a_notebook_becomes_a_page_with_its_pictures(tmp_path):
    path = tmp_path / "two.ipynb"
    picture = {"data": {"image/png": "iVBORw0=", "text/plain": "<Figure>"}}
    printed = {"text": ["1\n", "2\n"]}
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Text."]},
        {"cell_type": "code", "source": ["print(1)"], "outputs": [printed, picture]},
    ]
    path.write_text(json.dumps({"cells": cells}))
    page = notebook_page(path)
    assert page == {
        "two.md": (
            b"# Title\nText.\n\n```python\nprint(1)\n```\n\n```text\n1\n2\n```\n\n![](two-0.png)\n"
        ),
        "two-0.png": b"\x89PNG\r",
    }
