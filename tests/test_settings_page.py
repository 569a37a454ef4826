"""docs/settings.md lists every field of `SearchConfig` as in the class.

The tables are made from the class: `python tests/test_settings_page.py` rewrites the page.
"""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from sylvan import SearchConfig
from sylvan.planning.config import ALIASES

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"

HEAD = """\
# Settings

Every setting of a search, as `SearchConfig` has it. Give them by name to `sylvan.search`, `Search`
or `Forest`, or make a `SearchConfig` and share it; on the command line, `--set name=value`.

<!-- The tables are made from the class: python tests/test_settings_page.py -->

```python
import sylvan
from sylvan.games import TicTacToe

config = sylvan.SearchConfig(simulations=400, c_puct=2.0)
sylvan.search(TicTacToe(), config=config, seed=7)  # names given here change the config's
careful = config.replace(fpu="parent")
```

A name that does not exist, or a value out of range, is a `ConfigError` that says what is meant:

```python
try:
    sylvan.SearchConfig(c_puckt=2.0)
except sylvan.errors.ConfigError as error:
    assert str(error) == "There is no setting 'c_puckt': did you mean 'c_puct'?"
```

[How the search works](how-the-search-works.md) explains each of them.
"""

COLUMNS = "| setting | default | may be | meaning |\n|---|---|---|---|\n"

OTHER_NAMES = """
## Other names

Names that papers and other programs use for the same settings are accepted everywhere. Type
checkers and editors know the first name only: pass the others as a dictionary,
`SearchConfig(**settings)`.

| setting | also |
|---|---|
"""

# A comment that opens a group of fields: "    # When the search ends. -------".
GROUP = re.compile(r"^    # (.+?)\.? -{5,}$")
FIELD = re.compile(r"^    (\w+): ")


def page() -> str:
    """The expected page."""
    parts = [HEAD]
    for title, names in groups().items():
        parts.append(f"\n## {title}\n\n{COLUMNS}")
        parts += [row(name) for name in names]
    parts.append(OTHER_NAMES)
    for own in SearchConfig.model_fields:
        others = [f"`{name}`" for name, meant in ALIASES.items() if meant == own]
        if others:
            parts.append(f"| `{own}` | {', '.join(others)} |\n")
    return "".join(parts)


def groups() -> dict[str, list[str]]:
    """The fields by group: the comments above them in the class."""
    found: dict[str, list[str]] = {}
    for line in inspect.getsource(SearchConfig).splitlines():
        if title := GROUP.match(line):
            names = found[title[1].split(":")[0]] = []
        elif (field := FIELD.match(line)) and field[1] in SearchConfig.model_fields:
            names.append(field[1])
    return found


def row(name: str) -> str:
    field = SearchConfig.model_fields[name]
    schema = SearchConfig.model_json_schema()["properties"][name]
    options = [allowed(option) for option in schema.get("anyOf", [schema])]
    default = f"`{shown(field.default)}`"
    return f"| `{name}` | {default} | {' or '.join(options)} | {field.description} |\n"


def shown(value: Any) -> str:
    """A default as Python code."""
    is_large = isinstance(value, int) and value >= 2**30 and value % 2**30 == 0
    return f"{value // 2**30} * 2**30" if is_large else repr(value)


def allowed(option: dict[str, Any]) -> str:
    """The values that a JSON schema allows, in words."""
    if "enum" in option:
        return ", ".join(f"`{value!r}`" for value in option["enum"])
    kinds = {"integer": "a whole number", "number": "a number", "boolean": "`True`, `False`"}
    kinds |= {"null": "`None`", "array": "a pair `(low, high)`"}
    # An `exclusiveMaximum` is the limit of a machine word: not worth mentioning.
    limits = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}
    words = [f"{word} {option[key]:g}" for key, word in limits.items() if key in option]
    return " ".join([kinds[option["type"]], *words])


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run `python tests/test_settings_page.py`"


def test_every_field_is_in_a_group():
    listed = [name for names in groups().values() for name in names]
    assert listed == list(SearchConfig.model_fields)


@pytest.mark.parametrize("name", SearchConfig.model_fields)
def test_every_field_says_what_it_means(name):
    assert SearchConfig.model_fields[name].description


if __name__ == "__main__":
    PAGE.write_text(page())
