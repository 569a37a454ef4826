"""Names of version 0.1 that moved: each still works, with a warning that says the new name."""

import importlib
import subprocess
import sys

import pytest

from sylvan import moved


@pytest.mark.parametrize(("old", "new"), moved.MODULES.items())
def test_an_old_module_is_the_new_one(old, new, monkeypatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=rf"^{old} is now {new};"):
        module = importlib.import_module(old)
    assert module is importlib.import_module(new)


@pytest.mark.parametrize(("old", "new"), moved.NAMES.items())
def test_an_old_name_is_the_new_one(old, new):
    old_module, _, old_name = old.rpartition(".")
    new_module, _, new_name = new.rpartition(".")
    with pytest.warns(DeprecationWarning, match=rf"^{old} is now {new};") as caught:
        found = getattr(importlib.import_module(old_module), old_name)
    assert found is getattr(importlib.import_module(new_module), new_name)
    assert [warning.filename for warning in caught] == [__file__]  # it points to the caller


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = importlib.import_module("sylvan.networks").no_such_name


def test_a_module_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        importlib.import_module("sylvan.training.no_such_module")


@pytest.mark.slow
def test_sylvan_itself_uses_no_old_name():
    """Old names are for users: our own modules load without a warning."""
    rooms = "blob.session, cli, engines.analysis, muzero, runs.loop, learning.pretrain"
    code = "; ".join(f"import sylvan.{room}" for room in rooms.split(", "))
    command = [sys.executable, "-W", "error::DeprecationWarning:sylvan", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
