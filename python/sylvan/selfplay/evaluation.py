"""Run an evaluator in parallel to the search.

Batches are evaluated in the order of submission, so the results never depend on timing.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

from sylvan.errors import EvaluationError
from sylvan.evaluators import Answer, AsyncEvaluator, Evaluator

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves

__all__ = ["Evaluation"]


class Evaluation:
    """Runs an evaluator asynchronously.

    An evaluator with `submit(leaves) -> ticket` and `collect(ticket) -> (logits, values)` is
    asynchronous itself, for example on a GPU; any other is called in a thread.
    """

    def __init__(self, evaluator: Evaluator | AsyncEvaluator[Any]) -> None:
        self.evaluator = evaluator
        self.seconds = 0.0
        """Time inside the evaluator; if it is asynchronous, in its `submit` and `collect`."""
        self.waited = 0.0
        """Time that the search waited for answers."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sylvan-evaluation")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, leaves: Leaves) -> Any:
        """Submit a batch; return a ticket for `collect`."""
        if not isinstance(self.evaluator, AsyncEvaluator):
            return self._pool.submit(self._evaluate, self.evaluator, leaves)
        began = time.perf_counter()
        ticket = self.evaluator.submit(leaves)
        self.seconds += time.perf_counter() - began
        return ticket

    def collect(self, ticket: Any) -> Answer:
        """Wait for the answer to a batch and return it."""
        began = time.perf_counter()
        answer: object  # an evaluator may break its contract
        if isinstance(self.evaluator, AsyncEvaluator):
            answer = self.evaluator.collect(ticket)
            self.seconds += time.perf_counter() - began
        else:
            answer = ticket.result()
        self.waited += time.perf_counter() - began
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise EvaluationError(
                f"The evaluator returned a {type(answer).__name__}: it must return a pair, policy "
                "logits and values."
            )
        return answer[0], answer[1]

    def _evaluate(self, evaluator: Evaluator, leaves: Leaves) -> Answer:
        began = time.perf_counter()
        answer = evaluator(leaves)
        self.seconds += time.perf_counter() - began
        return answer
