"""The deliberate faults of `benchmarks.training_faults` are valid settings with their effect."""

from dataclasses import replace

import pytest
import torch

from benchmarks.training_faults import FAULTS, HEALTHY, wrong_sign
from sylvan.games import TicTacToe
from sylvan.learning.losses import Targets, losses
from sylvan.learning.plugins import loss_named
from sylvan.networks.header import NetworkHeader
from sylvan.networks.output import NetworkOutput
from sylvan.runs.config import TrainingConfig, differences, merged
from sylvan.runs.plots import PLOTS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_a_run_that_differs_in_it(fault):
    healthy, faulty = (TrainingConfig(**merged(HEALTHY, each)) for each in ({}, fault.settings))
    changed = {f"{section}.{name}" for section, all_ in fault.settings.items() for name in all_}
    assert changed == set(differences(healthy, faulty))
    assert set(fault.plots) <= {plot.name for plot in PLOTS}


def test_the_wrong_sign_is_the_other_seats_value():
    header = NetworkHeader.for_game(TicTacToe())
    output = NetworkOutput(torch.zeros(1, 9), torch.tensor([[3.0, 0.0, -1.0]]))
    won = Targets(
        policy=torch.full((1, 9), 1 / 9),
        legal=torch.ones(1, 9, dtype=torch.bool),
        policy_weight=torch.ones(1),
        value=torch.tensor([[1.0, 0.0, 0.0]]),
        weight=torch.ones(1),
    )
    lost = replace(won, value=torch.tensor([[0.0, 0.0, 1.0]]))
    assert wrong_sign(output, won, header)["value"] == losses(output, lost, header)["value"]
    assert wrong_sign(output, won, header)["policy"] == losses(output, won, header)["policy"]
    (path,) = (f.settings["learner"]["loss"] for f in FAULTS if f.name == "wrong-sign")
    assert callable(loss_named(path))
