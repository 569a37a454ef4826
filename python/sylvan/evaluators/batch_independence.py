"""Does the answer to a position depend on the rest of its batch?

Which positions share a batch depends on timing when several threads play. Games are reproducible
only if a position gets the same bits in every row, beside any neighbours and in short batches.
Kernels of different libraries and sizes differ in this, so it is tried and not assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sylvan.evaluators.cached import Cached
from sylvan.evaluators.protocol import AsyncEvaluator, Evaluator
from sylvan.evaluators.some_leaves import SomeLeaves

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves, Ticket

__all__ = ["depends_on_batch"]


def depends_on_batch(
    evaluator: Evaluator | AsyncEvaluator[Ticket], leaves: Leaves, rows: int | None = None
) -> bool:
    """Whether some leaf gets other bits in another order, in other rows, or in a short batch.

    An evaluator that uses several lanes in turn (`num_lanes`) gets each order once for each.

    :param leaves: different positions.
    :param rows: of a full batch, in which the positions are repeated; default: as many as there
        are.
    """
    while isinstance(evaluator, Cached):
        evaluator = evaluator.evaluator
    full = np.resize(np.arange(len(leaves)), max(rows or 0, len(leaves)))
    count = len(full)
    shuffled = np.random.default_rng(0).permutation(full)
    orders = [full, shuffled, np.roll(full, 1), np.roll(full, count // 2 + 1)]
    orders += [shuffled[: (count + 2) // 3], shuffled[:1]]
    expected: dict[int, bytes] = {}
    return any(
        answer != expected.setdefault(leaf, answer)
        for order in orders
        for _ in range(getattr(evaluator, "num_lanes", 1))
        for leaf, answer in zip(order.tolist(), _answers(evaluator, leaves, order), strict=True)
    )


def _answers(
    evaluator: Evaluator | AsyncEvaluator[Ticket], leaves: Leaves, rows: NDArray[np.int64]
) -> list[bytes]:
    """The bits of the answers to some rows, in this order."""
    some = SomeLeaves(leaves, rows)
    if isinstance(evaluator, AsyncEvaluator):
        policy, values = evaluator.collect(evaluator.submit(some))
    else:
        policy, values = evaluator(some)
    logits = np.asarray(policy, np.float32)
    if logits.ndim == 2:
        each = np.repeat(np.arange(len(some)), np.diff(some.offsets))
        logits = logits[each, some.logit_indices]
    own = np.split(logits, some.offsets[1:-1])
    worth = np.asarray(values, np.float32)
    return [part.tobytes() + value.tobytes() for part, value in zip(own, worth, strict=True)]
