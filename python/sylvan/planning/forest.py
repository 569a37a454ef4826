"""Many trees, one batch: ask for leaves, tell their values.

    forest = Forest([Chess() for _ in range(1024)], simulations=64)
    for leaves in forest:
        forest.update(*evaluate(leaves))
    results = forest.results()
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan import _native
from sylvan.errors import ConfigError, EvaluationError, GameOver, IllegalAction, SearchStateError
from sylvan.planning.config import SearchConfig
from sylvan.planning.result import SearchResult

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["Forest", "Leaves"]

Noise = Sequence[Sequence[float] | None]


class Leaves:
    """A batch of positions that wait for their evaluation.

    Arrays are NumPy arrays over memory of their own: what a leaf showed stays true as long as
    somebody holds it. B is the number of leaves.
    """

    trees: NDArray[np.int64]
    """`[B]` the tree of each leaf."""
    seats: NDArray[np.int64]
    """`[B]` the seat to move."""
    offsets: NDArray[np.int64]
    """`[B + 1]` leaf i has the legal actions `actions[offsets[i]:offsets[i + 1]]`."""
    actions: NDArray[np.int64]
    """Legal actions of all leaves, one after another."""
    tickets: NDArray[np.uint64]
    """`[B]` a seed per leaf, for evaluators that play at random."""

    def __init__(self, forest: Forest, arrays: tuple[Any, ...]) -> None:
        """The batch that `forest` has in flight."""
        self.forest = forest
        self._batch = forest.batches
        self.trees, self.seats, self.offsets, self.actions, self.tickets = arrays

    def __len__(self) -> int:
        return len(self.trees)

    def _in_flight(self) -> None:
        if self._batch != self.forest.batches or not self.forest.in_flight:
            raise SearchStateError("These leaves are evaluated already: read them before update().")

    @cached_property
    def observations(self) -> NDArray[Any]:
        """`[B, ...]` what the seat to move sees, per leaf."""
        self._in_flight()
        observations: NDArray[Any] = self.forest._native.observations()
        return observations

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """`[B, num_actions]` true where an action is legal."""
        mask = np.zeros((len(self), self.forest.num_actions), bool)
        mask[np.repeat(np.arange(len(self)), np.diff(self.offsets)), self.actions] = True
        return mask

    def legal(self, leaf: int) -> NDArray[np.int64]:
        """The legal actions of one leaf."""
        return self.actions[self.offsets[leaf] : self.offsets[leaf + 1]]

    def state(self, leaf: int) -> Game:
        """The position of one leaf, as a copy."""
        self._in_flight()
        state: Game = self.forest._native.leaf_state(leaf)
        return state

    @property
    def states(self) -> list[Game]:
        """The positions of all leaves, as copies."""
        return [self.state(leaf) for leaf in range(len(self))]


class Forest:
    """Trees that are searched together, one per state, each for the same settings."""

    def __init__(
        self, states: Sequence[Game], config: SearchConfig | None = None, **settings: Any
    ) -> None:
        """Plant a tree for each of `states`, which are copied and of the same game."""
        self.config = (config or SearchConfig()).replace(**settings)
        self.states = [self._checked(state, i).clone() for i, state in enumerate(states)]
        if not self.states:
            raise ConfigError("A forest needs at least one state.")
        first = self.states[0]
        self.num_players, self.num_actions = first.num_players, first.num_actions
        self._one_value = first.num_players == 1 or (first.num_players == 2 and first.zero_sum)
        self._native = _native.Forest(self.states, self.config.native(tuple(first.value_range)))
        self.generation = 0
        """Grows when trees change."""
        self.batches = 0
        self._leaves: Leaves | None = None
        self._began: float | None = None
        self._took = 0.0
        self._evaluator = "custom"

    @staticmethod
    def _checked(state: Game, i: int) -> Game:
        if not list(state.legal_actions()) and state.is_terminal():
            raise GameOver(f"State {i} is a finished game: there is nothing to search.")
        if getattr(state, "is_chance", bool)():
            raise GameOver(
                f"In state {i} chance moves next: apply an outcome, then search where a seat moves."
            )
        return state

    @property
    def in_flight(self) -> bool:
        """Whether leaves wait for `update`."""
        return self._leaves is not None

    def begin(self, noise: Noise | None = None) -> None:
        """Start a new search of all trees as they stand.

        `noise[i]`, one number per legal action of root i, takes the place of what would be drawn.
        """
        self._native.begin(None if noise is None else [self._noise(row) for row in noise])
        self.generation += 1
        self._began, self._took = time.perf_counter(), 0.0

    @staticmethod
    def _noise(row: Sequence[float] | None) -> list[float] | None:
        return None if row is None else [float(x) for x in row]

    def __iter__(self) -> Iterator[Leaves]:
        """Begin a search and yield batch after batch until every tree is done."""
        self.begin()
        while (leaves := self.select()) is not None:
            yield leaves

    def select(self) -> Leaves | None:
        """The next batch of leaves, None when the search has ended."""
        if self._began is None:
            self.begin()
        arrays = self._native.select()
        self.generation += 1
        if arrays is None:
            self._end()
            return None
        self.batches += 1
        self._leaves = Leaves(self, arrays)
        return self._leaves

    def update(self, policy: ArrayLike, values: ArrayLike) -> None:
        """Take in the evaluations of the leaves that `select` gave.

        Args:
            policy: logits `[B, num_actions]`, or of legal actions only `[len(leaves.actions)]`
            values: `[B]` for the seat to move (one seat, or two of a zero-sum game), or
                `[B, num_players]`
        """
        leaves = self._leaves
        if leaves is None:
            raise SearchStateError("update() without select(): no leaves wait for an evaluation.")
        logits = _floats(policy, "policy")
        per_seat = self._per_seat(leaves, _floats(values, "values"))
        whole, legal = (len(leaves), self.num_actions), (len(leaves.actions),)
        if logits.shape == whole:
            self._native.update_all(logits, per_seat)
        elif logits.shape == legal:
            self._native.update_legal(logits, per_seat)
        else:
            raise EvaluationError(
                f"The policy has shape {logits.shape}: it must be {whole} (all actions) or {legal} "
                "(legal actions only)."
            )
        self._leaves = None

    def _per_seat(self, leaves: Leaves, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Values `[B * num_players]`, seat by seat, from either form."""
        count, seats = len(leaves), self.num_players
        allowed = [(count, seats)]
        if self._one_value:
            allowed += [(count,), (count, 1)]
        if values.shape not in allowed:
            raise EvaluationError(
                f"The values have shape {values.shape}: they must be "
                f"{' or '.join(str(shape) for shape in allowed)}."
            )
        bad = ~np.isfinite(values)
        if bad.any():
            leaf = int(np.argwhere(bad)[0][0])
            raise EvaluationError(
                f"The value of leaf {leaf} (tree {leaves.trees[leaf]}) is "
                f"{values[leaf]}: values must be finite."
            )
        if values.size == count and seats == 2:
            signs = np.where(leaves.seats == 0, np.float32(1), np.float32(-1))
            first = values.reshape(count) * signs
            return np.stack([first, -first], axis=1).reshape(-1)
        if self._one_value and seats == 2:
            first = (values[:, 0] - values[:, 1]) / np.float32(2)
            return np.stack([first, -first], axis=1).reshape(-1)
        return np.ascontiguousarray(values.reshape(-1))

    def abandon(self) -> None:
        """Give up on the leaves in flight, as if they had not been selected."""
        self._native.abandon()
        self._leaves = None

    def run(self, evaluator: Any, watch: Callable[[], None] | None = None) -> None:
        """Search all trees to the end with an evaluator.

        `watch` is called several times a second; what it raises ends the search.
        """
        if self._began is None:
            self.begin()
        self._evaluator = getattr(evaluator, "name", type(evaluator).__name__)
        native = getattr(evaluator, "native", None)
        if native is not None:
            self.generation += 1
            self._native.run(*native, watch)
            self._end()
            return
        seen = time.perf_counter()
        while (leaves := self.select()) is not None:
            try:
                self.update(*evaluator(leaves))
            except BaseException:
                self.abandon()
                raise
            if watch is not None and time.perf_counter() - seen > 0.04:
                watch()
                seen = time.perf_counter()

    def _end(self) -> None:
        if self._began is not None:
            self._took = time.perf_counter() - self._began
            self._began = None

    def stop(self) -> None:
        """End the search that is under way as soon as possible; may be called from any thread."""
        self._native.stop()

    @property
    def seconds(self) -> float:
        """How long the search has taken."""
        return self._took if self._began is None else time.perf_counter() - self._began

    def result(self, tree: int = 0) -> SearchResult:
        """What the search found in one tree; also while it is under way."""
        return SearchResult(self, tree, self.seconds, self._evaluator)

    def results(self) -> list[SearchResult]:
        """What the search found, tree by tree."""
        return [self.result(tree) for tree in range(len(self.states))]

    def __len__(self) -> int:
        return len(self.states)

    def advance(self, tree: int, *actions: int) -> None:
        """Make the position after some actions the root of a tree; its subtree is kept."""
        state = self.states[tree].clone()
        for action in actions:
            legal = list(state.legal_actions())
            if getattr(state, "is_chance", bool)():
                legal = [outcome for outcome, _ in state.chance_outcomes()]
            if action not in legal:
                raise IllegalAction(
                    f"Action {action} is not legal here: choose one of {legal[:12]}."
                    if legal
                    else "The game is over: there is nothing to advance to."
                )
            state.apply(action)
        for action in actions:
            self._native.advance(tree, action)
        self.states[tree] = state
        self.generation += 1
        self._began = None

    def plant(self, tree: int, state: Game) -> None:
        """Start a new tree from `state` in place of an old one."""
        self._native.plant(tree, self._checked(state, tree))
        self.states[tree] = state.clone()
        self.generation += 1
        self._began = None


def _floats(array: ArrayLike, name: str) -> NDArray[np.float32]:
    """An array of single-precision numbers, contiguous."""
    try:
        numbers = np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:
        raise EvaluationError(f"The {name} cannot be read as an array: {error}.") from None
    if numbers.dtype.kind not in "fiu":
        raise EvaluationError(f"The {name} have dtype {numbers.dtype}: they must be real numbers.")
    return np.ascontiguousarray(numbers, np.float32)
