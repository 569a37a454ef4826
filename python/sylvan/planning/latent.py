"""Planning with a learned model (MuZero), without rules.

    plan = LatentSearch(model, simulations=50).run(observation, legal_actions)

A model (`LatentModel`) has two methods, each over a batch of B:

- `initial_inference(observations)` evaluates the positions at the roots;
- `recurrent_inference(hidden, actions)` evaluates one step from hidden states `[B, ...]` with
  actions `[B]`.

Both return value, reward, policy logits and hidden state, as a `ModelOutput` or a tuple in this
order, of NumPy arrays or PyTorch tensors on any device. The tree stores row numbers. The hidden
states stay on the model's device, in one array of `simulations + 1` rows per root, which the next
search reuses; they are read and written in batches.

Seats move in turn; the model is not asked whose turn it is. Legal actions are known at the root
only. Below it every action is legal, except those whose logit is -inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, EvaluationError
from sylvan.games.game import MAX_SEATS
from sylvan.planning.config import SearchConfig, configured
from sylvan.planning.described import lists_settings
from sylvan.planning.keywords import SearchSettings
from sylvan.planning.latent_forest import Evaluations, LatentForest, LatentState, Steps
from sylvan.planning.legal import Legal, checked_legal
from sylvan.planning.model import LatentModel, ModelOutput, checked_output
from sylvan.planning.model_arrays import (
    Array,
    batched,
    checked_hidden,
    highest,
    is_on_device,
    is_tensor,
    num_rows,
    on_device_of,
    to_numpy,
)
from sylvan.planning.result import SearchResult

__all__ = ["LatentModel", "LatentSearch", "LatentState", "ModelOutput"]

Floats = NDArray[np.float32]
Seats = Sequence[int] | NDArray[np.integer]
"""`[B]` the seat to move at each root."""


@lists_settings
class LatentSearch:
    """Searches over a learned model, of one position or of many at once.

    :param num_players: seats; they move in turn.
    :param zero_sum: whether the gain of one of two seats is the other's loss; default for two.
    :param relative: whether the model's values `[B, S]` begin with the seat to move and its rewards
        with the seat that moved, as those of a network that sees the board from the mover's side.
    :param value_bounds: the least and the greatest possible value of a seat, if known; otherwise
        each search learns the range of values.
    :param whole: whether nodes below the root keep all edges, for display; otherwise they keep as
        many as there are simulations left, which does not change any visit.
    :param settings: settings of the search (`SearchConfig`): `simulations`, `discount`, ...

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
        model: LatentModel,
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
            raise ConfigError(
                "A search over a model stores one state per simulation: set simulations."
            )
        if self.config.transpositions:
            raise ConfigError("A learned model has no keys: leave transpositions out.")
        self.num_players = num_players
        self.zero_sum = num_players == 2 if zero_sum is None else zero_sum
        self.relative = relative
        self.value_bounds = _bounds(value_bounds)
        self.whole = whole
        self.forest: LatentForest | None = None
        self._hidden: Array | None = None
        """The hidden states of all trees, `[trees * stride, ...]`."""

    def run(
        self,
        observation: Array,
        legal_actions: Sequence[int] | NDArray[Any] | None = None,
        *,
        seat: int = 0,
        noise: Sequence[float] | None = None,
    ) -> SearchResult:
        """Search one position.

        :param observation: an observation for the model, without the batch dimension.
        :param legal_actions: codes, or `[A]` true where an action is legal; default: all actions.
        :param noise: one number per legal action, instead of random noise.
        """
        legal = None if legal_actions is None else [legal_actions]
        given = None if noise is None else [noise]
        return self.run_many(batched(observation), legal, seats=[seat], noise=given)[0]

    def run_many(
        self,
        observations: Array,
        legal_actions: Legal | None = None,
        *,
        seats: Seats | None = None,
        noise: Sequence[Sequence[float] | None] | None = None,
    ) -> list[SearchResult]:
        """Search many positions together, with one call of the model per simulation.

        :param observations: `[B, ...]`.
        """
        forest = self.search(observations, legal_actions, seats=seats, noise=noise)
        return forest.results()

    def search(
        self,
        observations: Array,
        legal_actions: Legal | None = None,
        *,
        seats: Seats | None = None,
        noise: Sequence[Sequence[float] | None] | None = None,
        seeds: NDArray[np.uint64] | None = None,
    ) -> LatentForest:
        """`run_many` that returns the forest of searched trees; the next call reuses it.

        `forest.outcomes()` has the results of all trees as arrays.

        :param seeds: `[B]` of the random choices of each search. Then a search does not depend on
            the others or on earlier ones, and a forest of more trees is reused too.
        """
        first = checked_output(self.model.initial_inference(observations), "initial_inference")
        policy = to_numpy(first.policy, "policy", "initial_inference")
        if policy.ndim != 2 or not policy.size:
            raise EvaluationError(
                f"initial_inference() gave a policy of shape {policy.shape}: give [B, A] logits."
            )
        if (count := num_rows(observations)) not in (None, len(policy)):
            raise EvaluationError(
                f"initial_inference() was asked about {count} positions and gave a policy for "
                f"{len(policy)}: give a row for each observation."
            )
        forest = self._planted(policy.shape, legal_actions, seats, seeds)
        forest.begin(noise)
        try:
            self._plan(forest, first._replace(policy=policy))
        except BaseException:  # also Ctrl-C: keep the results so far
            forest.abandon()
            raise
        return forest

    def _plan(self, forest: LatentForest, first: ModelOutput) -> None:
        """Search all trees to the end; `first` is the model's output for their roots."""
        model, stride, method, output = self.model, self._stride, "initial_inference", first
        steps = forest.step(stride)
        assert steps is not None
        rows: Array = on_device_of(output.hidden, steps.rows)
        while steps is not None:
            self._hidden = self._stored(rows, output.hidden, len(steps.rows), method)
            evaluations = self._evaluations(output, len(steps.rows), forest.num_actions, method)
            try:
                steps = forest.step(stride, evaluations)
            except EvaluationError as error:
                raise _more_exact(error, evaluations, method) from None
            if steps is not None:
                method = "recurrent_inference"
                parents, actions, rows = self._on_device(steps)
                answer = model.recurrent_inference(self._hidden[parents], actions)
                output = checked_output(answer, method)

    def _on_device(self, steps: Steps) -> Sequence[Array]:
        """Steps on the device of the hidden states, copied there in one transfer."""
        if is_tensor(self._hidden):
            return tuple(on_device_of(self._hidden, np.stack(steps)))
        return steps

    @property
    def bytes(self) -> int:
        """Memory of the hidden states and of the trees."""
        hidden = 0 if self._hidden is None else int(self._hidden.nbytes)
        return hidden + (0 if self.forest is None else self.forest.bytes)

    @property
    def _stride(self) -> int:
        """Rows of hidden states per tree: one for its root and one per simulation."""
        return (self.config.simulations or 0) + 1

    def _planted(
        self,
        shape: tuple[int, ...],
        legal_actions: Legal | None,
        seats: Seats | None,
        seeds: NDArray[np.uint64] | None,
    ) -> LatentForest:
        """A forest of B roots with A actions (`shape`); the last one is reused if it fits."""
        count, num_actions = shape
        movers = self._seats(count, seats)
        legal = checked_legal(legal_actions, count, num_actions)
        forest = self.forest
        listed = not (legal is None or isinstance(legal, np.ndarray))
        fits = forest is not None and forest.num_actions == num_actions
        if forest is None or not fits or not _has_room(forest, count, seeds):
            forest = LatentForest([self._root(num_actions, [0], 0)] * count, self.config)
            self.forest, self._hidden = forest, None
        if not listed or seeds is not None:
            mask = None if listed else legal
            forest.replant(movers, mask, seeds)  # type: ignore[arg-type]
        if listed:
            assert legal is not None
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

    def _seats(self, count: int, seats: Seats | None) -> NDArray[np.int64]:
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

    def _stored(self, rows: Array, hidden: Array, count: int, method: str) -> Array:
        """The hidden states of all trees, with new ones written to `rows`."""
        hidden = checked_hidden(hidden, count, method)
        dtype, shape = hidden.dtype, tuple(hidden.shape[1:])
        stored = self._hidden
        if method == "initial_inference" and stored is not None:
            kept = stored.device, stored.dtype, tuple(stored.shape[1:])
            if kept != (hidden.device, dtype, shape):
                # This search is over another model than the last: free its memory first.
                self._hidden = stored = None
        if stored is None:
            assert self.forest is not None
            whole = (self.forest.room * self._stride, *shape)
            stored = hidden.new_empty(whole) if is_tensor(hidden) else np.empty(whole, dtype)
        if tuple(stored.shape[1:]) != shape:
            raise EvaluationError(
                f"The hidden state has shape {shape} per position, but others had "
                f"{tuple(stored.shape[1:])}: always give the same."
            )
        if stored.dtype != dtype:
            raise EvaluationError(
                f"{method}() gave a hidden state of dtype {dtype}, but initial_inference() one of "
                f"{stored.dtype}: always give the same, so that no precision is lost."
            )
        stored[rows] = hidden
        return stored

    def _evaluations(
        self, output: ModelOutput, count: int, num_actions: int, method: str
    ) -> Evaluations:
        """The model's output, checked, for the forest."""
        policy, actions = output.policy, None
        if not is_on_device(policy):
            policy = to_numpy(policy, "policy", method)
        shape = tuple(policy.shape)
        if shape != (count, num_actions):
            raise EvaluationError(
                f"{method}() gave a policy of shape {shape}: it must be {(count, num_actions)}."
            )
        top_k = self.config.top_k
        if top_k is not None and top_k < num_actions and is_on_device(policy):
            policy, codes = highest(policy, top_k)
            actions = codes.cpu().numpy()
        return Evaluations(
            to_numpy(policy, "policy", method),
            actions,
            self._per_seat(to_numpy(output.value, "value", method), count, method),
            self._per_seat(to_numpy(output.reward, "reward", method), count, method),
            self.relative,
        )

    def _per_seat(self, given: Floats, count: int, method: str) -> Floats:
        """Values or rewards `[B]`, if one number per position is enough, or `[B, S]`."""
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


def _has_room(forest: LatentForest, count: int, seeds: object) -> bool:
    """Whether a forest can be reused for so many trees; with seeds also one with more room."""
    return forest.room >= count if seeds is not None else len(forest) == forest.room == count


def _players(given: object) -> int:
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


def _more_exact(error: EvaluationError, evaluations: Evaluations, method: str) -> EvaluationError:
    """The core's error, with the name of the output that is not finite."""
    for name, given in (("value", evaluations.values), ("reward", evaluations.rewards)):
        wrong = ~np.isfinite(given)
        if "of its batch" in str(error) and wrong.any():
            position = int(np.argwhere(wrong)[0, 0])
            return EvaluationError(
                f"{method}() gave a {name} of {given[wrong][0]} for position {position} of its "
                "batch: give finite numbers."
            )
    return error
