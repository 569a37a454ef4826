"""A user's own network and loss, named by their file."""

import numpy as np
import pytest
import torch

from sylvan.errors import ConfigError, NetworkError, TrainingError
from sylvan.games import ConnectFour, TicTacToe
from sylvan.learning.learner import Learner, LearnerConfig
from sylvan.learning.plugins import network_named
from sylvan.networks import save_network
from sylvan.networks.checkpoint import load_network
from tests.replay.examples import MadeUp

CODE = """
import torch
from sylvan.networks import NetworkHeader, NetworkOutput
from sylvan.learning.losses import losses

class Net(torch.nn.Module):
    def __init__(self, header: NetworkHeader, width: int = 8) -> None:
        super().__init__()
        self.body = torch.nn.Linear(header.observation_size, width)
        self.policy = torch.nn.Linear(width, header.num_logits)
        self.value = torch.nn.Linear(width, header.value_outputs)

    def forward(self, observations):
        features = torch.relu(self.body(observations.flatten(1)))
        return NetworkOutput(self.policy(features), self.value(features))

class Narrow(Net):
    def forward(self, observations):
        output = super().forward(observations)
        return output._replace(policy=output.policy[:, 1:])

class Plain(Net):
    def forward(self, observations):
        return tuple(super().forward(observations)[:2])

def loss(output, targets, header):
    return losses(output, targets, header) | {"size": output.policy.square().mean()}

def one_number(output, targets, header):
    return output.policy.square().mean()

def one_per_position(output, targets, header):
    return {"policy": output.policy.square().mean(dim=1)}
"""


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "my.py"
    path.write_text(CODE)
    return path


def trained(network, **settings):
    learner = Learner(network, LearnerConfig(batch=32, warmup=0, **settings), "cpu", 1)
    return learner, learner.train(MadeUp(network.header), 60, 0.3, rng())


def rng():
    return np.random.default_rng(0)


def test_a_users_network_is_made_trained_and_loaded(code, tmp_path):
    network = network_named(f"{code}:Net", game=TicTacToe(), seed=3, width=16)
    assert network.header.architecture == {"name": f"{code}:Net", "width": 16}
    assert network.body.out_features == 16 and network.header.game == "tic_tac_toe"
    same = network_named(f"{code}:Net", game=TicTacToe(), seed=3, width=16)
    assert torch.equal(same.body.weight, network.body.weight)
    learner, _ = trained(network, learning_rate=0.02)
    assert learner.train(MadeUp(network.header), 2, 0.3, rng()).parts["policy"] < 0.3
    save_network(learner.averaged, tmp_path / "net.safetensors")
    with pytest.raises(NetworkError, match="module"):
        load_network(tmp_path / "net.safetensors")  # a file never runs code by itself
    loaded = load_network(tmp_path / "net.safetensors", module=same)
    assert torch.equal(loaded.body.weight, learner.averaged.body.weight)


def test_a_size_names_a_built_in_network():
    assert network_named("2x8", game=ConnectFour(), norm="fixed", seed=1).header.num_logits == 7


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        ("Narrow", NetworkError, r"\(2, 8\)"),
        ("Plain", NetworkError, "NetworkOutput"),
        ("loss", NetworkError, "header"),
        ("Nat", ConfigError, "'Nat'"),
    ],
)
def test_an_invalid_network_is_refused(code, name, error, sentence):
    with pytest.raises(error, match=sentence):
        network_named(f"{code}:{name}", game=TicTacToe())


def test_a_missing_file_is_named():
    with pytest.raises(ConfigError, match=r"'nowhere.py'"):
        network_named("nowhere.py:Net", game=TicTacToe())


def test_parts_of_a_users_loss_are_logged_and_weighted(code):
    network = network_named("mlp1x8", game=TicTacToe(), seed=1)
    _, found = trained(network, loss=f"{code}:loss", auxiliary_weight=0.5)
    assert set(found.parts) == {"policy", "value", "size"}
    parts = found.parts
    assert found.total == pytest.approx(parts["policy"] + parts["value"] + 0.5 * parts["size"])


def test_a_loss_may_be_one_number(code):
    network = network_named("mlp1x8", game=TicTacToe(), seed=1)
    _, found = trained(network, loss=f"{code}:one_number")
    assert set(found.parts) == {"loss"} and found.parts["loss"] > 0


def test_an_invalid_loss_is_refused(code):
    network = network_named("mlp1x8", game=TicTacToe(), seed=1)
    with pytest.raises(TrainingError, match=r"'policy'.*\(32,\)"):
        trained(network, loss=f"{code}:one_per_position")
    with pytest.raises(ConfigError, match="'los'"):
        trained(network, loss=f"{code}:los")
