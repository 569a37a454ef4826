"""The evaluator of self-play says what the module says, after every change of its weights."""

import time

import numpy as np
import pytest
import torch
from torch import nn

from sylvan import Forest
from sylvan.errors import NetworkError
from sylvan.evaluators import Cached, OnnxEvaluator
from sylvan.evaluators.pytorch import TorchEvaluator
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.learning.inference import OnnxNetwork, SwappableModel, self_play_evaluator
from sylvan.networks import NetworkHeader, NetworkOutput, build_network
from sylvan.networks.export import max_difference


def shaken(network, seed):
    """Other weights and other statistics of norms."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point():
                noise = torch.rand(tensor.shape, generator=generator)
                tensor.copy_(0.5 + noise if "var" in name else 0.3 * noise - 0.15)


def seen(header):
    shape = (16, *header.observation_shape)
    return np.random.default_rng(1).integers(0, 2, shape).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "game", "settings"),
    [
        ("2x16", ConnectFour(), {"pooling_every": 2, "auxiliary": {"owner": 42}}),
        ("2x16", ConnectFour(), {"norm": "fixed", "value": "scalar", "moves_left": True}),
        ("1x8", Chess(encoder="planes18", codec="lc0"), {}),
        ("mlp2x16", TicTacToe(), {"norm": True, "value": "seats"}),
        ("t2x32", TicTacToe(), {}),
    ],
    ids=["batch norm", "fixed", "lc0 policy", "mlp", "transformer"],
)
def test_swapped_weights_say_what_the_module_says(size, game, settings):
    network = build_network(size, game=game, seed=1, **settings)
    model = SwappableModel(network)
    assert model.swaps
    for seed in range(3):
        shaken(network, seed)
        assert max_difference(network, model.filled(network), seen(network.header)) <= 1e-5


def test_an_evaluator_is_refreshed_and_its_cache_emptied():
    network = build_network("1x8", game=ConnectFour(), seed=1)
    evaluator = self_play_evaluator(network, device="cpu", threads=1, cache_bytes=1 << 20)
    assert isinstance(evaluator, Cached) and isinstance(evaluator.evaluator, OnnxNetwork)

    def answers():
        forest = Forest([ConnectFour("44"), ConnectFour("3")], simulations=2)
        return evaluator(next(iter(forest)))

    before = answers()
    shaken(network, 7)
    assert np.array_equal(answers()[0], before[0]) and evaluator.hits == 2
    evaluator.refresh(network)
    assert evaluator.lookups == 0 and len(evaluator) == 0
    after = answers()
    assert not np.allclose(after[0], before[0])
    forest = Forest([ConnectFour("44"), ConnectFour("3")], simulations=2)
    logits, values = TorchEvaluator(network, device="cpu")(next(iter(forest)))
    np.testing.assert_allclose(after[0], logits, atol=1e-5)
    np.testing.assert_allclose(after[1], values, atol=1e-5)


def test_the_header_is_that_of_the_newest():
    network = build_network("mlp1x8", game=TicTacToe(), seed=1)
    model = SwappableModel(network)
    network.header = network.header.replace(training_step=77)
    assert OnnxEvaluator(model.filled(network)).header.training_step == 77


class Doubled(nn.Module):
    """The exporter computes with the weights: none of the model's constants is one of them."""

    def __init__(self, header):
        super().__init__()
        self.header = header
        self.policy = nn.Linear(header.observation_size, header.num_logits)
        self.value = nn.Linear(header.observation_size, header.value_outputs)
        self.norm = nn.BatchNorm1d(header.num_logits)

    def forward(self, observations):
        flat = observations.flatten(1)
        weight = torch.cat([self.policy.weight, self.policy.weight]).view(2, -1, flat.shape[1])
        policy = flat @ weight.sum(dim=0).T + self.policy.bias
        return NetworkOutput(self.norm(policy), self.value(flat))


class Unexportable(Doubled):
    """Asks about numbers, which no graph can."""

    def forward(self, observations):
        if float(observations.sum()) > 3.0:
            observations = observations * 2
        return super().forward(observations)


@pytest.mark.slow  # it is exported twice
def test_a_module_with_computed_weights_is_right_too():
    network = Doubled(NetworkHeader.for_game(TicTacToe()))
    evaluator = OnnxNetwork(network, threads=1)
    shaken(network, 0)
    evaluator.refresh(network)
    found = evaluator.infer(seen(network.header)).policy
    with torch.no_grad():
        wanted = network.eval()(torch.from_numpy(seen(network.header))).policy.numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.slow
def test_a_module_that_cannot_be_exported_runs_on_pytorch(caplog):
    network = Unexportable(NetworkHeader.for_game(TicTacToe()))
    evaluator = self_play_evaluator(network, device="cpu", threads=1)
    assert isinstance(evaluator, TorchEvaluator)
    assert "cannot be exported to ONNX" in caplog.text
    shaken(network, 3)
    evaluator.refresh(network)
    with torch.no_grad():
        wanted = network.eval()(torch.from_numpy(seen(network.header))).policy.numpy()
    np.testing.assert_allclose(evaluator.infer(seen(network.header)).policy, wanted, atol=1e-5)


@pytest.mark.slow
def test_eight_bits_are_near_and_follow_the_weights():
    network = build_network("2x16", game=ConnectFour(), seed=1)
    exact = self_play_evaluator(network, device="cpu", threads=1)
    narrow = self_play_evaluator(network, device="cpu", threads=1, eight_bits=ConnectFour())
    twin = self_play_evaluator(network, device="cpu", threads=1, eight_bits=ConnectFour())
    assert narrow.in_integers and not exact.in_integers
    observations = seen(network.header)
    with torch.no_grad():
        for tensor in network.parameters():
            tensor.add_(0.05 * torch.randn(tensor.shape, generator=torch.manual_seed(3)))
    for evaluator in (exact, narrow, twin, twin):  # how often it was refreshed leaves no trace
        evaluator.refresh(network)
    found = narrow.infer(observations)
    assert 0 < narrow.loss.policy_kl < 0.01 and narrow.loss.value_error < 0.02
    # Without VNNI, pairs of products are added in 16 bits and saturate: a larger error.
    np.testing.assert_allclose(found.value, exact.infer(observations).value, atol=0.08)
    assert np.array_equal(found.policy, twin.infer(observations).policy)


def test_where_eight_bits_cost_too_much_they_are_left_out(monkeypatch, caplog):
    network = build_network("1x8", game=ConnectFour(), seed=1)
    monkeypatch.setattr("sylvan.learning.inference.MOST_KL", -1.0)
    evaluator = OnnxNetwork(network, threads=1, eight_bits=ConnectFour())
    assert not evaluator.in_integers and "fp32 it is" in caplog.text


def test_eight_bits_need_a_convolution():
    network = build_network("mlp1x8", game=TicTacToe(), seed=1)
    with pytest.raises(NetworkError, match="3 × 3"):
        self_play_evaluator(network, device="cpu", eight_bits=TicTacToe())


@pytest.mark.alone
def test_a_refresh_takes_less_than_a_tenth_of_a_second():
    network = build_network("6x64", game=ConnectFour(), seed=1)
    evaluator = OnnxNetwork(network, threads=2)
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        evaluator.refresh(network)
        times.append(time.perf_counter() - begun)
    assert min(times) < 0.1
