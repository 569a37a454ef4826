"""Evaluations that run while something else is done.

The order in which batches are handed in is the order in which they are evaluated, so what comes out
never depends on how long anything took.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

from sylvan.errors import EvaluationError

if TYPE_CHECKING:
    from sylvan.planning.leaves import Leaves

__all__ = ["Evaluation"]


class Evaluation:
    """An evaluator at work beside the search.

    One that has `submit(leaves) -> ticket` and `collect(ticket) -> (logits, values)` does that
    itself, on a device say; any other is called in a thread.
    """

    def __init__(self, evaluator: Any) -> None:
        self.evaluator = evaluator
        self.seconds = 0.0
        """Spent inside the evaluator, or waiting for it where it has its own way to wait."""
        self.waited = 0.0
        """Of those, or of the search's time, what was spent waiting for an answer."""
        self._overlaps = hasattr(evaluator, "submit") and hasattr(evaluator, "collect")
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sylvan-evaluation")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, leaves: Leaves) -> Any:
        """Hand in a batch."""
        if not self._overlaps:
            return self._pool.submit(self._evaluate, leaves)
        began = time.perf_counter()
        ticket = self.evaluator.submit(leaves)
        self.seconds += time.perf_counter() - began
        return ticket

    def collect(self, ticket: Any) -> tuple[Any, Any]:
        """The answer to a batch, once it is there."""
        began = time.perf_counter()
        answer = self.evaluator.collect(ticket) if self._overlaps else ticket.result()
        waited = time.perf_counter() - began
        self.waited += waited
        if self._overlaps:
            self.seconds += waited
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise EvaluationError(
                f"The evaluator gave a {type(answer).__name__}: it must give a pair, policy logits "
                "and values."
            )
        return answer[0], answer[1]

    def _evaluate(self, leaves: Leaves) -> Any:
        began = time.perf_counter()
        answer = self.evaluator(leaves)
        self.seconds += time.perf_counter() - began
        return answer
