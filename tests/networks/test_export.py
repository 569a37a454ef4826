"""ONNX models say what the modules say, in any batch, and carry the header."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from sylvan.errors import NetworkError
from sylvan.games import ConnectFour, TicTacToe
from sylvan.networks import NetworkHeader, NetworkOutput, build_network, export_onnx
from sylvan.networks.export import TOLERANCE, folded, folded_state, max_difference, onnx_bytes
from tests.networks.positions import seen


def run(path, observations, outputs=None):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(outputs, {"observations": observations})


def trained(size, game, **options):
    """A network whose batch norms have seen something."""
    network = build_network(size, game=game, seed=1, **options).train()
    for _ in range(3):
        network(torch.from_numpy(seen(game, 64)))
    return network.eval()


CASES = [
    ("2x16", TicTacToe(), {"moves_left": True, "pooling_every": 2}),
    ("t1x32", ConnectFour(), {"value": "seats"}),
    ("mlp1x32", TicTacToe(), {"value": "scalar"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "game", "options"), CASES, ids=[case[0] for case in CASES])
def test_the_model_says_what_the_module_says(size, game, options, tmp_path):
    network = trained(size, game, **options)
    path = tmp_path / "net.onnx"
    observations = seen(game, 100)
    assert export_onnx(network, path, observations=observations) <= TOLERANCE
    # Not the exporter's own comparison: again, in batches of other sizes.
    with torch.no_grad():
        wanted = network(torch.from_numpy(observations))
    for batch in (1, 7, 100):
        found = run(path, observations[:batch])
        np.testing.assert_allclose(found[0], wanted.policy[:batch], atol=1e-4)
        value = wanted.value[:batch]
        value = torch.softmax(value, 1) if network.header.value == "wdl" else value
        np.testing.assert_allclose(found[1], value, atol=1e-4)
        if network.header.moves_left:
            np.testing.assert_allclose(found[2], wanted.moves_left[:batch], atol=1e-4)


@pytest.mark.slow
def test_the_model_carries_its_header_and_no_path(tmp_path):
    network = build_network("mlp1x8", game=TicTacToe(), seed=1)
    path = tmp_path / "net.onnx"
    export_onnx(network, path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    (entry,) = [entry for entry in model.metadata_props if entry.key == "sylvan"]
    assert NetworkHeader.from_json(entry.value) == network.header
    assert b"/python" not in path.read_bytes() and b".py" not in path.read_bytes()
    assert network.training  # as it was


class Mine(torch.nn.Module):
    """A module as a user writes it."""

    def __init__(self, noise=0.0):
        super().__init__()
        self.layer = torch.nn.Linear(18, 12)
        self.noise = noise

    def forward(self, observations):
        out = self.layer(observations.flatten(1))
        return NetworkOutput(out[:, :9] + self.noise * torch.rand(1), out[:, 9:])


@pytest.mark.slow
def test_a_module_of_ones_own(tmp_path):
    header = NetworkHeader.for_game(TicTacToe(), architecture={"name": "mine"})
    export_onnx(Mine().eval(), tmp_path / "net.onnx", header=header)
    assert run(tmp_path / "net.onnx", seen(TicTacToe(), 3))[1].shape == (3, 3)
    with pytest.raises(NetworkError, match=r"Mine.*header"):
        export_onnx(Mine(), tmp_path / "other.onnx")


@pytest.mark.slow
def test_a_model_that_says_something_else_is_not_written(tmp_path):
    header = NetworkHeader.for_game(TicTacToe(), architecture={"name": "mine"})
    with pytest.raises(NetworkError, match=r"net\.onnx"):
        export_onnx(Mine(noise=1.0).eval(), tmp_path / "net.onnx", header=header)
    assert not list(tmp_path.iterdir())


def test_folding_changes_nothing_but_the_norms():
    network = trained("2x16", TicTacToe(), pooling_every=1)
    plain = folded(network)
    norms = [m for m in plain.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert not norms and any(isinstance(m, torch.nn.BatchNorm2d) for m in network.modules())
    observations = torch.from_numpy(seen(TicTacToe(), 50))
    with torch.no_grad():
        for one, two in zip(network(observations)[:2], plain(observations)[:2], strict=True):
            torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["batch", "fixed"])
def test_folded_numbers_are_those_of_the_folded_copy(norm):
    network = build_network("2x8", game=ConnectFour(), seed=1, norm=norm, pooling_every=1).train()
    network(torch.randn(16, 2, 6, 7))  # so that batch norms have seen something
    found = folded_state(network)
    for name, tensor in folded(network).state_dict().items():
        assert torch.equal(found[name], tensor), name


def test_a_traced_model_says_the_same_in_any_batch_size():
    network = build_network("t1x16", game=ConnectFour(), seed=1, moves_left=True)
    model = onnx_bytes(network, network.header, traced=True)
    for size in (1, 5):
        observations = np.random.default_rng(1).normal(size=(size, 2, 6, 7)).astype(np.float32)
        assert max_difference(network, model, observations) < 1e-5
