"""Planning with a learned model (MuZero): no rules, only what a model says.

    plan = LatentSearch(model, simulations=50).run(observation, legal_actions)

A model is anything with two methods, each over a batch of B:

- `initial_inference(observations)`: what it makes of the positions at the roots;
- `recurrent_inference(hidden, actions)`: what it makes of a step, from hidden states `[B, ...]` and
  actions `[B]`.

Both give value, reward, policy logits and hidden state, as a `ModelOutput` or any such tuple; NumPy
arrays, or PyTorch tensors on any device. The tree stores slot numbers. Hidden states stay where the
model made them, in one array of `simulations + 1` rows per root, are gathered and written in
batches, and give their rows to the next search.

Whose turn it is, nobody asks the model: seats move one after another. Legal actions are known at
the root only. Below it every action is open, except those whose logit is -inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple, Protocol, Unpack

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.errors import ConfigError, EvaluationError
from sylvan.games.game import MAX_SEATS, Game
from sylvan.planning.config import SearchConfig, configured
from sylvan.planning.forest import Answer, Forest, Steps
from sylvan.planning.keywords import SearchSettings
from sylvan.planning.legal import Legal, checked_legal
from sylvan.planning.model_arrays import (
    batched,
    beside,
    highest,
    is_elsewhere,
    is_tensor,
    numbers,
    rows_of,
    states,
)
from sylvan.planning.result import SearchResult

__all__ = ["LatentModel", "LatentSearch", "LatentState", "ModelOutput"]

Floats = NDArray[np.float32]


class ModelOutput(NamedTuple):
    """What a model says of a batch of B positions; A actions, S seats."""

    value: Any
    """What is still to come, from here on: `[B]` for the seat to move (one seat, or two of a
    zero-sum game), or `[B, S]` in seat order; to a search that is `relative`, the seat to move
    first and the others as they follow it."""
    reward: Any
    """What the step that led here paid: `[B]` to the seat that made it (one seat, or two of a
    zero-sum game), or `[B, S]` in seat order, or with that seat first. Ignored at the root."""
    policy: Any
    """`[B, A]` logits; -inf says that an action does not exist."""
    hidden: Any
    """`[B, ...]`"""


class LatentModel(Protocol):
    """What a search asks of a model."""

    def initial_inference(self, observations: Any) -> Any:
        """A `ModelOutput` for observations `[B, ...]`."""

    def recurrent_inference(self, hidden: Any, actions: Any) -> Any:
        """A `ModelOutput` for the steps `actions` `[B]` from hidden states `[B, ...]`."""


class LatentState(_native.LatentState, Game):
    """A root: the seat to move and its legal actions. What follows is up to the model."""

    __slots__ = ()


class LatentSearch:
    """Searches over a learned model, of one position or of many at once.

    :param num_players: seats, which move one after another.
    :param zero_sum: whether two seats play for each other's loss; by default they do.
    :param relative: whether the model's values `[B, S]` begin with the seat to move and its rewards
        with the seat that made the step: those of a network do whose view turns with the mover.
    :param value_bounds: the least and the most that a seat can still get, where that is known;
        otherwise the range of values is learned in each search.
    :param whole: whether nodes below the root keep all their edges, to be looked at; otherwise they
        keep as many as there are simulations left to try them, which changes no visit.
    :param settings: of the search (`SearchConfig`): `simulations`, `discount`, `top_k`, ...

    >>> class Coin:
    ...     '''Action 1 pays one, action 0 nothing, for ever.'''
    ...     def initial_inference(self, observations):
    ...         n = len(observations)
    ...         return np.zeros(n), np.zeros(n), np.zeros((n, 2)), np.zeros((n, 1))
    ...     def recurrent_inference(self, hidden, actions):
    ...         n = len(actions)
    ...         return np.zeros(n), actions == 1, np.zeros((n, 2)), hidden
    >>> LatentSearch(Coin(), simulations=20, discount=0.9).run(np.zeros(1)).best
    1
    """

    def __init__(
        self,
        model: Any,
        config: SearchConfig | None = None,
        *,
        num_players: int = 1,
        zero_sum: bool | None = None,
        relative: bool = False,
        value_bounds: tuple[float, float] = (-np.inf, np.inf),
        whole: bool = False,
        **settings: Unpack[SearchSettings],
    ) -> None:
        for method in ("initial_inference", "recurrent_inference"):
            if not callable(getattr(model, method, None)):
                raise ConfigError(
                    f"The model is a {type(model).__name__}, which has no {method}(): give one "
                    "with initial_inference and recurrent_inference."
                )
        num_players = _players(num_players)
        if zero_sum and num_players != 2:
            raise ConfigError(f"zero_sum is for two seats, not {num_players}: leave it out.")
        self.model = model
        self.config = configured(config, settings)
        if self.config.simulations is None:
            raise ConfigError("A search over a model needs a row for each state: set simulations.")
        self.num_players = num_players
        self.zero_sum = num_players == 2 if zero_sum is None else zero_sum
        self.relative = relative
        self.value_bounds = _bounds(value_bounds)
        self.whole = whole
        self.forest: Forest | None = None
        self._hidden: Any = None

    def run(
        self,
        observation: Any,
        legal_actions: Sequence[int] | NDArray[Any] | None = None,
        *,
        seat: int = 0,
        noise: Sequence[float] | None = None,
    ) -> SearchResult:
        """Search one position.

        :param observation: as the model takes it, without the batch.
        :param legal_actions: their codes, or `[A]` true where one is legal; by default all that the
            model knows.
        :param noise: one number per legal action, in place of what would be drawn.
        """
        legal = None if legal_actions is None else [legal_actions]
        given = None if noise is None else [noise]
        return self.run_many(batched(observation), legal, seats=[seat], noise=given)[0]

    def run_many(
        self,
        observations: Any,
        legal_actions: Legal | None = None,
        *,
        seats: Sequence[int] | NDArray[np.integer] | None = None,
        noise: Sequence[Sequence[float] | None] | None = None,
    ) -> list[SearchResult]:
        """Search many positions side by side, one batch of the model per simulation.

        :param observations: `[B, ...]`.
        """
        forest = self.search(observations, legal_actions, seats=seats, noise=noise)
        return forest.results()

    def search(
        self,
        observations: Any,
        legal_actions: Legal | None = None,
        *,
        seats: Sequence[int] | NDArray[np.integer] | None = None,
        noise: Sequence[Sequence[float] | None] | None = None,
    ) -> Forest:
        """The same, as the forest of searched trees, which the next call replants.

        `forest.outcomes()` has what was found in all of them as arrays.
        """
        first = _output(self.model.initial_inference(observations), "initial_inference")
        policy = numbers(first.policy, "policy", "initial_inference")
        if policy.ndim != 2 or not policy.size:
            raise EvaluationError(
                f"initial_inference() gave a policy of shape {policy.shape}: give [B, A] logits."
            )
        if (asked := rows_of(observations)) not in (None, len(policy)):
            raise EvaluationError(
                f"initial_inference() was asked about {asked} positions and gave a policy for "
                f"{len(policy)}: give a row for each observation."
            )
        forest = self._planted(policy.shape, legal_actions, seats)
        forest.begin(noise)
        try:
            self._plan(forest, first._replace(policy=policy))
        except BaseException:  # also Ctrl-C: what was found until now stays
            forest.abandon()
            raise
        return forest

    def _plan(self, forest: Forest, first: ModelOutput) -> None:
        """Search all trees to the end; `first` is what the model said of their roots."""
        model, stride, method, output = self.model, self._stride, "initial_inference", first
        steps = forest.step(stride)
        assert steps is not None
        rows: Any = beside(steps.rows, output.hidden)
        while steps is not None:
            self._write(rows, output.hidden, len(steps.rows), method)
            answer = self._answer(output, len(steps.rows), forest.num_actions, method)
            try:
                steps = forest.step(stride, answer)
            except EvaluationError as error:
                raise _named(error, answer, method) from None
            if steps is not None:
                method = "recurrent_inference"
                parents, actions, rows = self._beside(steps)
                told = model.recurrent_inference(self._hidden[parents], actions)
                output = _output(told, method)

    def _beside(self, steps: Steps) -> Any:
        """Steps where the hidden states are; sent there in one piece."""
        return beside(np.stack(steps), self._hidden) if is_tensor(self._hidden) else steps

    @property
    def bytes(self) -> int:
        """Memory of the hidden states and of the trees."""
        hidden = 0 if self._hidden is None else int(self._hidden.nbytes)
        return hidden + (0 if self.forest is None else self.forest._native.bytes())

    @property
    def _stride(self) -> int:
        """Rows of hidden states per tree: its root's, and one for each simulation."""
        return (self.config.simulations or 0) + 1

    def _planted(
        self,
        shape: tuple[int, ...],
        legal_actions: Legal | None,
        seats: Sequence[int] | NDArray[np.integer] | None,
    ) -> Forest:
        """A forest of B roots with A actions (`shape`); the one from before where that fits."""
        count, num_actions = shape
        movers = self._seats(count, seats)
        legal = checked_legal(legal_actions, count, num_actions)
        forest = self.forest
        if forest is None or (len(forest), forest.num_actions) != shape:
            forest = Forest([self._root(num_actions, [0], 0)] * count, self.config)
            self.forest, self._hidden = forest, None
        if legal is None or isinstance(legal, np.ndarray):
            forest.replant(movers, legal)
        else:
            for tree, (actions, seat) in enumerate(zip(legal, movers.tolist(), strict=True)):
                forest.plant(tree, self._root(num_actions, actions, seat))
        return forest

    def _root(self, num_actions: int, legal: Sequence[int], seat: int) -> LatentState:
        return LatentState(
            self.num_players,
            num_actions,
            list(legal),
            seat,
            zero_sum=self.zero_sum,
            value_range=self.value_bounds,
            whole=self.whole,
        )

    def _seats(
        self, count: int, seats: Sequence[int] | NDArray[np.integer] | None
    ) -> NDArray[np.int64]:
        """The seats to move at the roots, `[B]`; seat 0 if none are given."""
        movers = np.zeros(count, np.int64) if seats is None else np.asarray(seats)
        if movers.shape != (count,) or movers.dtype.kind not in "iu":
            raise ConfigError(
                f"There are {count} observations and seats of shape {movers.shape} and dtype "
                f"{movers.dtype}: give one whole number per root."
            )
        wrong = (movers < 0) | (movers >= self.num_players)
        if wrong.any():
            root = int(wrong.argmax())
            raise ConfigError(
                f"Root {root} has seat {movers[root]}: there are {self.num_players} seats, counted "
                "from 0."
            )
        return movers.astype(np.int64, copy=False)

    def _write(self, rows: Any, hidden: Any, count: int, method: str) -> None:
        """Put new hidden states into their rows, where the model made them."""
        hidden = states(hidden, count, method)
        kind, shape = hidden.dtype, tuple(hidden.shape[1:])
        own = self._hidden
        if method == "initial_inference" and own is not None:
            moved = getattr(own, "device", None) != getattr(hidden, "device", None)
            if moved or (own.dtype, tuple(own.shape[1:])) != (kind, shape):
                self._hidden = None  # a search may be over another model than the last
        if self._hidden is None:
            assert self.forest is not None
            rows_of_all = (len(self.forest) * self._stride, *shape)
            self._hidden = (
                hidden.new_empty(rows_of_all) if is_tensor(hidden) else np.empty(rows_of_all, kind)
            )
        if tuple(self._hidden.shape[1:]) != shape:
            raise EvaluationError(
                f"The hidden state has shape {shape} per position, but others had "
                f"{tuple(self._hidden.shape[1:])}: always give the same."
            )
        if self._hidden.dtype != kind:
            raise EvaluationError(
                f"{method}() gave a hidden state of dtype {kind}, but initial_inference() one of "
                f"{self._hidden.dtype}: always give the same, or numbers are lost."
            )
        self._hidden[rows] = hidden

    def _answer(self, output: ModelOutput, count: int, num_actions: int, method: str) -> Answer:
        """What the model said, as the forest takes it."""
        policy, codes = output.policy, None
        if not is_elsewhere(policy):
            policy = numbers(policy, "policy", method)
        shape = tuple(policy.shape)
        if shape != (count, num_actions):
            raise EvaluationError(
                f"{method}() gave a policy of shape {shape}: it must be {(count, num_actions)}."
            )
        top_k = self.config.top_k
        if top_k is not None and top_k < num_actions and is_elsewhere(policy):
            policy, actions = highest(policy, top_k)
            codes = actions.cpu().numpy()
        return (
            numbers(policy, "policy", method),
            codes,
            self._per_seat(numbers(output.value, "value", method), count, method),
            self._per_seat(numbers(output.reward, "reward", method), count, method),
            self.relative,
        )

    def _per_seat(self, given: Floats, count: int, method: str) -> Floats:
        """Values or rewards `[B]`, where one says all, or `[B, S]`."""
        players = self.num_players
        if given.shape == (count, players):
            return given
        single = players == 1 or self.zero_sum
        if not single or given.size != count:
            forms = f"{(count, players)}" + (f" or {(count,)}" if single else "")
            raise EvaluationError(
                f"{method}() gave values or rewards of shape {given.shape}: give {forms}."
            )
        return given.reshape(count)


def _players(given: Any) -> int:
    """The number of seats."""
    if not isinstance(given, Integral) or not 1 <= int(given) <= MAX_SEATS:
        raise ConfigError(
            f"num_players is {given!r}: a model has 1 to {MAX_SEATS} seats, a whole number."
        )
    return int(given)


def _bounds(given: Any) -> tuple[float, float]:
    """The least and the most that a seat can get."""
    try:
        low, high = map(float, given)
        if low < high:
            return low, high
    except (TypeError, ValueError):
        pass
    raise ConfigError(
        f"value_bounds is {given!r}: give two numbers, the least and the most that a seat can get."
    )


def _named(error: EvaluationError, answer: Answer, method: str) -> EvaluationError:
    """What the core says of an answer, with the output that has a number which is none."""
    for name, given in (("value", answer[2]), ("reward", answer[3])):
        wrong = ~np.isfinite(given)
        if "of its batch" in str(error) and wrong.any():
            position = int(np.argwhere(wrong)[0, 0])
            return EvaluationError(
                f"{method}() gave a {name} of {given[wrong][0]} for position {position} of its "
                "batch: give finite numbers."
            )
    return error


def _output(answer: Any, method: str) -> ModelOutput:
    if not isinstance(answer, tuple | list) or len(answer) != 4:
        raise EvaluationError(
            f"{method}() gave a {type(answer).__name__}: it must give value, reward, policy logits "
            "and hidden state."
        )
    return ModelOutput(*answer)
