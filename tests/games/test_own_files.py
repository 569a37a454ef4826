"""A user's own Python file: what it may import, and where its mistakes are said to be."""

import sys

import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.errors import ConfigError
from sylvan.games.naming import GameSpec
from sylvan.games.own_files import own_fault

NIM = """
import sylvan
import numpy as np

class Nim(sylvan.Game):
    num_players, num_actions = 2, 3
    stones, seat = 6, 0

    def legal_actions(self): return range(min(3, self.stones))
    def apply(self, action): self.stones, self.seat = self.stones - action - 1, 1 - self.seat
    def clone(self):
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy
    def to_play(self): return self.seat
    def is_terminal(self): return self.stones == 0
    def returns(self): return (-1, 1) if self.seat == 0 else (1, -1)
    def observation(self): return np.array([self.stones], np.float32)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that leaves no trace in the search path or among the modules."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("heaps_of_stones", None)


def test_modules_beside_the_file_can_be_imported(folder):
    inner = folder / "inner"
    inner.mkdir()
    (inner / "heaps_of_stones.py").write_text(NIM)
    (inner / "mine.py").write_text("from heaps_of_stones import Nim")
    assert list(GameSpec("inner/mine.py:Nim").first().legal_actions()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "x = 1\nclass Game(:\n",
            r"mine.py cannot be imported: SyntaxError \(.*\) in line 2 of mine",
        ),
        ("\nimport nothing_here", r"No module named 'nothing_here'\) in line 2 of mine\.py"),
        ("def f():\n    return 1 / 0\nf()", r"ZeroDivisionError \(.*\) in line 2 of mine\.py"),
    ],
)
def test_a_file_that_cannot_be_imported_is_one_sentence(folder, text, said):
    (folder / "mine.py").write_text(text)
    for _ in range(2):  # the second time too: half a module is not kept
        with pytest.raises(ConfigError, match=said):
            GameSpec("mine.py:Game").first()


COMMANDS = [
    ("play", "{}", "-n", "5"),
    ("analyze", "--game", "{}", "-n", "20"),
    ("match", "uniform", "random", "--game", "{}", "--games", "2", "--nodes", "5"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("method", ["__init__", "apply", "legal_actions"])
def test_commands_name_the_line_of_a_games_mistake(folder, command, method):
    broken = f"\nclass Broken(Nim):\n    def {method}(self, *_):\n        return self.no_such\n"
    (folder / "mine.py").write_text(NIM + broken)
    line = (NIM + broken).count("\n")
    words = [word.format("mine.py:Broken") for word in command]
    done = CliRunner().invoke(app, words, input="0\n" * 9)
    assert done.exit_code == 2, done.output
    (said,) = done.stderr.strip().splitlines()
    assert f"has no attribute 'no_such') in line {line} of mine.py" in said


def test_our_own_mistakes_are_not_the_users(folder):
    (folder / "mine.py").write_text(NIM + "\ndef call(f): f()")
    game = GameSpec("mine.py:Nim").first()
    call = sys.modules[type(game).__module__].call
    with pytest.raises(ConfigError) as caught:
        call(lambda: GameSpec("no_such_game").first())
    assert own_fault(caught.value) is None
    with pytest.raises(TypeError) as caught:
        call(None)
    assert "in line" in (own_fault(caught.value) or "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine.py", r"add its class, mine\.py:MyGame"),
        ("mine.py:Sized", "cannot be made without arguments: .*'size'"),
        ("mine.py:Part", "cannot be made without arguments: .*to_play"),
    ],
)
def test_a_name_that_makes_no_game(folder, name, said):
    sized = "\nclass Sized(Nim):\n    def __init__(self, size): pass\n"
    (folder / "mine.py").write_text(NIM + sized + "\nclass Part(sylvan.Game): pass\n")
    with pytest.raises(ConfigError, match=said):
        GameSpec(name).first()
