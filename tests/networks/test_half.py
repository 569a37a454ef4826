"""Models whose constants are stored in half precision say the same, from half the bytes."""

import numpy as np
import pytest

from sylvan.evaluators import OnnxEvaluator
from sylvan.games import ConnectFour
from sylvan.networks.half import halved_model

torch = pytest.importorskip("torch")


def model_of(**settings):
    from sylvan.networks import build_network
    from sylvan.networks.export import onnx_bytes

    network = build_network("mlp2x64", game=ConnectFour(), seed=1, **settings).eval()
    return network, onnx_bytes


@pytest.mark.slow
def test_the_answers_stay_and_the_bytes_halve():
    network, onnx_bytes = model_of()
    whole = onnx_bytes(network, network.header)
    half = halved_model(whole)
    assert len(half) < 0.6 * len(whole)
    rng = np.random.default_rng(0)
    observations = rng.integers(0, 2, (64, 2, 6, 7)).astype(np.float32)
    for one, other in zip(
        OnnxEvaluator(whole).infer(observations)[:2],
        OnnxEvaluator(half).infer(observations)[:2],
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=5e-3)


@pytest.mark.slow
def test_numbers_that_are_too_large_for_it_stay_as_they_are():
    network, onnx_bytes = model_of()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1e6)
    whole = onnx_bytes(network, network.header)
    observations = np.zeros((1, 2, 6, 7), np.float32)
    one, other = (OnnxEvaluator(m).infer(observations) for m in (whole, halved_model(whole)))
    np.testing.assert_array_equal(one.policy, other.policy)
