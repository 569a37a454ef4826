"""Damaged network files are refused when they are loaded; files without a checksum still load."""

import random

import numpy as np
import pytest

from sylvan.errors import NetworkError
from sylvan.evaluators import OnnxEvaluator
from sylvan.games import TicTacToe
from sylvan.networks.checkpoint import read_checkpoint, write_checkpoint
from sylvan.networks.header import NetworkHeader
from sylvan.networks.onnx_file import read_model, verified_model, write_model
from tests.evaluators.models import linear_model

HEADER = NetworkHeader.for_game(TicTacToe())
TENSORS = {
    "body.weight": np.linspace(-1, 1, 60, dtype=np.float32).reshape(5, 12),
    "steps": np.array([7], np.int64),
}


def flipped(data, offset):
    return data[:offset] + bytes([data[offset] ^ 0x20]) + data[offset + 1 :]


def offsets(data):
    return random.Random(0).sample(range(len(data)), min(len(data), 600))


def test_a_flipped_byte_of_a_safetensors_file_changes_nothing_or_is_refused(tmp_path):
    path = tmp_path / "best.safetensors"
    write_checkpoint(path, HEADER, TENSORS)
    data, refused = path.read_bytes(), 0
    for offset in offsets(data):
        path.write_bytes(flipped(data, offset))
        try:
            header, tensors = read_checkpoint(path)
        except NetworkError:
            refused += 1
            continue
        assert header == HEADER
        for name, array in TENSORS.items():
            np.testing.assert_array_equal(tensors[name], array)
    assert refused > 0.9 * len(offsets(data))


def test_a_flipped_weight_is_named_as_damage(tmp_path):
    path = tmp_path / "best.safetensors"
    write_checkpoint(path, HEADER, TENSORS)
    path.write_bytes(flipped(path.read_bytes(), path.stat().st_size - 3))
    with pytest.raises(NetworkError, match=r"best.safetensors is damaged: .* copy it again"):
        read_checkpoint(path)


def test_a_flipped_byte_of_an_onnx_file_is_refused(tmp_path):
    path = tmp_path / "best.onnx"
    model, _ = linear_model(TicTacToe())
    write_model(path, model)
    data = path.read_bytes()
    assert read_model(path) == model and OnnxEvaluator(path).header.game == "tic_tac_toe"
    for offset in range(0, len(model), 41):
        path.write_bytes(flipped(data, offset))
        with pytest.raises(NetworkError, match="checksum"):
            OnnxEvaluator(path)


def test_files_without_a_checksum_load(tmp_path):
    from safetensors.numpy import save

    path = tmp_path / "old.safetensors"
    path.write_bytes(save(TENSORS, metadata={"sylvan": HEADER.to_json()}))
    header, tensors = read_checkpoint(path)
    assert header == HEADER and tensors.keys() == TENSORS.keys()
    model, _ = linear_model(TicTacToe())
    assert verified_model(model, "old") == model
    (tmp_path / "old.onnx").write_bytes(model)
    assert OnnxEvaluator(tmp_path / "old.onnx").header.game == "tic_tac_toe"


def test_safetensors_and_onnx_read_the_files(tmp_path):
    import onnx
    from safetensors.numpy import load_file

    write_checkpoint(tmp_path / "a.safetensors", HEADER, TENSORS)
    loaded = load_file(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(loaded["body.weight"], TENSORS["body.weight"])
    write_model(tmp_path / "a.onnx", linear_model(TicTacToe())[0])
    properties = {entry.key: entry.value for entry in onnx.load(tmp_path / "a.onnx").metadata_props}
    assert properties.keys() == {"sylvan", "sylvan.crc32"}
