"""The contract between a search and an evaluator: leaves in, policy logits and values out.

An evaluator is any callable with the signature of `Evaluator`. The search also reads three optional
attributes, always through the functions at the end of this file:

| attribute | meaning | without it |
|---|---|---|
| `name` | shown in results | the name of its class |
| `encoding` | how states must encode observations and policy outputs | the states' own encoding |
| `preferred_batch` | leaves in flight per tree | 1 |

An object with `submit` and `collect` is an `AsyncEvaluator`: self-play searches while it works. The
leaves of self-play have one more attribute, `memory`: a `BatchMemory` to read and write in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from torch import nn

    from sylvan import _native
    from sylvan.games.encoding import Encoding
    from sylvan.games.game import Game
    from sylvan.networks.header import NetworkHeader

__all__ = [
    "Answer",
    "AsyncEvaluator",
    "BatchMemory",
    "Evaluator",
    "EvaluatorLike",
    "Leaves",
    "LeavesForest",
    "Refreshable",
    "encoding_of",
    "header_of",
    "is_ready",
    "memory_of",
    "name_of",
    "preferred_batch_of",
    "resize",
]

Answer: TypeAlias = tuple[ArrayLike, ArrayLike]
"""Policy logits, `[B, num_logits]` or of legal actions only `[len(leaves.actions)]`, and values,
`[B]` for the seat to move or `[B, num_players]`; B is the number of leaves."""


class HasDiscount(Protocol):
    """The settings of a search, as far as evaluators read them."""

    @property
    def discount(self) -> float:
        """The factor per step."""


class LeavesForest(Protocol):
    """The forest that leaves come from, as far as evaluators read it."""

    @property
    def num_players(self) -> int:
        """Seats of the game."""

    @property
    def states(self) -> Sequence[Game]:
        """The states at the roots."""

    @property
    def config(self) -> HasDiscount:
        """The settings of the search."""

    @property
    def seat_values(self) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
        """Convert a network's values `[B, num_players]` to the game's payments; None: equal."""

    @property
    def _native(self) -> _native.Forest:
        """The core's forest, which runs the native evaluators."""


class Leaves(Protocol):
    """A batch of B positions that wait for their evaluation."""

    @property
    def trees(self) -> NDArray[np.int64]:
        """`[B]` the tree of each leaf."""

    @property
    def seats(self) -> NDArray[np.int64]:
        """`[B]` the seat to move."""

    @property
    def offsets(self) -> NDArray[np.int64]:
        """`[B + 1]`; the legal actions of leaf i are `actions[offsets[i]:offsets[i + 1]]`."""

    @property
    def actions(self) -> NDArray[np.int64]:
        """The legal actions of all leaves, concatenated."""

    @property
    def tickets(self) -> NDArray[np.uint64]:
        """`[B]` a random seed per leaf, for evaluators that use random numbers."""

    def __len__(self) -> int:
        """The number of leaves."""

    @property
    def forest(self) -> LeavesForest:
        """The forest that the leaves come from."""

    @property
    def num_logits(self) -> int:
        """Policy outputs per leaf."""

    @property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` the observation of the seat to move, per leaf."""

    @property
    def logit_indices(self) -> NDArray[np.int64]:
        """For each of `actions`, the index of its logit in the policy output of its leaf."""

    @property
    def mask(self) -> NDArray[np.bool_]:
        """`[B, num_actions]` true where an action is legal."""

    def observe(self, out: NDArray[Any]) -> None:
        """Write `observations` into an array of the same shape."""

    def legal(self, leaf: int) -> NDArray[np.int64]:
        """The legal actions of one leaf."""

    def state(self, leaf: int) -> Game:
        """A copy of the state of one leaf."""

    @property
    def states(self) -> list[Game]:
        """Copies of the states of all leaves."""


@dataclass(frozen=True)
class BatchMemory:
    """The arrays of B leaves with L legal actions, in memory that later batches reuse.

    Until the batch is answered they may be read without a copy, and its logits be written in place.
    """

    observations: NDArray[Any]
    """`[B, ...]`."""
    offsets: NDArray[np.int64]
    """`[B + 1]`, from 0."""
    indices: NDArray[np.int32]
    """`[L]` the index of each legal action's logit."""
    logits: NDArray[np.float32]
    """`[L]` for the answer."""


class Evaluator(Protocol):
    """Evaluates leaves: a function, or an object that can be called like one."""

    def __call__(self, leaves: Leaves, /) -> Answer:
        """Policy logits and values of a batch."""


EvaluatorLike: TypeAlias = Evaluator | str | PathLike[str]
"""An evaluator as users give it: the object, its name, or the path of a network."""

Ticket = TypeVar("Ticket")


@runtime_checkable
class AsyncEvaluator(Protocol[Ticket]):
    """An evaluator that works while the caller does something else, for example on a GPU.

    For self-play these two methods are enough; a search needs an `Evaluator`. A third one,
    `ready(ticket) -> bool`, is optional: whether `collect` would return without waiting. With it,
    self-play waits for no evaluation while it can submit another batch.
    """

    def submit(self, leaves: Leaves, /) -> Ticket:
        """Start an evaluation. Read all that it needs of `leaves` before returning."""

    def collect(self, ticket: Ticket, /) -> Answer:
        """Wait for an evaluation. Tickets are collected in the order of submission."""


@runtime_checkable
class Refreshable(Protocol):
    """An evaluator of a PyTorch module that can load newer weights of it."""

    def __call__(self, leaves: Leaves, /) -> Answer:
        """Policy logits and values of a batch."""

    def refresh(self, network: nn.Module, /) -> None:
        """Load the current weights of `network`; later evaluations use them."""


def name_of(evaluator: Evaluator, default: str | None = None) -> str:
    """The name to show in results.

    :param default: for an evaluator without a name; None: the name of its class.

    >>> name_of(lambda leaves: (0, 0))
    'function'
    """
    return str(getattr(evaluator, "name", default or type(evaluator).__name__))


def header_of(evaluator: Evaluator) -> NetworkHeader | None:
    """The header of the evaluator's network; None if it has none."""
    header: NetworkHeader | None = getattr(evaluator, "header", None)
    return header


def encoding_of(evaluator: Evaluator) -> Encoding | None:
    """The encoding of states that an evaluator needs; None if it takes any."""
    encoding: Encoding | None = getattr(evaluator, "encoding", None)
    return encoding


def preferred_batch_of(evaluator: Evaluator) -> int | None:
    """Leaves in flight per tree that an evaluator asks for; None if it has no preference."""
    batch: int | None = getattr(evaluator, "preferred_batch", None)
    return batch


def is_ready(evaluator: AsyncEvaluator[Ticket], ticket: Ticket) -> bool:
    """Whether `collect` would return without waiting; true if the evaluator cannot say."""
    ready: Callable[[Ticket], bool] | None = getattr(evaluator, "ready", None)
    return ready is None or ready(ticket)


def memory_of(leaves: Leaves) -> BatchMemory | None:
    """The memory of a batch of self-play; None for other leaves."""
    memory: BatchMemory | None = getattr(leaves, "memory", None)
    return memory


def resize(evaluator: object, batch: int) -> None:
    """Let an evaluator use less memory: at most `batch` positions at once, if it has `resize`."""
    method: Callable[[int], None] | None = getattr(evaluator, "resize", None)
    if method is not None:
        method(batch)
