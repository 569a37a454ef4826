"""The evaluation profile: what is recorded, and what counts as a change."""

import pytest

from sylvan.evaluators import profile
from sylvan.evaluators.profile import evaluation_profile, network_profile, profile_changes
from sylvan.games import ConnectFour
from sylvan.networks import build_network


def test_the_profile_of_a_cpu_names_its_instructions(tmp_path, monkeypatch):
    monkeypatch.setattr(profile, "CPU", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu avx2 sse avx512f fma\n")
    found = evaluation_profile(["onnxruntime"], "cpu")
    assert found["device"] == "cpu" and found["instructions"] == "avx2 fma avx512f"
    assert {"machine", "onnxruntime"} < found.keys()
    (tmp_path / "cpuinfo").unlink()
    assert evaluation_profile(["torch"], "cpu")["instructions"] == ""


def test_the_profile_of_a_gpu_has_card_and_driver(tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(profile, "DRIVER", tmp_path / "version")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"card of {device}")
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 91002)
    (tmp_path / "version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Wed Feb 26 2025\n"
    )
    found = evaluation_profile(["torch"], "cuda:1")
    assert found["device"] == "card of cuda:1" and found["driver"] == "570.124.06"
    assert (found["cuda"], found["cudnn"]) == ("12.8", "91002")
    open_module = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release\n"
    (tmp_path / "version").write_text(open_module)
    assert evaluation_profile(["torch"], "cuda")["driver"] == "565.57.01"


@pytest.mark.parametrize("runtime", ["onnx", "torch"])
def test_a_network_adds_architecture_precision_and_batch(runtime):
    from sylvan.evaluators.pytorch import TorchEvaluator
    from sylvan.learning.inference import self_play_evaluator

    network = build_network("1x8", game=ConnectFour(), seed=1)
    if runtime == "onnx":
        evaluator = self_play_evaluator(network, device="cpu", threads=1)
    else:
        evaluator = TorchEvaluator(network, device="cpu")
    found = network_profile(evaluator)
    assert found["precision"] == "float32" and found["batch"] == "any"
    assert '"blocks": 1' in found["network"]
    assert {"onnx": "onnxruntime", "torch": "torch"}[runtime] in found
    evaluator.one_size, evaluator.batch, evaluator.dtype = True, 96, "torch.float16"
    found = network_profile(evaluator)
    assert (found["precision"], found["batch"]) == ("float16", "96")


def test_settings_may_change_and_machines_may_not():
    old = {"device": "one", "batch": "8", "precision": "float32"}
    assert profile_changes(old, old | {"batch": "16", "precision": "float16"}) == ""
    assert "'other', not 'one'" in profile_changes(old, old | {"device": "other"})
    assert "torch is '2', not 'none'" in profile_changes(old, old | {"torch": "2"})
