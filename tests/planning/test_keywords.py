"""The settings as keyword arguments: the same as `SearchConfig`'s fields, and checked by mypy."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from sylvan import SearchConfig
from sylvan.planning.config import ALIASES
from sylvan.planning.keywords import Limits, SearchSettings

PACKAGE = Path(__file__).parents[2] / "python" / "sylvan"

CALLS = [
    "sylvan.search(Chess(), {})",
    "sylvan.Search(None, {})",
    "sylvan.Search(None).limit({})",
    "sylvan.Forest([Chess()], {})",
    "sylvan.LatentSearch(model, {})",
    "sylvan.SearchConfig({})",
    "sylvan.SearchConfig().replace({})",
]

GOOD = ["simulations=5", "simulations=None", "seconds=1"]
WRONG = {"simulatons=5": "simulatons", "simulations='x'": "simulations", "num_simulations=5": "num"}


def test_the_keywords_are_the_fields_of_the_config_with_their_types():
    hints = get_type_hints(SearchConfig)
    assert get_type_hints(SearchSettings) == {
        name: hints[name] for name in SearchConfig.model_fields
    }


def test_every_keyword_is_optional():
    assert not SearchSettings.__required_keys__


def test_limits_are_keywords_too():
    assert set(get_type_hints(Limits)) == {"simulations", "seconds", "nodes", "depth"}


def test_other_spellings_are_not_typed():
    assert not set(ALIASES) & set(get_type_hints(SearchSettings))


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """Mypy's complaints about each call with each argument: `complaints[call, argument]`."""
    folder = tmp_path_factory.mktemp("typed")
    pairs = [(call, argument) for call in CALLS for argument in [*GOOD, *WRONG]]
    lines = ["import typing", "import sylvan", "from sylvan.games import Chess"]
    lines += ["model: typing.Any = None"]
    lines += [call.format(argument) for call, argument in pairs]
    snippet = folder / "snippet.py"
    snippet.write_text("\n".join(lines) + "\n")
    rooms = [PACKAGE / "__init__.py", *(PACKAGE / "planning").glob("*.py")]
    # Only the room is read: following every import would take a minute.
    options = ["--follow-imports=skip", f"--cache-dir={folder / 'cache'}", "--config-file="]
    command = [sys.executable, "-m", "mypy", *options, str(snippet), *map(str, rooms)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    found = re.findall(r"snippet\.py:(\d+): error: (.*)", done.stdout)
    assert found, done.stdout + done.stderr
    errors = {int(line): text for line, text in found}
    return {pair: errors.get(number) for number, pair in enumerate(pairs, 5)}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("argument", GOOD)
def test_mypy_accepts_a_setting(complaints, call, argument):
    assert complaints[call, argument] is None


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("argument", WRONG)
def test_mypy_refuses_a_wrong_name_or_type(complaints, call, argument):
    complaint = complaints[call, argument]
    assert complaint is not None and WRONG[argument] in complaint
