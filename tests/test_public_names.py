"""Every name in `sylvan.__all__` exists, and slow modules load on first use."""

import subprocess
import sys

import pytest

import sylvan


@pytest.mark.parametrize("name", sylvan.__all__)
def test_every_public_name_imports(name):
    assert getattr(sylvan, name) is not None


def test_no_name_is_listed_twice():
    assert len(set(sylvan.__all__)) == len(sylvan.__all__)


def test_dir_shows_every_public_name():
    assert set(sylvan.__all__) <= set(dir(sylvan))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sylvan.no_such_name  # type: ignore[attr-defined]


@pytest.mark.parametrize("use", ["testing.check_game", "reference.Search"])
def test_a_room_loads_when_it_is_named(use):
    code = f"import sylvan; print(callable(sylvan.{use}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_import_leaves_heavy_modules_alone():
    """`import sylvan` is fast because slow modules load on first use."""
    heavy = ["chess", "jax", "matplotlib", "pyspiel", "rich", "torch", "typer"]
    code = f"import sys, sylvan; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]", loaded.stdout + loaded.stderr
