"""Network files: read back bit for bit, refused if they do not fit."""

import gzip
import json
import struct
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import NetworkError
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.networks import (
    NetworkHeader,
    build_network,
    load_network,
    read_checkpoint,
    save_network,
    write_checkpoint,
)
from sylvan.networks.checkpoint import read_header


@pytest.fixture(scope="module")
def network():
    return build_network("2x16", game=TicTacToe(), seed=3, moves_left=True).eval()


@pytest.fixture
def saved(network, tmp_path):
    path = tmp_path / "net.safetensors"
    save_network(network, path, training_step=12)
    return path


@pytest.mark.parametrize("size", ["2x16", "t2x32", "mlp2x16"])
def test_a_saved_network_is_loaded(size, tmp_path):
    network = build_network(size, game=ConnectFour(), seed=3, moves_left=True).train()
    network(torch.randn(16, 2, 6, 7))  # updates the batch-norm statistics
    save_network(network, tmp_path / "net.safetensors", training_step=99)
    loaded = load_network(tmp_path / "net.safetensors", game=ConnectFour())
    assert not loaded.training
    assert loaded.header == network.header.replace(training_step=99)
    observations = torch.randn(5, 2, 6, 7)
    network.eval()
    for one, two in zip(network(observations)[:3], loaded(observations)[:3], strict=True):
        assert torch.equal(one, two)


def test_a_users_module(tmp_path):
    class Mine(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(18, 12)

    mine = Mine()
    header = NetworkHeader.for_game(TicTacToe(), architecture={"name": "mine"})
    save_network(mine, tmp_path / "mine.safetensors", header=header)
    again = load_network(tmp_path / "mine.safetensors", module=Mine(), game=TicTacToe())
    assert torch.equal(again.layer.weight, mine.layer.weight) and again.header == header
    with pytest.raises(NetworkError, match=r"'mine'.*load_network\(path.*module="):
        load_network(tmp_path / "mine.safetensors")
    with pytest.raises(NetworkError, match="header=NetworkHeader"):
        save_network(Mine(), tmp_path / "other.safetensors")


def test_a_failed_write_keeps_the_old_file(network, saved, monkeypatch):
    before = saved.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_network(network, saved, training_step=13)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_missing_folder_is_named(network, tmp_path):
    with pytest.raises(NetworkError, match=r"folder.*none"):
        save_network(network, tmp_path / "none" / "net.safetensors")


def test_files_are_read_without_torch(saved):
    without = "import sys; sys.modules['torch'] = None; from sylvan.networks import "
    code = f"{without} read_checkpoint; print(len(read_checkpoint({str(saved)!r})[1]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(read_checkpoint(saved)[1])
    code = f"{without} build_network"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingExtra: PyTorch is not installed" in done.stderr
    assert "pip install 'sylvan[torch]'" in done.stderr


def changed(path, change):
    """Change a file's list of tensors in place."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    index = json.loads(data[8 : 8 + length])
    change(index)
    text = json.dumps(index).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


def header_changed(**fields):
    def change(index):
        header = json.loads(index["__metadata__"]["sylvan"])
        index["__metadata__"]["sylvan"] = json.dumps(header | fields)

    return change


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda p: p.write_bytes(b""), r"truncated.*0"),
        (lambda p: p.write_bytes(p.read_bytes()[:5]), r"truncated.*5"),
        (lambda p: p.write_bytes(p.read_bytes()[:90]), r"truncated.*tensors"),
        (lambda p: p.write_bytes(p.read_bytes()[:-10]), r"truncated.*10"),
        (lambda p: p.write_bytes(p.read_bytes() + b"more"), "damaged"),
        (lambda p: p.write_bytes(b"nonsense" * 20), "safetensors"),
        (lambda p: p.write_bytes(gzip.compress(p.read_bytes())), "gzip"),
        (lambda p: torch.save({"a": 1}, p), "zip"),
        (lambda p: p.write_bytes(b"\x80\x04" + b"x" * 30), "pickle"),
        (lambda p: p.unlink(), "no such file"),
        (lambda p: changed(p, lambda index: index.pop("__metadata__")), "header"),
        (lambda p: changed(p, header_changed(format=2)), "format 2"),
        (lambda p: changed(p, header_changed(num_logits=-1)), "'num_logits'"),
        (lambda p: changed(p, header_changed(num_logits=18)), "checksum"),
        (
            lambda p: changed(p, lambda index: index.update({"body.input.0.weight": 3})),
            "damaged",
        ),
    ],
)
def test_damaged_files_are_refused(saved, damage, sentence):
    damage(saved)
    with pytest.raises(NetworkError, match=sentence) as caught:
        load_network(saved)
    assert str(saved) in str(caught.value) and "\n" not in str(caught.value)


def test_tensors_that_do_not_fit_are_refused(saved):
    header, tensors = read_checkpoint(saved)
    name = "value.out.bias"
    write_checkpoint(saved, header, {k: v for k, v in tensors.items() if k != name})
    with pytest.raises(NetworkError, match=r"'value.out.bias'"):
        load_network(saved)
    for change, wrong in (
        ({"num_logits": 18}, "'policy.logits.weight'"),
        ({"observation_shape": (3, 3, 3)}, "'body.input.0.weight'"),
    ):
        write_checkpoint(saved, header.replace(**change), tensors)
        with pytest.raises(NetworkError, match=wrong):
            load_network(saved)
    write_checkpoint(saved, header, tensors | {"more": np.zeros(3, np.float32)})
    with pytest.raises(NetworkError, match="'more'"):
        load_network(saved)
    write_checkpoint(saved, header, tensors | {name: np.zeros(4, np.float32)})
    with pytest.raises(NetworkError, match=r"'value.out.bias'.*\(4,\)"):
        load_network(saved)


def test_a_network_for_another_game_is_refused(saved):
    load_network(saved, game=TicTacToe())
    with pytest.raises(NetworkError, match=r"tic_tac_toe.*connect_four"):
        load_network(saved, game=ConnectFour())
    chess = build_network("1x8", game=Chess())
    save_network(chess, saved)
    load_network(saved, game=Chess())
    with pytest.raises(NetworkError, match=r"chess.*tic_tac_toe"):
        load_network(saved, game=TicTacToe())


@given(data=st.data())
def test_any_damage_raises_only_a_network_error(data, tmp_path_factory):
    """Reading any bytes succeeds or raises a NetworkError."""
    path = tmp_path_factory.getbasetemp() / "fuzzed.safetensors"
    if not hasattr(test_any_damage_raises_only_a_network_error, "whole"):
        save_network(build_network("mlp1x2", game=TicTacToe(), seed=1), path)
        test_any_damage_raises_only_a_network_error.whole = path.read_bytes()
    whole = bytearray(test_any_damage_raises_only_a_network_error.whole)
    for _ in range(data.draw(st.integers(1, 4))):
        offset = data.draw(st.integers(0, len(whole) - 1))
        whole[offset : offset + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
        if not whole:
            break
    path.write_bytes(bytes(whole))
    with suppress(NetworkError):
        load_network(path)


def test_only_the_header_is_read(saved):
    assert read_header(saved).training_step == 12
