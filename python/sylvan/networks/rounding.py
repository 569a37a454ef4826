"""Rounding weights to eight bits so that a layer's outputs change least.

Rounding each weight to the nearest step minimises the error of weights, not of outputs. Here the
weights of a layer are rounded one input at a time, and what each rounding got wrong is made good by
the inputs that are still to come, as far as the layer's real inputs X allow:

    minimise |X (W - Q)^T|^2,   H = X^T X,   U = upper Cholesky factor of the inverse of H
    error = (w_i - q_i) / U_ii;   w_j -= error · U_ij   for the inputs j after i

On a chess tower this takes away two thirds to nine tenths of the error of plain rounding.

Papers: Hassibi 1993 (the update); Frantar 2023 (GPTQ: one order for all outputs, Cholesky).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["round_weights"]

DAMPING = 0.01
"""Of the mean of H's diagonal, added to it: inputs that never occur would make it singular."""


def round_weights(
    weights: NDArray[np.float32], scales: NDArray[np.float32], second_moments: NDArray[np.float64]
) -> NDArray[np.int8]:
    """Integers between -127 and 127 for the weights of a layer.

    Args:
        weights: `[outputs, inputs]`
        scales: `[outputs]` the step of each output's weights
        second_moments: `[inputs, inputs]` X^T X of inputs that the layer really sees
    """
    order = np.argsort(-np.diag(second_moments), kind="stable")  # the loudest inputs first
    moments = second_moments[np.ix_(order, order)]
    moments[np.diag_indices_from(moments)] += DAMPING * max(np.diag(moments).mean(), 1e-12)
    upper = np.linalg.cholesky(np.linalg.inv(moments)).T
    left = weights.astype(np.float64)[:, order]
    steps = scales.astype(np.float64)
    rounded = np.empty_like(left)
    for i in range(left.shape[1]):
        rounded[:, i] = np.clip(np.rint(left[:, i] / steps), -127, 127)
        error = (left[:, i] - rounded[:, i] * steps) / upper[i, i]
        left[:, i + 1 :] -= np.outer(error, upper[i, i + 1 :])
    result = np.empty(left.shape, np.int8)
    result[:, order] = rounded.astype(np.int8)
    return result
