"""Many searches that think at once, one evaluator call for all of them.

A search that waits for an evaluation is a generator: it yields a `Request` and is sent the answer.
`alone` answers each request by itself; `together` runs many such generators side by side and puts
what they ask of the same evaluator into one batch, as a network likes it. No threads: the same
generators give the same batches, hence the same answers, every time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import EvaluationError

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning import Leaves

__all__ = ["JoinedLeaves", "Request", "Thinking", "alone", "together"]

T = TypeVar("T")
Answer: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Request:
    """Leaves that wait for an evaluator."""

    evaluator: Callable[[Any], Answer]
    leaves: Leaves


Thinking: TypeAlias = Generator[Request, Answer, T]
"""Something that ends with a `T` and asks for evaluations on the way."""


def alone(thinking: Thinking[T]) -> T:
    """Run to the end, each request answered when it comes."""
    try:
        request = next(thinking)
        while True:
            request = thinking.send(request.evaluator(request.leaves))
    except StopIteration as end:
        result: T = end.value
        return result


def together(jobs: Iterable[Thinking[T]], width: int) -> Iterator[T]:
    """Run up to `width` jobs at once; each result as soon as it is there."""
    waiting = iter(jobs)
    asking: list[tuple[Thinking[T], Request]] = []
    try:
        while True:
            turns: list[tuple[Thinking[T], Answer | None]] = []
            if asking:
                answers = answer([request for _, request in asking])
                turns += [(job, part) for (job, _), part in zip(asking, answers, strict=True)]
            turns += [(job, None) for job in islice(waiting, width - len(turns))]
            if not turns:
                return
            asking, ended = _advance(turns)
            yield from ended
    finally:
        for job, _ in asking:
            job.close()


def _advance(
    turns: list[tuple[Thinking[T], Answer | None]],
) -> tuple[list[tuple[Thinking[T], Request]], list[T]]:
    """What the jobs ask for next, and the results of those that have ended."""
    asking, ended = [], []
    for job, evaluation in turns:
        try:
            asking.append((job, next(job) if evaluation is None else job.send(evaluation)))
        except StopIteration as end:
            ended.append(end.value)
    return asking, ended


def answer(requests: Sequence[Request]) -> list[Answer]:
    """The answers to all requests, with one call per evaluator."""
    answers: list[Answer | None] = [None] * len(requests)
    evaluators = {id(request.evaluator): request.evaluator for request in requests}
    for key, evaluator in evaluators.items():
        places = [i for i, request in enumerate(requests) if id(request.evaluator) == key]
        joined = JoinedLeaves([requests[i].leaves for i in places])
        for i, part in zip(places, joined.split(*evaluator(joined)), strict=True):
            answers[i] = part
    return [part for part in answers if part is not None]


class JoinedLeaves:
    """Leaves of several forests of one game, one after another, as one batch of B leaves.

    It has what an evaluator reads of `Leaves`; the positions of leaves come from their forests.
    """

    def __init__(self, parts: Sequence[Leaves]) -> None:
        """The leaves of `parts`, in their order."""
        self.parts = parts
        self.forest = parts[0].forest
        self.num_logits = parts[0].num_logits
        counts = np.concatenate([np.diff(part.offsets) for part in parts])
        self.offsets: NDArray[np.int64] = np.concatenate([[0], np.cumsum(counts)])
        self.actions: NDArray[np.int64] = np.concatenate([part.actions for part in parts])
        self.seats: NDArray[np.int64] = np.concatenate([part.seats for part in parts])
        self.trees: NDArray[np.int64] = np.repeat(np.arange(len(parts)), list(map(len, parts)))
        self.tickets: NDArray[np.uint64] = np.concatenate([part.tickets for part in parts])

    def __len__(self) -> int:
        return len(self.seats)

    @cached_property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` what the seat to move sees, per leaf."""
        return np.concatenate([part.observations for part in self.parts])

    @cached_property
    def logit_indices(self) -> NDArray[np.int64]:
        """Which logit of a network belongs to each of `actions`."""
        return np.concatenate([part.logit_indices for part in self.parts])

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """`[B, num_actions]` true where an action is legal."""
        return np.concatenate([part.mask for part in self.parts])

    def legal(self, leaf: int) -> NDArray[np.int64]:
        """The legal actions of one leaf."""
        return self.actions[self.offsets[leaf] : self.offsets[leaf + 1]]

    def state(self, leaf: int) -> Game:
        """The position of one leaf, as a copy."""
        part = int(self.trees[leaf])
        return self.parts[part].state(leaf - int(np.searchsorted(self.trees, part)))

    @property
    def states(self) -> list[Game]:
        """The positions of all leaves, as copies."""
        return [state for part in self.parts for state in part.states]

    def split(self, policy: Any, values: Any) -> list[Answer]:
        """An evaluation of the whole batch, part by part."""
        policy, values = np.asarray(policy), np.asarray(values)
        rows = np.cumsum([len(part) for part in self.parts])[:-1]
        if len(policy) == len(self.actions) and policy.ndim == 1:
            policies = np.split(policy, self.offsets[rows])
        elif len(policy) == len(self):
            policies = np.split(policy, rows)
        else:
            raise EvaluationError(
                f"The policy has shape {policy.shape}: it must have {len(self)} rows, or "
                f"{len(self.actions)} logits of legal actions."
            )
        if values.ndim == 0 or len(values) != len(self):
            raise EvaluationError(
                f"The values have shape {values.shape}: there must be {len(self)}, one per leaf."
            )
        return list(zip(policies, np.split(values, rows), strict=True))
