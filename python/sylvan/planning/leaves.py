"""A batch of leaves that wait for their evaluation, and the check of the evaluations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.errors import EvaluationError, GameContractError, SearchStateError

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.planning.config import SearchConfig
    from sylvan.planning.forest import Forest

__all__ = ["BatchArrays", "CheckedLeaves", "LeafBatch", "evaluated_range"]

SLACK = 0.01
"""How far a value may lie outside the range, in widths of the range: networks round."""
LARGEST = float(np.finfo(np.float32).max)

BatchArrays: TypeAlias = tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64] | NDArray[np.int32],
    NDArray[np.uint64],
]
"""Trees, seats, offsets, actions and tickets of a batch."""


class Searched(Protocol):
    """The searched game, as far as its leaves read it."""

    @property
    def num_players(self) -> int:
        """Seats of the game."""

    @property
    def num_actions(self) -> int:
        """Actions of the game."""

    @property
    def num_logits(self) -> int:
        """Policy outputs per leaf."""

    @property
    def one_value(self) -> bool:
        """Whether one value per leaf, for the seat to move, determines the values of all seats."""

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and the greatest value that an evaluator may give."""


class CheckedLeaves(ABC):
    """B leaves, and the check of their evaluations."""

    trees: NDArray[np.int64]
    """`[B]` the tree of each leaf."""
    seats: NDArray[np.int64]
    """`[B]` the seat to move."""
    offsets: NDArray[np.int64]
    """`[B + 1]`; the legal actions of leaf i are `actions[offsets[i]:offsets[i + 1]]`."""
    tickets: NDArray[np.uint64]
    """`[B]` a random seed per leaf, for evaluators that use random numbers."""

    def __init__(self, searched: Searched, arrays: BatchArrays) -> None:
        """Leaves of a forest, or of other searches of one game."""
        self._searched = searched
        self.trees, self.seats, self.offsets, self._actions, self.tickets = arrays

    def __len__(self) -> int:
        return len(self.trees)

    @cached_property
    def actions(self) -> NDArray[np.int64]:
        """The legal actions of all leaves, concatenated."""
        return self._actions.astype(np.int64, copy=False)

    @property
    def num_logits(self) -> int:
        """Policy outputs per leaf."""
        return self._searched.num_logits

    @property
    @abstractmethod
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` the observation of the seat to move, per leaf."""

    def observe(self, out: NDArray[Any]) -> None:
        """Write `observations` into an array of the same shape, for example in pinned memory."""
        observations = self.observations
        if observations.shape != out.shape:
            raise EvaluationError(
                f"The observations have shape {observations.shape}, but the array for them has "
                f"shape {out.shape}: make the shapes equal."
            )
        out[...] = observations

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """`[B, num_actions]` true where an action is legal."""
        mask = np.zeros((len(self), self._searched.num_actions), bool)
        mask[np.repeat(np.arange(len(self)), np.diff(self.offsets)), self.actions] = True
        return mask

    def legal(self, leaf: int) -> NDArray[np.int64]:
        """The legal actions of one leaf."""
        return self.actions[self.offsets[leaf] : self.offsets[leaf + 1]]

    @abstractmethod
    def state(self, leaf: int) -> Game:
        """A copy of the state of one leaf."""

    @property
    def states(self) -> list[Game]:
        """Copies of the states of all leaves."""
        return [self.state(leaf) for leaf in range(len(self))]

    def checked(
        self, policy: ArrayLike, values: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluations for `Forest.take`: logits in one of the two forms that `Forest.update`
        accepts, and values `[B * num_players]`.

        :raises EvaluationError: a shape or type is wrong, or a value is not finite.
        """
        logits = _floats(policy, "policy")
        whole, legal = (len(self), self.num_logits), (int(self.offsets[-1]),)
        if logits.shape not in (whole, legal):
            raise EvaluationError(
                f"The policy has shape {logits.shape}: it must be {whole} (all outputs) or {legal} "
                "(legal actions only)."
            )
        return logits, self._per_seat(_floats(values, "value array"))

    def _per_seat(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values `[B * num_players]`, seat by seat, from either form."""
        count, seats = len(self), self._searched.num_players
        allowed: list[tuple[int, ...]] = [(count, seats)]
        if self._searched.one_value:
            allowed += [(count,), (count, 1)]
        if values.shape not in allowed:
            raise EvaluationError(
                f"The values have shape {values.shape}: they must be "
                f"{' or '.join(str(shape) for shape in allowed)}."
            )
        low, high = self._limits()
        if not (low <= values.min() and values.max() <= high):  # true for NaN
            raise EvaluationError(self._bad_value(values))
        if seats != 2 or not self._searched.one_value:
            return np.ascontiguousarray(values.reshape(-1))
        if values.size == count:
            mine = values.reshape(count)
            first = np.where(self.seats == 0, mine, -mine)
        else:
            first = (values[:, 0] - values[:, 1]) / np.float32(2)
        per_seat = np.empty((count, 2), np.float32)
        per_seat[:, 0], per_seat[:, 1] = first, -first
        return per_seat.reshape(-1)

    def _limits(self) -> tuple[float, float]:
        """The accepted values: the range and a little more, within single precision."""
        low, high = self._searched.value_range
        slack = SLACK * (high - low)
        return max(low - slack, -LARGEST), min(high + slack, LARGEST)

    def _bad_value(self, values: NDArray[np.float32]) -> str:
        """The error text for the first value that is not finite or out of range."""
        low, high = self._limits()
        at = tuple(map(int, np.argwhere(~((low <= values) & (values <= high)))[0]))
        rule = "give finite values"
        if np.isfinite(values[at]):
            low, high = self._searched.value_range
            rule = f"give values from {low + 0.0:g} to {high:g}, the game's value_range"
        each = values.shape == (len(self), self._searched.num_players)
        seat = f" for seat {at[1]}" if each else ""
        return (
            f"The value of leaf {at[0]} (tree {self.trees[at[0]]}) is {values[at]}{seat}: {rule}."
        )


class LeafBatch(CheckedLeaves):
    """B leaves of a forest; the `sylvan.Leaves` that evaluators receive.

    The arrays own their memory: they stay valid after the next batch.
    """

    def __init__(self, forest: Forest, arrays: BatchArrays) -> None:
        """The leaves that `forest` has in flight."""
        super().__init__(forest, arrays)
        self.forest = forest
        self._batch = forest.batches

    def _need_in_flight(self) -> None:
        if self._batch != self.forest.batches or not self.forest.in_flight:
            raise SearchStateError("These leaves are evaluated already: read them before update().")

    @cached_property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` the observation of the seat to move, per leaf."""
        self._need_in_flight()
        return self.forest._native.observations()

    def observe(self, out: NDArray[Any]) -> None:
        """Write `observations` into an array of the same shape, for example in pinned memory."""
        if "observations" not in self.__dict__:  # not computed yet
            self._need_in_flight()
            if self.forest._native.observe(out):
                return
        super().observe(out)

    @cached_property
    def logit_indices(self) -> NDArray[np.int64]:
        """For each of `actions`, the index of its logit in the policy output of its leaf."""
        self._need_in_flight()
        indices = self.forest._native.logit_indices()
        # A device would read other memory instead of raising an error.
        if indices.size and indices.max() >= self.num_logits:
            highest = int(indices.argmax())
            raise GameContractError(
                f"The logit of action {self.actions[highest]} is at {indices[highest]}, but "
                f"num_logits is {self.num_logits}: make logit_index() and num_logits agree."
            )
        return indices

    def state(self, leaf: int) -> Game:
        """A copy of the state of one leaf."""
        self._need_in_flight()
        state: Game = self.forest._native.leaf_state(leaf)
        return state


def evaluated_range(game_range: tuple[float, float], config: SearchConfig) -> tuple[float, float]:
    """Return the range of an evaluator's values: the game's, widened by `config.value_range`."""
    if not isinstance(config.value_range, tuple):
        return game_range
    low, high = config.value_range
    return min(low, game_range[0]), max(high, game_range[1])


def _floats(array: ArrayLike, name: str) -> NDArray[np.float32]:
    """A contiguous array in single precision."""
    try:
        numbers = np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:
        raise EvaluationError(f"The {name} cannot be read as an array: {error}.") from None
    if numbers.dtype.kind not in "fiu":
        raise EvaluationError(f"The {name} is of dtype {numbers.dtype}: give real numbers.")
    with np.errstate(over="ignore"):  # becomes infinite, which a later check reports
        return np.ascontiguousarray(numbers, np.float32)
