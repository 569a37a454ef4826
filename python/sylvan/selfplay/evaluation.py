"""Run an evaluator in parallel to the search.

Batches are evaluated in the order of submission, so the results never depend on timing.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

from sylvan.errors import EvaluationError

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves

__all__ = ["Evaluation"]


class Evaluation:
    """Runs an evaluator asynchronously.

    An evaluator with `submit(leaves) -> ticket` and `collect(ticket) -> (logits, values)` is
    asynchronous itself, for example on a GPU; any other is called in a thread.
    """

    def __init__(self, evaluator: Any) -> None:
        self.evaluator = evaluator
        self.seconds = 0.0
        """Time inside the evaluator; if it is asynchronous, in its `submit` and `collect`."""
        self.waited = 0.0
        """Time that the search waited for answers."""
        self._overlaps = hasattr(evaluator, "submit") and hasattr(evaluator, "collect")
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sylvan-evaluation")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, leaves: Leaves) -> Any:
        """Submit a batch; return a ticket for `collect`."""
        if not self._overlaps:
            return self._pool.submit(self._evaluate, leaves)
        began = time.perf_counter()
        ticket = self.evaluator.submit(leaves)
        self.seconds += time.perf_counter() - began
        return ticket

    def collect(self, ticket: Any) -> tuple[Any, Any]:
        """Wait for the answer to a batch and return it."""
        began = time.perf_counter()
        answer = self.evaluator.collect(ticket) if self._overlaps else ticket.result()
        waited = time.perf_counter() - began
        self.waited += waited
        if self._overlaps:
            self.seconds += waited
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise EvaluationError(
                f"The evaluator returned a {type(answer).__name__}: it must return a pair, policy "
                "logits and values."
            )
        return answer[0], answer[1]

    def _evaluate(self, leaves: Leaves) -> Any:
        began = time.perf_counter()
        answer = self.evaluator(leaves)
        self.seconds += time.perf_counter() - began
        return answer
