"""Models to plan with: PyTorch, ONNX Runtime and files agree, and so do searches."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from sylvan import LatentSearch
from sylvan.errors import EvaluationError, NetworkError
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.muzero import MuZeroConfig, OnnxModel, TorchModel, build_muzero, export_muzero
from sylvan.muzero.device_model import DeviceModel
from sylvan.muzero.model import EagerModel, SwappedModel
from sylvan.networks import build_network
from tests.muzero.made_up import Counter

GAMES = {
    "mlp": ("mlp2x16", lambda: Counter(shape=(4, 2))),
    "tower": ("1x8", ConnectFour),
    "image": ("1x8", lambda: Counter(shape=(1, 24, 24), dtype=np.uint8)),
    "chess": ("1x8", lambda: Chess(encoder="planes19")),
    "seats": ("mlp2x16", lambda: Counter(players=3)),
}


def network_of(name, seed=1):
    size, game = GAMES[name]
    network = build_muzero(size, game=game(), seed=seed).eval()
    with torch.no_grad():  # so that heads are not 0, and statistics of norms not 0 and 1
        for key, tensor in network.state_dict().items():
            if key.endswith(("out.weight", "reward.3.weight", "logits.weight")):
                tensor.mul_(10)
            if key.endswith("running_mean"):
                tensor.normal_()
    return network, game()


def observations_of(game, count=7, seed=0):
    """Observations of random states."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        state = game.clone()
        for _ in range(rng.integers(0, 6)):
            state.apply(int(rng.choice(list(state.legal_actions()))))
        found.append(state.observation())
    return np.stack(found)


@pytest.fixture(scope="module", params=GAMES, ids=str)
def models(request, tmp_path_factory):
    network, game = network_of(request.param)
    folder = tmp_path_factory.mktemp("networks") / request.param
    assert export_muzero(network, folder) < 1e-5
    return (
        game,
        EagerModel(network),
        {
            "processor": TorchModel(network, "cpu", threads=1),
            "threads": TorchModel(network, "cpu", threads=3),
            "files": OnnxModel(folder, threads=1),
            "device": DeviceModel(network, torch.device("cpu")),
        },
    )


@pytest.mark.slow
def test_all_models_agree_with_the_network(models):
    game, eager, others = models
    seen = observations_of(game)
    rng = np.random.default_rng(1)
    actions = rng.integers(0, game.num_actions, (3, len(seen)))
    for name, model in others.items():
        mine, theirs = eager.initial_inference(seen), model.initial_inference(seen)
        for step in actions:
            for one, other in zip(mine, theirs, strict=True):
                close = np.abs(np.asarray(one) - np.asarray(other)).max()
                assert close <= 1e-5 * max(1, np.abs(one).max()), name
            mine = eager.recurrent_inference(mine.hidden, step)
            theirs = model.recurrent_inference(theirs.hidden, step)
    value = np.asarray(mine.value)
    assert value.std() > 1e-4  # so that the comparison is meaningful


@pytest.mark.parametrize("kind", ["categorical", "scalar"])
def test_a_row_has_the_same_bits_in_any_batch(kind):
    """So games do not depend on how many are played at once."""
    game, rng = GAMES["mlp"][1](), np.random.default_rng(3)
    config = MuZeroConfig(value_kind=kind, reward_kind=kind)
    model = TorchModel(build_muzero("mlp1x32", game=game, config=config, seed=1), "cpu", threads=1)
    shape = model.header.observation_shape
    whole = model.initial_inference(rng.normal(size=(64, *shape)).astype(np.float32))
    actions = rng.integers(0, game.num_actions, 64)
    expected = model.recurrent_inference(whole.hidden, actions)
    for size in (1, 2, 3, 5, 8):
        for first in range(0, 64, size):
            rows = slice(first, first + size)
            found = model.recurrent_inference(whole.hidden[rows], actions[rows])
            for name, one, other in zip(found._fields, found, expected, strict=True):
                np.testing.assert_array_equal(one, other[rows], err_msg=name)


def test_searches_make_the_same_visits(models):
    game, eager, others = models
    seen = observations_of(game, 5)
    settings = {"simulations": 24, "num_players": game.num_players, "discount": 0.97}
    if game.num_players == 3:
        settings["relative"] = True
    expected = [each.policy for each in LatentSearch(eager, **settings).run_many(seen)]
    for name, model in others.items():
        found = [each.policy for each in LatentSearch(model, **settings).run_many(seen)]
        assert np.array_equal(found, expected), name


@pytest.mark.parametrize("name", ["mlp", "tower"])
def test_new_weights_are_used_after_refresh_and_not_before(name):
    network, game = network_of(name)
    model, seen = TorchModel(network, "cpu", threads=1), observations_of(game)
    assert isinstance(model.inner, SwappedModel)
    assert all(each.swaps for each in model.inner._models.values())
    before = model.initial_inference(seen)
    other, _ = network_of(name, seed=2)
    network.load_state_dict(other.state_dict())
    assert np.array_equal(model.initial_inference(seen).policy, before.policy)
    model.refresh(network)
    mine, theirs = EagerModel(other).initial_inference(seen), model.initial_inference(seen)
    assert not np.allclose(theirs.policy, before.policy, atol=1e-3)
    for one, two in zip(mine, theirs, strict=True):
        assert np.allclose(one, two, atol=1e-5)
    device = DeviceModel(other, torch.device("cpu"))
    device.refresh(network)
    assert np.allclose(device.initial_inference(seen).policy, mine.policy, atol=1e-5)


def test_a_network_that_cannot_be_exported_runs_on_pytorch(monkeypatch, caplog):
    network, game = network_of("mlp")
    monkeypatch.setattr("sylvan.muzero.model.part_bytes", _fails)
    model = TorchModel(network, "cpu")
    assert isinstance(model.inner, EagerModel)
    assert "cannot be exported to ONNX (no such operator)" in caplog.text
    assert model.initial_inference(observations_of(game)).policy.shape == (7, 2)


def _fails(*_args, **_options):
    raise RuntimeError("no such operator")


@pytest.mark.slow
def test_exported_files_work_without_pytorch(tmp_path):
    network, game = network_of("tower")
    export_muzero(network, tmp_path)
    np.save(tmp_path / "seen.npy", observations_of(game, 3))
    program = """
import sys
sys.modules["torch"] = sys.modules["onnx"] = None
import numpy as np, sylvan
from sylvan.muzero import OnnxModel
model = OnnxModel(sys.argv[1])
search = sylvan.LatentSearch(model, simulations=16, num_players=2)
found = search.run_many(np.load(sys.argv[1] + "/seen.npy"))
np.save(sys.argv[1] + "/found.npy", [each.policy for each in found])
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=60)
    search = LatentSearch(EagerModel(network), simulations=16, num_players=2)
    expected = [each.policy for each in search.run_many(np.load(tmp_path / "seen.npy"))]
    assert np.array_equal(np.load(tmp_path / "found.npy"), expected)


@pytest.mark.parametrize("kind", ["processor", "files", "device"])
def test_wrong_shapes_are_refused(kind, tmp_path):
    network, _ = network_of("mlp")
    export_muzero(network, tmp_path)
    model = {
        "processor": lambda: TorchModel(network, "cpu"),
        "files": lambda: OnnxModel(tmp_path),
        "device": lambda: DeviceModel(network, torch.device("cpu")),
    }[kind]()
    with pytest.raises(EvaluationError, match=r"\(2, 5\)"):
        model.initial_inference(np.zeros((2, 5), np.float32))
    hidden = np.zeros((2, 16), np.float32)
    with pytest.raises(EvaluationError, match=r"\(B, 16\).*\(B,\)"):
        model.recurrent_inference(hidden[:, :9], np.zeros(2, np.int64))
    with pytest.raises(EvaluationError, match=r"\(3,\)"):
        model.recurrent_inference(hidden, np.zeros(3, np.int64))
    if kind != "device":
        with pytest.raises(EvaluationError, match="0 to 2"):
            model.recurrent_inference(hidden, np.array([0, 2]))


def test_packed_planes_of_another_encoding_are_refused():
    network, _ = network_of("chess")
    with pytest.raises(EvaluationError, match=r"\(B, 19, 8, 8\)"):
        TorchModel(network, "cpu").initial_inference(Chess(encoder="az119").observation()[None])


def test_a_folder_without_three_networks_is_refused(tmp_path):
    with pytest.raises(NetworkError, match=r"representation\.onnx"):
        OnnxModel(tmp_path)
    network, _ = network_of("mlp")
    export_muzero(network, tmp_path)
    other = build_muzero("mlp2x16", game=TicTacToe(), seed=1)
    export_muzero(other, tmp_path / "other")
    (tmp_path / "dynamics.onnx").write_bytes((tmp_path / "other/dynamics.onnx").read_bytes())
    with pytest.raises(NetworkError, match=r"dynamics\.onnx"):
        OnnxModel(tmp_path)
    (tmp_path / "dynamics.onnx").write_bytes(b"nothing")
    with pytest.raises(NetworkError, match="ONNX"):
        OnnxModel(tmp_path)
    with pytest.raises(NetworkError, match=r"Network.*learned model"):
        TorchModel(build_network("mlp1x8", game=TicTacToe()), "cpu")
