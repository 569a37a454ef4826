"""lc0's files: supported formats give the network's outputs; others are refused."""

import gzip
import re
from dataclasses import replace

import chess
import numpy as np
import onnx
import onnxruntime
import pytest

from sylvan.errors import NetworkError
from sylvan.networks.header import HEADER_KEY, NetworkHeader
from sylvan.networks.lc0.file import read_lc0
from sylvan.networks.lc0.graph import lc0_model
from sylvan.networks.lc0.policy import moves
from sylvan.networks.lc0.tower import lc0_arrays, lc0_header, lc0_module
from tests.networks.lc0.files import Shape, SmallNet, policy_index

SHAPES = {
    "squeeze-excitation, convolution, wdl": Shape(),
    "classical, dense, scalar": Shape(squeeze=0, conv_policy=False, wdl=False),
    "an old file without formats": Shape(
        squeeze=0, conv_policy=False, wdl=False, say_format=False, gammas=False
    ),
    "an old file with squeeze-excitation": Shape(conv_policy=False, wdl=False, say_format=False),
    "moves left": Shape(moves_left=True),
    "mish": Shape(mish=True, moves_left=True),
    "fp16": Shape(encoding=2),
    "bf16": Shape(encoding=3),
    "fp32": Shape(encoding=4, mish=True, conv_policy=False),
    "no batch norm": Shape(batch_norm=False),
    "no blocks": Shape(blocks=0, squeeze=0),
}


@pytest.fixture
def planes():
    rng = np.random.default_rng(7)
    planes = (rng.random((3, 112, 8, 8)) < 0.15).astype(np.float32)
    planes[:, 109] = [[[0]], [[3]], [[60]]]  # the half-move clock
    return planes


def written(tmp_path, net, name="net.pb"):
    path = tmp_path / name
    path.write_bytes(net if isinstance(net, bytes) else net.to_bytes())
    return path


def run(model, planes):
    session = onnxruntime.InferenceSession(model)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"observations": planes}), strict=True))


# --- supported files -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_outputs_match_numpy(shape, tmp_path, planes):
    net = SmallNet(shape)
    network = read_lc0(written(tmp_path, net))
    answers = run(lc0_model(network), planes)
    policy, value, moves_left = net.answer(planes)
    if shape.conv_policy:
        policy = policy[:, [policy_index(move) for move in moves()]]
    scale = np.abs(policy).max()
    np.testing.assert_allclose(answers["policy"], policy, atol=2e-5 * scale)
    np.testing.assert_allclose(answers["value"], value, atol=1e-4)
    assert ("moves_left" in answers) == shape.moves_left
    if shape.moves_left:
        np.testing.assert_allclose(answers["moves_left"], moves_left, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_model_is_valid_onnx_with_a_header(shape, tmp_path):
    network = read_lc0(written(tmp_path, SmallNet(shape)))
    model = onnx.load_from_string(lc0_model(network, "no"))
    onnx.checker.check_model(model, full_check=True)
    (text,) = [entry.value for entry in model.metadata_props if entry.key == HEADER_KEY]
    header = NetworkHeader.from_json(text)
    assert header == lc0_header(network, "no") and header.encoding.history_fill == "no"
    assert header.value == ("wdl" if shape.wdl else "scalar") and header.training_step == 1234
    assert header.moves_left == shape.moves_left
    assert header.architecture["blocks"] == shape.blocks
    assert header.architecture["squeeze"] == shape.squeeze


def test_gzip_may_be_applied_never_once_or_twice(tmp_path):
    plain = SmallNet(Shape(blocks=1)).to_bytes()
    for data in (plain, gzip.compress(plain), gzip.compress(gzip.compress(plain))):
        network = read_lc0(written(tmp_path, data))
        assert len(network.blocks) == 1 and network.channels == 5


def test_unknown_fields_are_ignored(tmp_path):
    data = SmallNet(Shape(blocks=1)).to_bytes() + bytes([0xFA, 0x06, 2, 1, 2])  # field 111
    assert len(read_lc0(written(tmp_path, data)).blocks) == 1


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_arrays_have_the_network_s_weights(shape, tmp_path):
    network = read_lc0(written(tmp_path, SmallNet(shape)))
    arrays = lc0_arrays(network)
    np.testing.assert_array_equal(arrays["body.input.0.weight"], network.input.weight)
    np.testing.assert_array_equal(arrays["value.out.bias"], network.value.dense2.bias)
    assert sum(name.endswith("conv2.0.weight") for name in arrays) == shape.blocks
    assert all(array.dtype == np.float32 for array in arrays.values())


# --- refused files -------------------------------------------------------------------------------


def changed(**fields):
    net = SmallNet(Shape(blocks=1))
    for name, value in fields.items():
        setattr(net.net.format.network_format, name, value)
    return net.to_bytes()


def with_encoder():
    net = SmallNet(Shape(blocks=1))
    net.net.weights.encoder.add().ln1_gammas.params = b"\0\0"
    return net.to_bytes()


def cut(name):
    """A network with one number missing in a layer."""
    net = SmallNet(Shape(blocks=1, encoding=4))
    layer = net.net
    for part in name.split("."):
        layer = layer[int(part)] if part.isdigit() else getattr(layer, part)
    layer.params = layer.params[:-4]
    return net.to_bytes()


def damaged(change):
    data = SmallNet(Shape(blocks=1)).to_bytes()
    return change(data)


def with_nan():
    net = SmallNet(Shape(blocks=1, encoding=4))
    layer = net.net.weights.ip1_val_b
    layer.params = np.full(6, np.nan, "<f4").tobytes()
    return net.to_bytes()


def with_encoding(number):
    net = SmallNet(Shape(blocks=1))
    net.net.weights.ip1_val_b.encoding = number
    return net.to_bytes()


def without_weights():
    net = SmallNet(Shape(blocks=1))
    net.net.ClearField("weights")
    return net.to_bytes()


REFUSED = {
    "attention body": (
        changed(network=6),
        r"has an attention body \(a transformer\)",
    ),
    "its encoders": (with_encoder(), "has an attention body"),
    "attention policy": (changed(policy=3), "has an attention policy head"),
    "onnx": (changed(network=5), "has an ONNX model inside"),
    "input": (changed(input=3), "has the input format 3"),
    "value": (changed(value=3), "has the value head format 3"),
    "value's size": (changed(value=1), "one number.*3 outputs"),
    "activation": (changed(default_activation=4), "has the activation 4"),
    "moves left": (changed(moves_left=1), "0 numbers that do not fit in moves left, convolution"),
    "encoding": (with_encoding(9), "has the unknown encoding 9 in value, first dense layer"),
    "not finite": (with_nan(), "value, first dense layer has numbers that are not finite"),
    "no weights": (without_weights(), "has no weights"),
    "input's shape": (cut("weights.input.weights"), "do not fit in input: 112 inputs, 3×3"),
    "a bias": (cut("weights.input.biases"), "4 numbers that do not fit in input: a number per"),
    "block's shape": (cut("weights.residual.0.conv2.weights"), "block 1, second convolution: 5"),
    "squeeze": (cut("weights.residual.0.se.w1"), "do not fit in block 1, squeeze: 5 inputs"),
    "policy planes": (cut("weights.policy.weights"), "policy, second convolution"),
    "value's dense": (cut("weights.ip1_val_w"), "value, first dense layer: 128 inputs"),
    "half a number": (
        damaged(lambda data: data.replace(b"\x1a\x0a", b"\x1a\x09", 1)),
        "is not a complete network|is damaged|do not fit",
    ),
    "truncated": (damaged(lambda data: data[: len(data) // 2]), "is not a complete network of lc0"),
    "truncated zip": (
        damaged(lambda data: gzip.compress(data)[:-100]),
        r"cannot be unzipped \(compressed file ended",
    ),
    "damaged zip": (
        damaged(lambda data: (z := gzip.compress(data))[:200] + b"\0" * 50 + z[250:]),
        "cannot be unzipped",
    ),
    "magic": (damaged(lambda data: b"\x0d\xc1\x01\0\0" + data[5:]), "is not a network of lc0"),
    "empty": (b"", "is not a network of lc0"),
    "text": (b"2\n0.1 0.2\n", "is a network of lc0's old text format"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "is not a (complete )?network of lc0"),
    "a page": (b"<html><body>404</body></html>", "is not a (complete )?network of lc0"),
}


@pytest.mark.parametrize(("data", "sentence"), REFUSED.values(), ids=REFUSED)
def test_the_error_is_one_sentence_that_names_the_file(data, sentence, tmp_path):
    path = written(tmp_path, data, "bad.pb.gz")
    with pytest.raises(NetworkError, match=sentence) as caught:
        read_lc0(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and re.search(r"[^.]\.$", message) and "\n" not in message


def test_every_truncation_is_an_error(tmp_path):
    """A truncated file of any length raises a NetworkError."""
    data = SmallNet(Shape(blocks=1)).to_bytes()
    for length in np.linspace(0, len(data) - 1, 60).astype(int):
        with pytest.raises(NetworkError):
            read_lc0(written(tmp_path, data[:length]))


def test_random_damage_raises_only_a_network_error(tmp_path):
    """Changed bytes give a network or a NetworkError."""
    rng = np.random.default_rng(3)
    data = SmallNet(Shape(blocks=1, channels=2, conv_policy=False)).to_bytes()
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            broken[rng.integers(len(data)) if rng.random() < 0.5 else rng.integers(200)] = (
                rng.integers(256)
            )
        try:
            network = read_lc0(written(tmp_path, bytes(broken)))
        except NetworkError:
            continue
        assert network.channels == 2


@pytest.mark.parametrize("shape", [SHAPES["moves left"], SHAPES["classical, dense, scalar"]])
def test_the_header_has_every_setting_of_the_tower(shape, tmp_path):
    network = read_lc0(written(tmp_path, SmallNet(shape)))
    assert lc0_module(network).header == lc0_header(network)


def test_blocks_that_differ_are_refused(tmp_path):
    network = read_lc0(written(tmp_path, SmallNet(Shape(blocks=2))))
    odd = replace(
        network,
        blocks=(replace(network.blocks[0], squeeze=None, excite=None),) * 1 + network.blocks[1:],
    )
    with pytest.raises(NetworkError, match="squeeze"):
        lc0_arrays(odd)


# --- the order of policy outputs ------------------------------------------------------------------


def test_outputs_are_all_queen_and_knight_moves_and_promotions():
    """Compared with indices that lc0 documents, and with python-chess."""
    table = moves()
    known = {"e2e4": 322, "d2d4": 293, "g1f3": 159, "g3e5": 617}
    assert {move: table.index(move) for move in known} == known
    assert len(set(table)) == len(table) == 1858
    assert sum(len(move) == 5 for move in table) == 22 * 3
    squares = [chess.square_name(square) for square in chess.SQUARES]
    queen_or_knight = [
        f"{start}{end}"
        for start in squares
        for end in squares
        if chess.parse_square(end) in _reach(chess.parse_square(start))
    ]
    assert table[:1792] == queen_or_knight


def _reach(square):
    board = chess.Board(None)
    board.set_piece_at(square, chess.Piece(chess.QUEEN, chess.WHITE))
    queen = board.attacks(square)
    board.set_piece_at(square, chess.Piece(chess.KNIGHT, chess.WHITE))
    return queen | board.attacks(square)
