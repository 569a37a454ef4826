"""`sylvan convert`: the same network in another file, or one sentence and no file."""

import importlib

import numpy as np
import pytest
from typer.testing import CliRunner

from sylvan.cli import app
from sylvan.evaluators import load_evaluator
from sylvan.games import Chess
from tests.evaluators.models import small_lc0
from tests.networks.lc0.files import Shape
from tests.networks.nets import maia, needs_nets


def run(*words):
    return CliRunner().invoke(app, ["convert", *map(str, words)])


def answers(path, **options):
    observations = np.stack([Chess(moves=moves).observation() for moves in ("", "e4", "d4 d5 c4")])
    return load_evaluator(path, **options).infer(observations)


def assert_same(first, second, tolerance):
    for one, other in zip(first, second, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


SHAPES = {
    "convolution, wdl": Shape(channels=8, squeeze=4),
    "dense, scalar, moves left": Shape(
        channels=8, squeeze=0, conv_policy=False, wdl=False, moves_left=True
    ),
    "mish": Shape(channels=8, mish=True, moves_left=True),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_file_is_the_same_network(shape, tmp_path):
    source = small_lc0(tmp_path, shape)
    expected = answers(source)
    model, arrays = tmp_path / "net.onnx", tmp_path / "net.safetensors"
    for target in (model, arrays):
        done = run(source, target)
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith(f"{target} (") and "112 × 8 × 8 in" in done.stdout
    assert_same(answers(model), expected, 0)
    assert_same(answers(arrays), expected, 1e-4)
    assert_same(answers(source, backend="torch"), expected, 1e-4)


@pytest.mark.slow
def test_a_checkpoint_becomes_a_model(tmp_path):
    source = small_lc0(tmp_path, Shape(channels=8, squeeze=4))
    arrays, model = tmp_path / "net.safetensors", tmp_path / "net.onnx"
    assert run(source, arrays).exit_code == 0
    assert run(arrays, model).exit_code == 0
    assert_same(answers(model), answers(source), 1e-4)


def test_history_fill_is_stored(tmp_path):
    source, target = small_lc0(tmp_path), tmp_path / "net.onnx"
    assert run(source, target, "--history-fill", "always").exit_code == 0
    assert load_evaluator(target).encoding.history_fill == "always"


@needs_nets
def test_maia_as_a_module_agrees(tmp_path):
    arrays = tmp_path / "maia.safetensors"
    done = run(maia(1500), arrays)
    assert done.exit_code == 0, done.output
    assert_same(answers(arrays), answers(maia(1500)), 1e-4)
    assert load_evaluator(arrays).header.training_step == 400_000


def test_int8_is_close_to_fp32(tmp_path, monkeypatch):
    command = importlib.import_module("sylvan.cli.convert")
    monkeypatch.setattr(command, "CALIBRATION", 60)
    monkeypatch.setattr(command, "MEASURED", 80)
    source, target = small_lc0(tmp_path, Shape(channels=16)), tmp_path / "small.onnx"
    done = run(source, target, "--int8")
    assert done.exit_code == 0, done.output
    assert "Against fp32: policy KL" in done.stdout
    assert target.stat().st_size < source.stat().st_size * 2
    small, whole = answers(target), answers(source)
    np.testing.assert_allclose(small.value, whole.value, atol=0.05)
    assert small.policy.argmax(axis=1).tolist() == whole.policy.argmax(axis=1).tolist()


def test_an_origin_is_kept_in_the_header(tmp_path):
    plain, noted = tmp_path / "plain.onnx", tmp_path / "noted.onnx"
    assert run(small_lc0(tmp_path), plain).exit_code == 0
    assert run(plain, noted, "--origin", "two games, by hand").exit_code == 0
    before, after = load_evaluator(plain).header, load_evaluator(noted).header
    assert (before.origin, after.origin) == ("", "two games, by hand")
    assert after.replace(origin="") == before
    done = run(plain, tmp_path / "out.safetensors", "--origin", "x")
    assert done.exit_code == 2


def test_int8_is_for_onnx(tmp_path):
    done = run(small_lc0(tmp_path), tmp_path / "net.safetensors", "--int8")
    assert done.exit_code == 2 and "--int8 writes only .onnx" in done.stderr


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ("absent.pb", "out.onnx", "There is no file"),
        ("net.txt", "out.onnx", ".pb, .pb.gz"),
        ("small.pb", "out.pt", "end its name in .onnx or .safetensors"),
        ("small.pb", "nowhere/out.onnx", "there is no folder"),
        ("bad.pb.gz", "out.onnx", "is not a network of lc0"),
        ("bad.safetensors", "out.onnx", "is truncated"),
        ("bad.safetensors", "out.safetensors", "is .safetensors already: there is nothing"),
        ("bad.onnx", "out.onnx", "is .onnx already: there is nothing to convert"),
        ("bad.onnx", "out.safetensors", "bad.onnx can become only .onnx"),
    ],
)
def test_what_cannot_be_converted(source, target, sentence, tmp_path):
    small_lc0(tmp_path)
    for name in ("bad.pb.gz", "bad.safetensors", "bad.onnx"):
        (tmp_path / name).write_bytes(b"")
    before = sorted(tmp_path.iterdir())
    done = run(tmp_path / source, tmp_path / target)
    assert done.exit_code == 2 and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert sentence in done.stderr
    assert sorted(tmp_path.iterdir()) == before
