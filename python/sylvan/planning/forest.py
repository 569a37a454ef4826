"""Search many trees and evaluate their leaves in one batch.

`select` returns a batch of leaves, the caller evaluates them, `update` stores the evaluations:

forest = Forest([Chess() for _ in range(1024)], simulations=64)
for leaves in forest:
    forest.update(*evaluate(leaves))
results = forest.results()
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.errors import ConfigError, EvaluationError, SearchStateError
from sylvan.evaluators import evaluator_for, fallback_for
from sylvan.evaluators.native import is_flat, native_call
from sylvan.evaluators.protocol import (
    Answer,
    Evaluator,
    EvaluatorLike,
    encoding_of,
    name_of,
)
from sylvan.games.game import Game
from sylvan.planning.config import SearchConfig, configured
from sylvan.planning.described import lists_settings
from sylvan.planning.keywords import SearchSettings
from sylvan.planning.leaves import LeafBatch
from sylvan.planning.moves import state_after, view_after
from sylvan.planning.roots import checked_states, root_actions
from sylvan.planning.tree import TreeView
from sylvan.planning.trees import Trees

__all__ = ["Forest", "Watch"]

Watch = Callable[[], object]
"""Called several times per second during a search; an exception that it raises ends the search."""

WATCH_SECONDS = 0.04
"""Time between two calls of `Watch`."""


@lists_settings
class Forest(Trees):
    """Trees that are searched together with the same settings, one per state."""

    _leaves: LeafBatch | None = None
    """The leaves in flight."""

    def __init__(
        self,
        states: Iterable[Game],
        config: SearchConfig | None = None,
        **settings: Unpack[SearchSettings],
    ) -> None:
        """Plant a tree for a copy of each of `states`, which are of one game."""
        config = configured(config, settings)
        super().__init__(checked_states(states, config), config)

    @classmethod
    def of_roots(cls, roots: Sequence[Game], config: SearchConfig) -> Self:
        """Plant a tree for each state that `checked_root` returned, without another check."""
        forest = cls.__new__(cls)
        Trees.__init__(forest, roots, config)
        return forest

    # --- one batch after another ------------------------------------------------------------------

    @property
    def in_flight(self) -> bool:
        """Whether leaves wait for `update`."""
        return self._leaves is not None

    def __iter__(self) -> Iterator[LeafBatch]:
        """Begin a search and yield batches until every tree is done."""
        self.begin()
        while (leaves := self.select()) is not None:
            yield leaves

    def select(self) -> LeafBatch | None:
        """The next batch of leaves; None if the search has ended."""
        if self._began is None and not self._ended:
            self.begin()
        while not self._ended:
            if (leaves := self._batch()) is not None:
                return leaves
        return None

    def _batch(self) -> LeafBatch | None:
        """Select leaves in every tree; None if there are none, which need not be the end."""
        arrays = self._native.select()
        self.generation += 1
        if arrays is None:
            self._ended = self._native.is_done()
            if self._ended:
                self._end()
            return None
        self.batches += 1
        self._leaves = LeafBatch(self, arrays)
        return self._leaves

    def update(self, policy: ArrayLike, values: ArrayLike) -> None:
        """Store the evaluations of the leaves that `select` returned.

        Args:
            policy: logits `[B, num_logits]`, those of the legal actions at `leaves.logit_indices`
                (without an encoding: at their codes), or of legal actions only
                `[len(leaves.actions)]`
            values: `[B]` for the seat to move (one seat, or two of a zero-sum game), or
                `[B, num_players]`
        """
        if self._leaves is None:
            raise SearchStateError("update() without select(): no leaves wait for an evaluation.")
        self.take(*self._leaves.checked(policy, values))

    def take(self, logits: NDArray[np.float32], per_seat: NDArray[np.float32]) -> None:
        """`update` with arrays that `LeafBatch.checked` returned, without another check."""
        if logits.ndim == 2:
            self._native.update_all(logits, per_seat)
        else:
            self._native.update_legal(logits, per_seat)
        self._leaves = None
        self.generation += 1

    def abandon(self) -> None:
        """Drop the leaves in flight and restore the visits and values from before them."""
        super().abandon()
        self._leaves = None

    # --- a whole search ---------------------------------------------------------------------------

    def run(self, evaluator: EvaluatorLike | None = None, watch: Watch | None = None) -> None:
        """Search all trees to the end with an evaluator, its name, or the game's default.

        The default is the game's `fallback_evaluator` if a network is the default but reads another
        encoding than the trees have.

        `watch` is called several times per second; an exception that it raises ends the search.
        """
        found = evaluator_for(self.state(0), evaluator)
        if evaluator is None and encoding_of(found) not in (None, self._encoding):
            found = fallback_for(self.state(0))
        self.run_with(found, watch)

    def run_with(self, evaluator: Evaluator, watch: Watch | None = None) -> None:
        """`run` with an evaluator that `evaluator_for` returned."""
        if self.in_flight:
            raise SearchStateError("Leaves wait for their evaluation: call update() or abandon().")
        self._need_encoding(evaluator)
        if self._views and "flat_priors" not in self.config.model_fields_set:
            self._native.flatten(is_flat(evaluator))
        if self._began is None:
            self.begin()
        self._evaluator_name = name_of(evaluator)
        try:
            native = native_call(evaluator)
            if native is not None:
                self._native.run(*native, None if watch is None else lambda: self._watched(watch))
            else:
                self._run_in_python(evaluator, watch)
            self._ended = True
        except BaseException:  # also Ctrl-C: keep the results so far
            with suppress(SearchStateError):  # another thread is searching: not ours to abandon
                self.abandon()
            raise
        finally:
            self.generation += 1
            self._end()

    def _need_encoding(self, evaluator: Evaluator) -> None:
        """:raises ConfigError: the states do not have the encoding that the evaluator needs."""
        wanted = encoding_of(evaluator)
        if wanted is not None and wanted != self._encoding:
            raise ConfigError(
                f"The evaluator needs the encoding {wanted}, but the states have {self._encoding}: "
                "plant [state.encoded(evaluator.encoding) for state in states]."
            )

    def _run_in_python(self, evaluator: Evaluator, watch: Watch | None) -> None:
        watched = time.perf_counter()
        while not self._ended:
            if (leaves := self._batch()) is not None:
                self.update(*_pair(evaluator(leaves)))
            if time.perf_counter() - watched > WATCH_SECONDS:
                self._watched(watch)
                watched = time.perf_counter()

    def _watched(self, watch: Watch | None) -> None:
        if watch is not None:
            watch()
            self.generation += 1  # the search continues: views that `watch` made become stale

    # --- other roots ------------------------------------------------------------------------------

    def restore(self, tree: int, saved: TreeView) -> None:
        """Replace a tree by one that was read or saved before, of the same position, so that its
        search goes on; `Search.resume` says what that means.

        :raises ConfigError: the settings do not allow it.
        :raises SearchStateError: the statistics do not fit the game; the tree is new then.
        """
        if self._views:
            raise ConfigError("A search over hidden cards cannot go on from a result.")
        if self.config.transpositions:
            raise ConfigError("A search with transpositions=True cannot go on from a result.")
        try:
            self._native.restore(self._number(tree), saved.all_nodes())
        finally:
            self._roots_changed()

    def advance(self, tree: int, *actions: int, view: Game | None = None) -> None:
        """Move the root of a tree along some actions; the subtree behind them is kept.

        `view` is the searching seat's new view, if its old one cannot tell: for example after a
        card was dealt.
        """
        if self._views:
            self._advance_view(tree, actions, view)
            return
        if view is not None:
            raise SearchStateError(f"Tree {tree} does not search a view: advance it without view=.")
        states = [self.state(self._number(tree))]
        for action in actions:
            states.append(state_after(states[-1], action))
        for action, state in zip(actions, states[1:], strict=True):
            self._native.advance(tree, action)
            self._states[tree] = state
        if actions and states[-1].is_terminal() and root_actions(states[-1]):
            # A draw could be claimed here: terminal inside a tree, but searched as a root.
            self._native.plant(tree, states[-1])
        self._roots_changed()

    def _advance_view(self, tree: int, actions: Sequence[int], view: Game | None) -> None:
        """`advance` with hidden information: actions of other seats cannot be checked."""
        old = self.state(self._number(tree))
        if view is None:
            view = view_after(old, actions)
        elif type(view) is not type(old) or view.observer != old.observer:
            raise SearchStateError(
                f"view is {view!r}: give the view of seat {old.observer} after the actions."
            )
        self._native.advance_to(tree, list(actions), view)
        self._states[tree] = view.clone()
        self._roots_changed()


def _pair(answer: Answer) -> Answer:
    """An evaluator's answer, checked to be a pair."""
    given: object = answer
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise EvaluationError(
            f"The evaluator gave a {type(answer).__name__}: it must give a pair, policy logits "
            "and values."
        )
    return given[0], given[1]
