"""The moving average, compared with values computed by hand."""

import pytest
import torch
from torch import nn

from sylvan.learning.average import WARM_UP, Average


def network(weight):
    module = nn.BatchNorm1d(1)
    with torch.no_grad():
        module.weight.fill_(weight)
        module.running_var.fill_(10 * weight)
        module.num_batches_tracked.fill_(int(weight))
    return module


def test_the_first_update_is_copied_and_later_ones_are_averaged():
    average = Average(network(100.0), decay=0.999)
    expected = 0.0
    for number, weight in enumerate([1.0, 3.0, 2.0, 7.0]):
        average.update(network(weight))
        decay = number / (number + WARM_UP)
        expected = decay * expected + (1 - decay) * weight
        assert float(average.network.weight.detach()) == pytest.approx(expected, rel=1e-6)
        assert float(average.network.running_var) == pytest.approx(10 * expected, rel=1e-6)
        assert int(average.network.num_batches_tracked) == int(weight)
    assert average.updates == 4


def test_the_decay_is_reached():
    average = Average(network(1.0), decay=0.5)
    average.updates = 1000
    average.update(network(3.0))
    assert float(average.network.weight.detach()) == pytest.approx(2.0)


def test_after_the_warm_up_it_spans_the_last_tenth():
    """Weights from before half of the updates have almost no influence."""
    average = Average(network(0.0), decay=0.99999)
    for _ in range(200):
        average.update(network(1.0))
    for _ in range(200):
        average.update(network(0.0))
    assert float(average.network.weight.detach()) < 0.003


def test_the_averaged_network_is_in_evaluation_mode_without_gradients():
    average = Average(network(1.0), decay=0.5)
    assert not average.network.training
    assert not any(each.requires_grad for each in average.network.parameters())
