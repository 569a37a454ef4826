"""The example package of a game, installed: Sylvan finds its game and evaluator by name."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from sylvan.testing import check_game

SOURCE = Path(__file__).parents[1] / "examples" / "plugin"
TRAINING = [
    *("--steps", "1", "--network", "mlp1x16", "--device", "cpu", "--threads", "1", "--quiet"),
    *("--set", "selfplay.positions=40", "--set", "selfplay.games=8", "--set", "simulations=8"),
    *("--set", "arena.games=2", "--set", "arena.simulations=2"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of packages with the example, built without the network."""
    pytest.importorskip("setuptools")
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(SOURCE, source)  # building writes into the source folder
    folder = tmp_path_factory.mktemp("site")
    offline = ["--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "install", *offline, "--target", folder, source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def sylvan(site, tmp_path):
    """Run a `sylvan` command with the package installed."""

    def run(*words, stdin=""):
        environment = os.environ | {"PYTHONPATH": str(site)}
        command = [sys.executable, "-c", "from sylvan.cli import app; app()", *words]
        done = subprocess.run(
            command, input=stdin, env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def notakto(monkeypatch):
    monkeypatch.syspath_prepend(SOURCE)
    yield importlib.import_module("notakto")
    del sys.modules["notakto"]


def test_the_game_keeps_the_contract(notakto):
    check_game(notakto.Notakto, games=50)


@pytest.mark.slow
def test_analyze_finds_the_only_winning_move(sylvan):
    @cache
    def wins(board):
        """Whether the seat to move wins, by trying everything."""
        lines = [
            (0, 1, 2),
            (3, 4, 5),
            (6, 7, 8),
            (0, 3, 6),
            (1, 4, 7),
            (2, 5, 8),
            (0, 4, 8),
            (2, 4, 6),
        ]
        if any(all(cell in board for cell in line) for line in lines):
            return True
        return any(not wins(board | {cell}) for cell in set(range(9)) - board)

    winning = [cell for cell in range(9) if not wins(frozenset({cell}))]
    words = ["--evaluator", "notakto_careful", "--simulations", "20000", "--json"]
    found = json.loads(sylvan("analyze", "--game", "notakto", *words))
    assert [found["best"]] == [str(cell) for cell in winning] == ["4"]


@pytest.mark.slow
def test_play_and_match_know_its_names(sylvan):
    played = sylvan("play", "notakto", "--evaluator", "notakto_careful", stdin="4\nquit\n")
    assert "Sylvan plays" in played
    result = sylvan("match", "notakto_careful", "random", "--game", "notakto", "--games", "2")
    assert "notakto_careful against random" in result


@pytest.mark.slow
def test_train_knows_the_game(sylvan, tmp_path):
    pytest.importorskip("torch")
    assert "Done: 1 steps" in sylvan("train", "notakto", *TRAINING)
    assert (tmp_path / "runs" / "notakto" / "networks" / "best.onnx").is_file()


def test_the_page_shows_its_entry_points():
    page = (SOURCE.parents[1] / "docs" / "extend-sylvan.md").read_text()
    text = (SOURCE / "pyproject.toml").read_text()
    assert text[text.index('[project.entry-points."sylvan.evaluators"]') :].split("\n\n")[0] in page
    games = text[text.index('[project.entry-points."sylvan.games"]') :].split("\n\n")[0]
    assert games in page
