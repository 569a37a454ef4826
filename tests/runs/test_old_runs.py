"""Runs that version 0.1 made: they open, train on, and their networks play.

The folders in `data` are runs of two steps, `tiny(2)` and `tiny_learned(2, "tictactoe")` of
`killing.py`, made with version 0.1.
"""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

import sylvan
from sylvan.evaluators import load_evaluator
from sylvan.games import TicTacToe
from sylvan.runs.loop import train
from sylvan.runs.run import Run
from tests.runs.killing import tiny, tiny_learned

DATA = Path(__file__).parent / "data"
CONFIGS = {
    "self-play": lambda steps: tiny(steps),
    "muzero": lambda steps: tiny_learned(steps, "tictactoe"),
}


@pytest.fixture(params=CONFIGS)
def old_run(request, tmp_path):
    """Name and folder of a run of version 0.1."""
    with tarfile.open(DATA / f"run-0.1-{request.param}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return request.param, tmp_path / request.param


def test_its_settings_are_read(old_run):
    name, folder = old_run
    assert Run.open(folder).config == CONFIGS[name](2)


@pytest.mark.slow
def test_it_trains_on(old_run):
    name, folder = old_run
    before = Run.open(folder).checkpoints.read(2).network("network").tensors
    outcome = train(CONFIGS[name](4), folder)
    assert (outcome.step, outcome.reason) == (4, "done")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss.policy" in line] == [1, 2, 3, 4]
    after = outcome.run.checkpoints.read(4).network("network").tensors
    assert after.keys() == before.keys()
    assert any(np.any(after[key] != before[key]) for key in after)


def test_its_network_plays(old_run):
    name, folder = old_run
    game = TicTacToe()
    if name == "muzero":
        action = sylvan.load(folder).act(game)
    else:
        action = sylvan.search(game, evaluator=load_evaluator(folder), simulations=20).best
    assert action in game.legal_actions()
