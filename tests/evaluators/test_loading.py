"""An evaluator from a file: every kind that is read, and a sentence for every other."""

import shutil

import pytest

from sylvan import Search
from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators import Cached, OnnxEvaluator, evaluator_named, load_evaluator
from sylvan.games import Chess
from sylvan.networks import build_network, save_network
from tests.evaluators.models import small_lc0, small_model


def test_lc0_and_onnx_files_are_the_same_network(tmp_path):
    path = small_lc0(tmp_path)
    model = tmp_path / "small.onnx"
    model.write_bytes(small_model(tmp_path))
    first, second = load_evaluator(path), load_evaluator(str(model), backend="onnx")
    assert isinstance(first, OnnxEvaluator) and isinstance(second, OnnxEvaluator)
    assert (first.name, second.name) == ("small.pb", "small.onnx")
    observation = Chess().observation()[None]
    assert first.infer(observation).policy.tolist() == second.infer(observation).policy.tolist()


def test_a_cache_and_options_come_along(tmp_path):
    evaluator = load_evaluator(
        small_lc0(tmp_path),
        cache_bytes=1000,
        cache_boards=1,
        history_fill="no",
        threads=1,
        name="mine",
    )
    assert isinstance(evaluator, Cached) and (evaluator.bytes, evaluator.boards) == (1000, 1)
    inner = evaluator.evaluator
    assert (inner.threads, inner.name) == (1, "mine")
    assert evaluator.encoding.history_fill == "no"


def test_a_path_is_as_good_as_a_name(tmp_path):
    path = small_lc0(tmp_path)
    for given in (str(path), path):
        result = Search(given, simulations=20).run(Chess())
        assert result.evaluator == "small.pb" and result.tree.root.N == 21


@pytest.mark.parametrize(
    ("name", "options", "error", "sentence"),
    [
        ("net.bin", {}, NetworkError, "ends in"),
        ("absent.onnx", {}, NetworkError, r"absent.onnx"),
        ("small.pb", {"backend": "cuda"}, ConfigError, r"backend.*'cuda'"),
        ("bad.onnx", {"backend": "torch"}, ConfigError, r"backend.*'torch'"),
        ("bad.safetensors", {"backend": "onnx"}, ConfigError, r"backend.*'onnx'"),
        ("bad.onnx", {}, NetworkError, r"bad\.onnx.*ONNX"),
        ("bad.pb.gz", {}, NetworkError, "lc0"),
        ("small.pb", {"history_fill": "never"}, ConfigError, "never"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_a_sentence(name, options, error, sentence, tmp_path):
    small = small_lc0(tmp_path)
    for bad in ("bad.onnx", "bad.safetensors", "bad.pb.gz"):
        (tmp_path / bad).write_bytes(b"")
    assert small.exists()
    with pytest.raises(error, match=sentence) as caught:
        load_evaluator(tmp_path / name, **options)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_file(tmp_path):
    folder = tmp_path / "net.onnx"
    folder.mkdir()
    with pytest.raises(NetworkError, match="file"):
        load_evaluator(folder)
    shutil.rmtree(folder)


def test_names_are_still_names():
    with pytest.raises(ConfigError, match="'magic'"):
        evaluator_named("magic")


@pytest.mark.parametrize("option", ["device", "made_up"])
def test_an_option_that_a_backend_does_not_have_is_named(option, tmp_path):
    with pytest.raises(ConfigError, match=option):
        load_evaluator(small_lc0(tmp_path), **{option: "x"})


def test_options_of_onnx_runtime_are_not_those_of_pytorch(tmp_path):
    save_network(build_network("1x8", game=Chess(), seed=1), tmp_path / "net.safetensors")
    with pytest.raises(ConfigError, match="threads"):
        load_evaluator(tmp_path / "net.safetensors", threads=1)
