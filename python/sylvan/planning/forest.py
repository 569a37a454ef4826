"""Many trees, one batch: ask for leaves, tell their values.

forest = Forest([Chess() for _ in range(1024)], simulations=64)
for leaves in forest:
    forest.update(*evaluate(leaves))
results = forest.results()
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan import _native
from sylvan.errors import (
    ConfigError,
    EvaluationError,
    GameContractError,
    GameOver,
    IllegalAction,
    SearchStateError,
)
from sylvan.evaluators import evaluator_for
from sylvan.games.game import Game
from sylvan.planning.config import SearchConfig, configured
from sylvan.planning.determinised import DealtForest
from sylvan.planning.keywords import Limits, SearchSettings
from sylvan.planning.leaves import Leaves
from sylvan.planning.outcomes import Landings, Outcomes
from sylvan.planning.result import SearchResult
from sylvan.planning.roots import (
    checked_states,
    is_own_turn,
    is_view,
    need_encoding,
    need_fair,
    need_game,
    need_no_chance,
    need_turn,
    playable,
    played,
    root_actions,
)

__all__ = ["Forest"]

Noise = Sequence[Sequence[float] | None]
Floats = NDArray[np.float32]
Answer = tuple[Floats, NDArray[np.int64] | None, Floats, Floats, bool]
"""What a learned model said of B leaves: logits `[B, K]`, the actions that they belong to `[B, K]`,
rising in each row, or None where those are all; values and rewards, each `[B]` for the mover or
`[B, S]`, and whether the latter begin with the mover."""


class Steps(NamedTuple):
    """What a learned model is asked for, `[B]` each; hidden states are rows of an array."""

    parents: NDArray[np.int64]
    """The row of the state that a step starts from; meaningless at roots."""
    actions: NDArray[np.int64]
    rows: NDArray[np.int64]
    """Where the state that it leads to belongs."""


class Forest:
    """Trees that are searched together, one per state, each for the same settings."""

    def __init__(
        self,
        states: Iterable[Game],
        config: SearchConfig | None = None,
        **settings: Unpack[SearchSettings],
    ) -> None:
        """Plant a tree for each of `states`, which are copied and of the same game."""
        self.config = configured(config, settings)
        given = checked_states(states, self.config)
        first = given[0]
        self._states: list[Game | None] = [*given]
        self._class, self._encoding = type(first), getattr(first, "encoding", None)
        self._has_chance = getattr(type(first), "is_chance", None) is not Game.is_chance
        self._views = is_view(first)
        self.num_players, self.num_actions = first.num_players, first.num_actions
        self.num_logits: int = getattr(first, "num_logits", first.num_actions)
        """Outputs of a policy: one per action, unless the states' encoding says otherwise."""
        self.one_value = first.num_players == 1 or (first.num_players == 2 and first.zero_sum)
        """Whether one value per leaf, for the seat to move, says all."""
        self.seat_values: Callable[[NDArray[Any]], NDArray[Any]] | None
        self.seat_values = getattr(first, "seat_values", None)
        """What a network says of each seat as the game pays it; None: the same."""
        low, high = map(float, first.value_range)
        native = self.config.native((low, high))
        self._dealt = self._views and self.config.hidden == "determinised"
        self._native: _native.Forest = (
            cast(_native.Forest, DealtForest(given, self.config, native))
            if self._dealt
            else _native.Forest(given, native)
        )
        self.generation = 0
        """Grows when trees change."""
        self.batches = 0
        self._leaves: Leaves | None = None
        self._began: float | None = None
        self._ended = False
        self._took = 0.0
        self._evaluator = "custom"

    @property
    def states(self) -> Sequence[Game]:
        """The states at the roots. After `play` those of chess know their past, but not the moves
        that made it.
        """
        return [self.state(tree) for tree in range(len(self))]

    def state(self, tree: int) -> Game:
        """The state at the root of one tree."""
        state = self._states[tree]
        if state is None:  # `play` moved it
            state = self._states[tree] = self._native.state(tree)
        return state

    @property
    def in_flight(self) -> bool:
        """Whether leaves wait for `update`."""
        return self._leaves is not None

    def begin(self, noise: Noise | None = None, *, quiet: bool = False) -> None:
        """Start a new search of all trees as they stand; those of finished games do nothing.

        `noise[i]`, one number per legal action of root i, takes the place of what would be drawn. A
        `quiet` search has no noise and no forced playouts, whatever the settings.
        """
        for tree in range(len(self)) if self._has_chance or self._views else ():
            need_no_chance(self.state(tree), f"The root of tree {tree}")
            need_fair(self.state(tree), self.config, f"The root of tree {tree}")
        self._native.begin(None if noise is None else self._rows(noise), quiet)
        self.generation += 1
        self._began, self._took, self._ended = time.perf_counter(), 0.0, False

    def limit(self, **limits: Unpack[Limits]) -> None:
        """End searches otherwise from the next one on; the trees stay.

        `limits` are `simulations`, `seconds`, `nodes` and `depth`; those not named stay.
        """
        others = sorted(set(limits) - {"simulations", "seconds", "nodes", "depth"})
        if others:
            raise ConfigError(
                f"{others[0]!r} is no limit that can change between searches: give simulations, "
                "seconds, nodes or depth."
            )
        config = self.config.replace(**limits)
        self._native.limit(config.simulations, config.nodes, config.depth, config.seconds)
        self.config = config

    def _rows(self, noise: Noise) -> list[list[float] | None]:
        """Noise as the core takes it: a number per legal action, or None, for every tree."""
        if not self.config.noise and self.config.selection != "gumbel":
            raise ConfigError("noise is given to a search without: set noise=True.")
        if len(noise) != len(self):
            raise ConfigError(
                f"noise has {len(noise)} rows: give one for each of {len(self)} trees."
            )
        rows = [None if row is None else [float(x) for x in row] for row in noise]
        for tree, row in enumerate(rows):
            legal = len(root_actions(self.state(tree)))
            if row is not None and (len(row) != legal or not np.isfinite(row).all()):
                raise ConfigError(
                    f"noise for tree {tree} is {row}: give {legal} finite numbers, one for each "
                    "legal action."
                )
        return rows

    def __iter__(self) -> Iterator[Leaves]:
        """Begin a search and yield batch after batch until every tree is done."""
        self.begin()
        while (leaves := self.select()) is not None:
            yield leaves

    def select(self) -> Leaves | None:
        """The next batch of leaves; None when the search has ended, until another begins."""
        if self._began is None and not self._ended:
            self.begin()
        while not self._ended:
            if (leaves := self._batch()) is not None:
                return leaves
        return None

    def _batch(self) -> Leaves | None:
        """A turn of every tree: the leaves it found, None if that were none."""
        arrays = self._native.select()
        self.generation += 1
        if arrays is None:
            self._ended = self._native.is_done()
            if self._ended:
                self._end()
            return None
        self.batches += 1
        self._leaves = Leaves(self, arrays)
        return self._leaves

    def update(self, policy: ArrayLike, values: ArrayLike) -> None:
        """Take in the evaluations of the leaves that `select` gave.

        Args:
            policy: logits `[B, num_logits]`, that of an action at its `leaves.logit_indices`
                (without encodings its code), or of legal actions only `[len(leaves.actions)]`
            values: `[B]` for the seat to move (one seat, or two of a zero-sum game), or
                `[B, num_players]`
        """
        if self._leaves is None:
            raise SearchStateError("update() without select(): no leaves wait for an evaluation.")
        self.take(*self._leaves.checked(policy, values))

    def take(self, logits: NDArray[np.float32], per_seat: NDArray[np.float32]) -> None:
        """`update` with what `Leaves.checked` gave, for those who have checked many at once."""
        if logits.ndim == 2:
            self._native.update_all(logits, per_seat)
        else:
            self._native.update_legal(logits, per_seat)
        self._leaves = None
        self.generation += 1

    def step(self, stride: int, answer: Answer | None = None) -> Steps | None:
        """`take` and `select` of a learned model in one: tell what it said of the steps that it was
        last asked for, if there are any, and ask for the next; None when the search has ended.

        :param stride: rows of hidden states per tree
        """
        steps = self._native.step(stride, answer)
        self.generation += 1
        if steps is None:
            self._ended = True
            self._end()
            return None
        self.batches += 1
        return Steps(*steps)

    def abandon(self) -> None:
        """Give up on the leaves in flight: every visit and value is as it was without them."""
        self._native.abandon()
        self._leaves = None

    def run(self, evaluator: Any = None, watch: Callable[[], None] | None = None) -> None:
        """Search all trees to the end with an evaluator, its name, or the game's default.

        `watch` is called several times a second; what it raises ends the search.
        """
        if self.in_flight:
            raise SearchStateError("Leaves wait for their evaluation: call update() or abandon().")
        evaluator = evaluator_for(self.state(0), evaluator)
        self._need_encoding(evaluator)
        if self._views and "flat_priors" not in self.config.model_fields_set:
            self._native.flatten(getattr(evaluator, "flat", False))
        if self._began is None:
            self.begin()
        self._evaluator = getattr(evaluator, "name", type(evaluator).__name__)
        native: tuple[str, dict[str, Any]] | None = getattr(evaluator, "native", None)
        try:
            if native is not None:
                name, params = native
                self._native.run(name, params, lambda: self._watched(watch))
            else:
                self._ask_and_tell(evaluator, watch)
            self._ended = True
        except BaseException:  # also Ctrl-C: what was found until now stays
            with suppress(SearchStateError):  # at work in another thread: not ours to abandon
                self.abandon()
            raise
        finally:
            self.generation += 1
            self._end()

    def _need_encoding(self, evaluator: Any) -> None:
        """Fail if the evaluator reads positions in another way than they show themselves."""
        wanted, shown = getattr(evaluator, "encoding", None), self._encoding
        if wanted is not None and wanted != shown:
            raise ConfigError(
                f"The evaluator reads {wanted}, but the states show themselves as {shown}: plant "
                "[state.encoded(evaluator.encoding) for state in states]."
            )

    def _ask_and_tell(self, evaluator: Any, watch: Callable[[], None] | None) -> None:
        seen = time.perf_counter()
        while not self._ended:
            if (leaves := self._batch()) is not None:
                self.update(*_pair(evaluator(leaves)))
            if time.perf_counter() - seen > 0.04:
                self._watched(watch)
                seen = time.perf_counter()

    def _watched(self, watch: Callable[[], None] | None) -> None:
        if watch is not None:
            watch()
            self.generation += 1  # what it read is about to change

    def _end(self) -> None:
        if self._began is not None:
            self._took = time.perf_counter() - self._began
            self._began = None

    def stop(self) -> None:
        """End the search that is under way as soon as possible; may be called from any thread."""
        self._native.stop()

    def end(self, tree: int) -> None:
        """End the search of one tree, from `watch` or between batches; the others go on."""
        self._native.end(self._number(tree))

    def ended(self, tree: int) -> bool:
        """Whether the search of one tree has come to its end."""
        return self._native.progress(self._number(tree))[4] is not None

    @property
    def seconds(self) -> float:
        """How long the search has taken."""
        began = self._began  # once: another thread may end the search meanwhile
        return self._took if began is None else time.perf_counter() - began

    def result(self, tree: int = 0) -> SearchResult:
        """What the search found in one tree; also while it is under way."""
        return SearchResult(self, self._number(tree), self.seconds, self._evaluator)

    def results(self) -> list[SearchResult]:
        """What the search found, tree by tree."""
        return [self.result(tree) for tree in range(len(self))]

    def __len__(self) -> int:
        return len(self._states)

    def advance(self, tree: int, *actions: int, view: Game | None = None) -> None:
        """Make the position after some actions the root of a tree; its subtree is kept.

        `view` is what the seat that searches then knows, where its old view cannot tell: it was
        dealt a card, say.
        """
        if self._views:
            self._advance_view(tree, actions, view)
            return
        if view is not None:
            raise SearchStateError(f"Tree {tree} is no search of a view: advance it by actions.")
        states = [self.state(self._number(tree))]
        for action in actions:
            states.append(_after(states[-1], action))
        for action, state in zip(actions, states[1:], strict=True):
            self._native.advance(tree, action)
            self._states[tree] = state
        if actions and states[-1].is_terminal() and root_actions(states[-1]):
            # The end of every line that led here, but as a root it is searched.
            self._native.plant(tree, states[-1])
        self._moved()

    def _advance_view(self, tree: int, actions: Sequence[int], view: Game | None) -> None:
        """`advance` where a seat does not see all: other seats' actions are taken as they come."""
        old = self.state(self._number(tree))
        if view is None:
            view = seen_after(old, actions)
        elif type(view) is not type(old) or view.observer != old.observer:
            raise SearchStateError(
                f"view is {view!r}: give what seat {old.observer} sees after the actions."
            )
        self._native.advance_to(tree, list(actions), view)
        self._states[tree] = view.clone()
        self._moved()

    def plant(self, tree: int, state: Game) -> None:
        """Start a new tree from `state` in place of an old one."""
        self._number(tree)
        if type(state) is not self._class:
            need_game(state, "The new state")
            raise GameContractError(
                f"The new state is a {type(state).__name__} in a forest of {self._class.__name__}: "
                "plant a state of the same game."
            )
        need_encoding(state, self._encoding, "The new state")
        need_fair(state, self.config, "The new state")
        need_turn(state, "The new state")
        state = state.clone()
        self._native.plant(tree, state)
        self._states[tree] = state
        self._moved()

    def replant(self, seats: NDArray[np.int64], legal: NDArray[np.bool_] | None = None) -> None:
        """Start every tree of a learned model anew: `plant` for thousands of trees.

        :param seats: `[N]` to move
        :param legal: `[N, num_actions]` true where an action is legal; by default all are
        """
        self._native.replant(seats, legal)
        self._states = [None] * len(self)
        self._moved()

    def outcomes(self) -> Outcomes:
        """What the search found in all trees, in flat arrays: `results` for thousands of trees."""
        return Outcomes.of(self._native.outcomes(), self.num_players)

    def play(self, actions: ArrayLike, *, keep: bool = True) -> Landings:
        """Take `actions[i]` in tree i, none where it is negative: `advance` for thousands of trees.

        With `keep`, the subtree behind an action stays. Unless all are legal, none is taken; of
        views, only actions of the seat that looks are checked, and what is paid may be left out.
        """
        moves = np.ascontiguousarray(actions, np.int64)
        if self._views and (self._dealt or not self._class.native_views):
            return self._play_views(moves, keep)
        landings = Landings.of(self._native.play(moves, keep), self.num_players)
        if (moves >= 0).all():
            self._states = [None] * len(self)
        else:
            for tree in np.flatnonzero(moves >= 0):
                self._states[tree] = None
        self._moved()
        return landings

    def _play_views(self, moves: NDArray[np.int64], keep: bool) -> Landings:
        """`play` of views that Python moves, as `advance` does."""
        moved = [(tree, int(action)) for tree, action in enumerate(moves) if action >= 0]
        after = {tree: seen_after(self.state(tree), [action]) for tree, action in moved}
        landings = Landings.of_views(after, len(self), self.num_players)
        for tree, view in after.items():
            if keep:
                self._native.advance_to(tree, [int(moves[tree])], view)
            else:
                self._native.plant(tree, view)
            self._states[tree] = view.clone()
        self._moved()
        return landings

    def draw(self, uniforms: ArrayLike) -> NDArray[np.int64]:
        """Outcomes of chance, for `play`, in trees where chance is to move.

        :param uniforms: `[N]` numbers from 0 to 1 that decide them; negative where nothing is
            drawn, which gives -1
        """
        return self._native.draw(np.ascontiguousarray(uniforms, np.float64))

    def _moved(self) -> None:
        self.generation += 1
        self._began, self._ended = None, False

    def _number(self, tree: int) -> int:
        """A number that names a tree."""
        if not 0 <= tree < len(self):
            raise SearchStateError(
                f"There is no tree {tree}: the trees of this forest are 0 to {len(self) - 1}."
            )
        return tree


def _pair(answer: Any) -> tuple[ArrayLike, ArrayLike]:
    """What an evaluator gave, as policy and values."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise EvaluationError(
            f"The evaluator gave a {type(answer).__name__}: it must give a pair, policy logits "
            "and values."
        )
    return answer[0], answer[1]


def _after(state: Game, action: int) -> Game:
    """The position after a legal action or an outcome of chance."""
    if getattr(state, "is_chance", bool)():
        legal = [outcome for outcome, _ in state.chance_outcomes()]
    else:
        legal = playable(state)
    if not legal:
        raise GameOver(f"Action {action} follows the end of the game: there is nothing to play.")
    if action not in legal:
        raise _illegal(action, legal)
    return played(state, action)


def seen_after(view: Game, actions: Sequence[int]) -> Game:
    """A view after some actions, of which those of the seat that looks are checked.

    :raises IllegalAction: one of them is not legal.
    """
    view = view.clone()
    for action in actions:
        if is_own_turn(view) and action not in (legal := list(view.legal_actions())):
            raise _illegal(action, legal)
        view.apply(action)
    return view


def _illegal(action: object, legal: Sequence[int]) -> IllegalAction:
    number = action if isinstance(action, (int, float, np.integer)) else 0
    near = sorted(legal, key=lambda other: abs(other - number))[:12]
    return IllegalAction(
        f"Action {action} is not legal here: choose one of {', '.join(map(str, near))}."
    )
