"""Measure the loss of an int8 network against its fp32 original."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import NetworkError

if TYPE_CHECKING:
    from sylvan.evaluators import Evaluator, NetworkEvaluator
    from sylvan.networks.positions import Positions

__all__ = ["QuantizationLoss", "measure_loss"]


@dataclass(frozen=True)
class QuantizationLoss:
    """Differences between the outputs of two networks, over some positions.

    >>> print(QuantizationLoss(positions=100, policy_kl=0.0012, value_error=0.0081, top1=0.985))
    policy KL 0.0012 nats, value error 0.0081, same best move in 98.5 % of 100 positions
    """

    positions: int
    policy_kl: float
    """Mean Kullback-Leibler divergence of the priors of legal actions, in nats."""
    value_error: float
    """Mean absolute difference of the expected result, in [-1, 1]."""
    top1: float
    """Fraction of positions where both prefer the same legal action."""

    def __str__(self) -> str:
        return (
            f"policy KL {self.policy_kl:.4f} nats, value error {self.value_error:.4f}, same best "
            f"move in {self.top1:.1%} of {self.positions} positions".replace("%", " %")
        )


def measure_loss(
    first: Evaluator | str | PathLike[str] | bytes,
    second: Evaluator | str | PathLike[str] | bytes,
    positions: Positions,
) -> QuantizationLoss:
    """Compare two networks.

    Args:
        first: the original: an evaluator, the path of an `.onnx` file or its bytes.
        second: the network to measure.
        positions: from `sample_positions`, not the ones used for calibration.
    """
    one, two = _evaluator(first), _evaluator(second)
    if one.header.value != two.header.value or one.header.num_logits != two.header.num_logits:
        raise NetworkError(
            f"The networks {one.name} and {two.name} have different outputs: compare a network "
            "with its own int8 version."
        )
    a, b = one.infer(positions.observations), two.infer(positions.observations)
    divergence, same = 0.0, 0
    for i in range(len(positions)):
        legal = positions.legal(i)
        p, q = _log_softmax(a.policy[i, legal]), _log_softmax(b.policy[i, legal])
        divergence += float((np.exp(p) * (p - q)).sum())
        same += int(p.argmax() == q.argmax())
    count = len(positions)
    values = [_expected(answer.value, one.header.value) for answer in (a, b)]
    return QuantizationLoss(
        count, divergence / count, float(np.abs(values[0] - values[1]).mean()), same / count
    )


def _evaluator(network: Evaluator | str | PathLike[str] | bytes) -> NetworkEvaluator:
    from sylvan.evaluators.cached import network_of
    from sylvan.evaluators.onnx import OnnxEvaluator
    from sylvan.evaluators.protocol import name_of

    if isinstance(network, str | PathLike | bytes):
        return OnnxEvaluator(network)
    evaluator = network_of(network)
    if evaluator is None:
        raise NetworkError(f"{name_of(network)} runs no network: give an evaluator that does.")
    return evaluator


def _log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted = logits.astype(np.float64) - logits.max()
    log_probabilities: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return log_probabilities


def _expected(value: NDArray[np.float32], kind: str) -> NDArray[np.float32]:
    return value[:, 0] - value[:, 2] if kind == "wdl" else value
