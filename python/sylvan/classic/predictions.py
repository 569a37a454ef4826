"""Predicted probabilities as logits of the core.

A network of the founding documents predicts a probability for every move, legal or not. The core
takes logits of the legal moves and applies a softmax. The logarithm of a probability is such a
logit: the softmax then divides by the sum over the legal moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.errors import EvaluationError

__all__ = ["legal_logits"]


def legal_logits(probabilities: ArrayLike, offsets: ArrayLike) -> NDArray[np.float32]:
    """Logits of legal moves from their probabilities; equal if all probabilities are 0.

    Args:
        probabilities: `[moves]`, of the legal moves of one position after another
        offsets: `[positions + 1]`, the start of each position's moves, as `Leaves.offsets`

    >>> from sylvan._native import softmax
    >>> softmax(legal_logits([0.3, 0.1, 0.0], [0, 3])).round(3).tolist()
    [0.75, 0.25, 0.0]
    >>> legal_logits([0.0, 0.0], [0, 2]).tolist()
    [0.0, 0.0]
    """
    p = np.asarray(probabilities, np.float64)
    starts = np.asarray(offsets, np.int64)
    if not (np.isfinite(p).all() and (p >= 0).all()):
        bad = p[~(np.isfinite(p) & (p >= 0))][0]
        raise EvaluationError(
            f"The network predicted a probability of {bad}: it must predict finite numbers that "
            "are not negative, such as those of a softmax."
        )
    nothing = np.add.reduceat(p, starts[:-1]) == 0
    p = np.where(np.repeat(nothing, np.diff(starts)), 1.0, p)
    with np.errstate(divide="ignore"):  # a logit of -inf has no share
        return np.log(p).astype(np.float32)
