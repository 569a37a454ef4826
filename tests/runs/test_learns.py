"""Runs learn: from random weights to perfect play of tic-tac-toe."""

import numpy as np
import pytest

from sylvan.evaluators import load_evaluator
from sylvan.games.tic_tac_toe_states import tic_tac_toe_set
from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import train
from sylvan.runs.presets import preset_settings


def mistakes(evaluator) -> int:
    """Number of states in which the network's most likely move is a mistake."""
    solved = tic_tac_toe_set()
    observations = np.stack([state.observation() for state in solved.states])
    policy = evaluator.infer(observations).policy
    for row, state in enumerate(solved.states):
        illegal = np.setdiff1d(np.arange(9), state.legal_actions())
        policy[row, illegal] = -np.inf
    chosen = policy.argmax(axis=1)
    return int((~solved.keeps[np.arange(len(chosen)), chosen]).sum())


@pytest.mark.slow
def test_a_few_steps_learn_most_states(tmp_path):
    """A quarter of the preset's steps with half its positions: fewer than 300 mistakes in 4,520."""
    settings = preset_settings("tictactoe", "cpu")
    settings["run"]["steps"] = 3
    settings["selfplay"]["positions"] = 4096
    settings["arena"] = {"every": 0}
    outcome = train(TrainingConfig(**settings), tmp_path / "run")
    assert mistakes(load_evaluator(outcome.run.networks / "last.onnx")) < 300


@pytest.mark.soak
def test_a_run_learns_tic_tac_toe_to_the_last_state(tmp_path):
    """The unchanged preset: no mistake in all 4,520 non-terminal states."""
    outcome = train(TrainingConfig(**preset_settings("tictactoe", "cpu")), tmp_path / "run")
    assert len(tic_tac_toe_set().states) == 4520
    assert mistakes(load_evaluator(outcome.run.folder)) == 0
    assert mistakes(load_evaluator(outcome.run.networks / "last.onnx")) == 0


def test_an_untrained_network_does_not():
    """The same measure for random weights."""
    from sylvan.evaluators.pytorch import TorchEvaluator
    from sylvan.games import TicTacToe
    from sylvan.networks import build_network

    network = build_network("2x32", game=TicTacToe(), seed=0)
    assert mistakes(TorchEvaluator(network, device="cpu")) > 1000
