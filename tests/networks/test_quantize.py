"""Eight-bit models: each step against what it promises, and the whole on real networks."""

import numpy as np
import onnx
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from onnx import numpy_helper

from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators.onnx import OnnxEvaluator
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.learning import measure_loss, sample_positions
from sylvan.networks import (
    build_network,
    export_onnx,
    quantize_onnx,
)
from sylvan.networks.calibration import FLOOR, OpenModel, Ranges
from sylvan.networks.export import onnx_bytes
from sylvan.networks.lc0.file import read_lc0
from sylvan.networks.lc0.graph import lc0_model
from sylvan.networks.quantize import _expanded, _layers, quantized_model
from sylvan.networks.rounding import DAMPING, round_weights
from tests.networks.lc0.files import Shape, SmallNet
from tests.networks.nets import maia, needs_nets
from tests.networks.positions import seen

pytestmark = pytest.mark.slow  # every test builds and runs models


@pytest.fixture(scope="module")
def positions():
    return sample_positions(ConnectFour(), 200, seed=1, evaluator="uniform")


@pytest.fixture(scope="module")
def model():
    """A tower whose planes differ in range, as in trained networks."""
    network = build_network("2x16", game=ConnectFour(), seed=1)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.weight *= torch.exp(torch.randn(module.weight.shape, generator=generator))
                module.bias += 0.3 * torch.randn(module.bias.shape, generator=generator)
    network.train()(torch.from_numpy(seen(ConnectFour(), 256)))
    return onnx_bytes(network.eval(), network.header)


def small_lc0(**shape):
    def make(tmp_path):
        path = tmp_path / "small.pb"
        path.write_bytes(SmallNet(Shape(channels=16, **shape)).to_bytes())
        return lc0_model(read_lc0(path))

    return make


# --- positions ---------------------------------------------------------------------------------


def test_the_seed_determines_the_positions():
    one, two, other = (sample_positions(TicTacToe(), 50, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.observations, two.observations)
    np.testing.assert_array_equal(one.logit_indices, two.logit_indices)
    assert not np.array_equal(one.observations, other.observations)
    assert len({row.tobytes() for row in one.observations}) == 50


def test_a_small_game_gives_fewer_positions():
    class Short(TicTacToe):
        """Ends after two stones."""

        __slots__ = ()

        def is_terminal(self):
            return len(self.moves()) >= 2

        def returns(self):
            return (0.0, 0.0)

        def clone(self):
            return Short(self.moves())

    assert len(sample_positions(Short(), 1000, evaluator="uniform")) == 1 + 9
    with pytest.raises(ConfigError, match=r"count.*0"):
        sample_positions(TicTacToe(), 0)


def test_positions_have_their_legal_logits(positions):
    boards = positions.observations.reshape(len(positions), 2, 6, 7).sum(1)
    for i in range(len(positions)):
        free = [column for column in range(7) if boards[i, 0, column] == 0]
        assert positions.legal(i).tolist() == free


# --- rounding ----------------------------------------------------------------------------------


def correlated(seed, outputs, inputs):
    """Weights, steps coarse enough to make differences visible, and a layer's inputs."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(outputs, inputs)).astype(np.float32)
    mixed = rng.normal(size=(500, 3)) @ rng.normal(size=(3, inputs))
    x = np.maximum(mixed + 0.1 * rng.normal(size=mixed.shape), 0)
    return weights, (np.abs(weights).max(1) / 15).astype(np.float32), x


def errors(left, moments):
    """The squared error of each output, if `left` remains of its weights."""
    return ((left.astype(np.float64) @ moments) * left).sum(1)


@given(seed=st.integers(0, 10**6), outputs=st.integers(1, 6), inputs=st.integers(2, 40))
@example(seed=307399, outputs=1, inputs=10)  # nearest rounding is optimal
@example(seed=1, outputs=6, inputs=40)  # nearest rounding exceeds the bound 15 times
def test_rounding_keeps_the_error_of_outputs_small(seed, outputs, inputs):
    """The bound is half a step per input; later inputs compensate part of it."""
    weights, scales, x = correlated(seed, outputs, inputs)
    moments = x.T @ x
    rounded = round_weights(weights, scales, moments)
    assert rounded.dtype == np.int8 and np.abs(rounded).max() <= 127
    order = np.argsort(-np.diag(moments), kind="stable")
    damped = moments + DAMPING * np.diag(moments).mean() * np.eye(inputs)
    later = [damped[np.ix_(order[i:], order[i:])] for i in range(inputs)]
    remains = sum(1 / np.linalg.inv(block)[0, 0] for block in later)
    bound = (scales.astype(np.float64) / 2) ** 2 * remains
    assert (errors(weights - rounded * scales[:, None], damped) <= bound * (1 + 1e-6)).all()


def test_rounding_removes_half_of_the_error_of_nearest_rounding():
    """Not in every layer, but over many."""
    totals = np.zeros(2)
    for seed in range(40):
        weights, scales, x = correlated(seed, outputs=4, inputs=30)
        nearest = np.rint(weights / scales[:, None])
        rounded = round_weights(weights, scales, x.T @ x)
        for i, integers in enumerate((rounded, nearest)):
            totals[i] += errors(weights - integers * scales[:, None], x.T @ x).sum()
    assert totals[0] < totals[1] / 2


def test_weights_on_the_grid_are_rounded_exactly():
    integers = np.random.default_rng(1).integers(-127, 128, (5, 30))
    scales = np.linspace(0.1, 1, 5, dtype=np.float32)
    x = np.random.default_rng(2).normal(size=(100, 30))
    rounded = round_weights((integers * scales[:, None]).astype(np.float32), scales, x.T @ x)
    np.testing.assert_array_equal(rounded, integers)


# --- steps --------------------------------------------------------------------------------------


def ranges_of(*planes):
    """Ranges of a tensor with these (low, high) planes."""
    ranges = Ranges()
    ranges.note("x", np.array([planes], np.float32).transpose(0, 1, 2)[..., None])
    return ranges


def test_every_plane_has_its_own_step():
    steps = ranges_of((0, 100), (0, 50), (0, 1)).steps("x", one_zero=True)
    assert steps.zero.tolist() == [0, 0, 0]
    np.testing.assert_allclose(steps.size * 255, [110, 55, 33], rtol=1e-6)
    steps = ranges_of((-10, 30), (-40, 0)).steps("x", one_zero=False)
    np.testing.assert_allclose(steps.size * 255, [44, 50.6], rtol=1e-6)  # at least 6.6 each way
    assert steps.zero.tolist() == [64, 222]
    steps = ranges_of((-10, 30), (-40, 0)).steps("x", one_zero=True)
    assert steps.zero.tolist() == [128, 128]
    np.testing.assert_allclose(steps.size * 127, [33, 44], rtol=1e-6)


def test_bits_stay_exact_beside_a_wide_plane():
    """Planes of 0 and 1, one never seen, and one that counts to sixty."""
    steps = ranges_of((0, 1), (0, 1), (0, 0), (0, 60)).input_steps("x")
    np.testing.assert_allclose(steps.size * 255, [1, 1, 1, 90], rtol=1e-6)
    assert np.rint(1 / steps.size[0]) == 255


@pytest.mark.parametrize("kind", ["tower", "squeeze-excitation", "without", "mish"])
def test_int8_outputs_match_fp32_within_a_few_steps(kind, model, tmp_path):
    """An int8 layer's output times its step is close to the fp32 layer's output."""
    if kind == "tower":
        data, positions = model, sample_positions(ConnectFour(), 100, evaluator="uniform")
    else:
        options = {"squeeze-excitation": {}, "without": {"squeeze": 0}, "mish": {"mish": True}}
        data = small_lc0(**options[kind])(tmp_path)
        positions = sample_positions(Chess(), 60, evaluator="uniform")
    one, two = OpenModel(data, kind), OpenModel(quantized_model(data, positions), kind)
    observations = _expanded(one, positions.observations)
    tensor = _layers(one)[0].writes
    wide, narrow = (next(each.run([tensor], observations[:64]))[tensor] for each in (one, two))
    step = (wide.max(axis=(0, 2, 3)) - np.minimum(wide.min(axis=(0, 2, 3)), 0)) / 255
    error = np.abs(narrow - wide) / np.maximum(step, step.max() * FLOOR)[:, None, None]
    assert error.max() < 6 and np.median(error) < 0.7


# --- whole models ------------------------------------------------------------------------------


def test_inner_convolutions_become_int8(model, positions):
    opened = onnx.load_from_string(quantized_model(model, positions))
    kinds = [node.op_type for node in opened.graph.node]
    # The input and two blocks; heads, dense layers and sums stay in fp32.
    assert kinds.count("QLinearConv") == 5 and "Gemm" in kinds and "Add" in kinds
    onnx.checker.check_model(opened, full_check=True)
    weights = [
        numpy_helper.to_array(tensor)
        for tensor in opened.graph.initializer
        if tensor.name.endswith("/weights")
    ]
    assert all(array.dtype == np.int8 and array.ndim == 4 for array in weights)


def test_int8_loses_little(model, positions):
    fresh = sample_positions(ConnectFour(), 400, seed=2, evaluator="uniform")
    loss = measure_loss(model, quantized_model(model, positions), fresh)
    assert loss.positions == 400
    assert loss.policy_kl < 1e-3 and loss.value_error < 0.02 and loss.top1 > 0.95
    same = measure_loss(model, model, fresh)
    assert (same.policy_kl, same.value_error, same.top1) == (0, 0, 1)


def test_layers_without_bias(positions):
    """The exporter omits zero biases, and a new network has only such."""
    network = build_network("2x16", game=ConnectFour(), seed=1).eval()
    model = onnx_bytes(network, network.header)
    convolutions = [
        node for node in onnx.load_from_string(model).graph.node if node.op_type == "Conv"
    ]
    assert any(len(node.input) == 2 for node in convolutions)
    small = onnx.load_from_string(quantized_model(model, positions))
    assert [node.op_type for node in small.graph.node].count("QLinearConv") == 5
    assert measure_loss(model, small.SerializeToString(), positions).policy_kl < 1e-3


def test_the_same_positions_give_the_same_file(model, positions, tmp_path):
    (tmp_path / "net.onnx").write_bytes(model)
    calls = []
    for name in ("one.onnx", "two.onnx"):
        quantize_onnx(
            tmp_path / "net.onnx",
            tmp_path / name,
            positions,
            progress=lambda done, of: calls.append((done, of)),
        )
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()
    assert calls[-1] == (5, 5) and len(calls) == 12
    assert OnnxEvaluator(tmp_path / "one.onnx").header.architecture["weights"] == "int8"


def test_models_that_cannot_be_quantized_are_refused(positions, tmp_path):
    target = tmp_path / "int8.onnx"
    with pytest.raises(NetworkError, match=r"none\.onnx"):
        quantize_onnx(tmp_path / "none.onnx", target, positions)
    (tmp_path / "bad.onnx").write_bytes(b"\x0a\xff\xff nonsense")
    with pytest.raises(NetworkError, match=r"bad\.onnx.*ONNX"):
        quantize_onnx(tmp_path / "bad.onnx", target, positions)
    export_onnx(build_network("mlp1x8", game=ConnectFour(), seed=1), tmp_path / "mlp.onnx")
    with pytest.raises(NetworkError, match="3 × 3"):
        quantize_onnx(tmp_path / "mlp.onnx", target, positions)
    headerless = onnx.load(tmp_path / "mlp.onnx")
    del headerless.metadata_props[:]
    onnx.save(headerless, tmp_path / "headerless.onnx")
    with pytest.raises(NetworkError, match="game"):
        quantize_onnx(tmp_path / "headerless.onnx", target, positions)
    assert not target.exists()


def test_networks_with_different_outputs_are_not_compared(model, positions):
    other = build_network("1x8", game=ConnectFour(), value="scalar", seed=1)
    with pytest.raises(NetworkError, match="outputs"):
        measure_loss(model, onnx_bytes(other, other.header), positions)


@needs_nets
@pytest.mark.parametrize(
    "rating",
    [
        pytest.param(1100, marks=pytest.mark.soak),
        pytest.param(1500, marks=pytest.mark.slow),
        pytest.param(1900, marks=pytest.mark.soak),
    ],
)
def test_maia_in_int8(rating):
    """The same best move in 97 of 100 positions outside the calibration."""
    model = lc0_model(read_lc0(maia(rating)))
    evaluate = OnnxEvaluator(model)
    first, second = (
        sample_positions(Chess(), count, seed=seed, evaluator=evaluate)
        for seed, count in ((1, 768), (2, 1024))
    )
    loss = measure_loss(evaluate, quantized_model(model, first), second)
    assert loss.top1 >= 0.97, str(loss)
    assert loss.policy_kl < 0.003 and loss.value_error < 0.015, str(loss)
