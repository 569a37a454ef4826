"""Trees of one game that are searched together: what `Forest` and `LatentForest` share.

This file begins and ends searches, changes their limits and reads their results. How leaves are
evaluated is up to the subclasses.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Unpack, cast

import numpy as np

from sylvan import _native
from sylvan.errors import ConfigError, GameContractError, SearchStateError
from sylvan.games.game import Game
from sylvan.games.optional import num_logits_of, overrides, seat_values_of, state_encoding
from sylvan.planning.config import SearchConfig
from sylvan.planning.determinised import DealtForest
from sylvan.planning.keywords import Limits
from sylvan.planning.leaves import evaluated_range
from sylvan.planning.outcomes import Outcomes, Progress
from sylvan.planning.result import SearchResult
from sylvan.planning.roots import (
    as_root,
    is_view,
    need_encoding,
    need_fair,
    need_game,
    need_no_chance,
    need_turn,
    root_actions,
)
from sylvan.planning.tree import TreeView

__all__ = ["Noise", "Trees"]

Noise = Sequence[Sequence[float] | None]
"""For each tree the noise of its root, one number per legal action; None: drawn at random."""


class Trees:
    """Trees that are searched together with the same settings."""

    def __init__(self, roots: Sequence[Game], config: SearchConfig) -> None:
        """Plant a tree for each of `roots`, which `checked_states` has checked and copied."""
        first = roots[0]
        self.config = config
        self._states: list[Game | None] = [*roots]
        self._class, self._encoding = type(first), state_encoding(first)
        self._has_chance = overrides(first, "is_chance")
        self._views = is_view(first)
        self.num_players, self.num_actions = first.num_players, first.num_actions
        self.num_logits = num_logits_of(first)
        """Policy outputs per leaf: one per action, unless the states have an encoding."""
        self.one_value = first.num_players == 1 or (first.num_players == 2 and first.zero_sum)
        """Whether one value per leaf, for the seat to move, determines the values of all seats."""
        self.seat_values = seat_values_of(first)
        """Convert a network's values `[B, num_players]` to the game's payments; None: equal."""
        low, high = map(float, first.value_range)
        self.value_range = evaluated_range((low, high), config)
        """The least and the greatest value that an evaluator may give."""
        settings = config.native((low, high))
        self._dealt = self._views and config.hidden == "determinised"
        self._native: _native.Forest = (
            cast(_native.Forest, DealtForest(roots, config, settings))
            if self._dealt
            else _native.Forest(roots, settings)
        )
        self.generation = 0
        """Counts the changes of the trees."""
        self.batches = 0
        """Counts the batches of leaves."""
        self._began: float | None = None
        self._ended = False
        self._took = 0.0
        self._evaluator_name = "custom"
        self._roots_checked = True

    def __len__(self) -> int:
        return len(self._states)

    @property
    def states(self) -> Sequence[Game]:
        """The states at the roots. A chess position that `BulkForest.play` reached knows its past
        positions, but not the moves between them.
        """
        return [self.state(tree) for tree in range(len(self))]

    def state(self, tree: int) -> Game:
        """The state at the root of one tree."""
        state = self._states[tree]
        if state is None:  # moved in the core
            state = self._states[tree] = self._native.state(tree)
        return state

    def reseed(self, seeds: Sequence[int]) -> None:
        """Let each tree draw from its own seed: a search is then the same in any forest.

        Call it before the first search; without it, a tree draws by the seed of the settings and
        by its index.
        """
        self._native.reseed(np.array(seeds, np.uint64))

    # --- searching --------------------------------------------------------------------------------

    def begin(self, noise: Noise | None = None) -> None:
        """Start a new search of all trees; trees of finished games are skipped.

        `noise` replaces the random noise of the roots.
        """
        self._begin(noise, quiet=False)

    def _begin(self, noise: Noise | None, *, quiet: bool) -> None:
        if not self._roots_checked and (self._has_chance or self._views):
            for tree in range(len(self)):
                need_no_chance(self.state(tree), f"The root of tree {tree}")
                need_fair(self.state(tree), self.config, f"The root of tree {tree}")
            self._roots_checked = True
        self._native.begin(None if noise is None else self._checked_noise(noise), quiet)
        self.generation += 1
        self._began, self._took, self._ended = time.perf_counter(), 0.0, False

    def _checked_noise(self, noise: Noise) -> list[list[float] | None]:
        """Noise for the core: for every tree a number per legal action, or None."""
        if not self.config.noise and self.config.selection != "gumbel":
            raise ConfigError("noise is given, but the settings use none: set noise=True.")
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

    def limit(self, **limits: Unpack[Limits]) -> None:
        """Change the limits from the next search on; the trees stay.

        `limits` are `simulations`, `seconds`, `nodes` and `depth`; those not named stay.
        """
        others = sorted(set(limits) - {"simulations", "seconds", "nodes", "depth"})
        if others:
            raise ConfigError(
                f"{others[0]!r} is not a limit: between searches only simulations, seconds, nodes "
                "and depth can change."
            )
        config = self.config.replace(**limits)
        self._native.limit(config.simulations, config.nodes, config.depth, config.seconds)
        self.config = config

    def abandon(self) -> None:
        """Drop the leaves in flight and restore the visits and values from before them."""
        self._native.abandon()

    def stop(self) -> None:
        """End the running search as soon as possible; from any thread."""
        self._native.stop()

    def end(self, tree: int) -> None:
        """End the search of one tree, from `watch` or between batches; the others continue."""
        self._native.end(self._number(tree))

    def ended(self, tree: int) -> bool:
        """Whether the search of one tree has ended."""
        return self.progress(tree).stopped_by is not None

    def _end(self) -> None:
        """Stop the clock."""
        if self._began is not None:
            self._took = time.perf_counter() - self._began
            self._began = None

    # --- results ----------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Duration of the search."""
        began = self._began  # read once: another thread may end the search meanwhile
        return self._took if began is None else time.perf_counter() - began

    def progress(self, tree: int = 0) -> Progress:
        """How much of its search a tree has done."""
        return Progress(*self._native.progress(self._number(tree)))

    def best(self, tree: int = 0) -> int:
        """The best action of a tree, as `SearchResult.best`; also while the search runs.

        :raises SearchStateError: the root is not evaluated yet.
        """
        best = self._native.best(self._number(tree))
        if best is None:
            raise self._no_result(tree)
        return best

    def tree(self, tree: int = 0) -> TreeView:
        """The nodes of a tree, read when they are asked for, until the tree changes."""
        native, generation = self._native, self.generation
        return TreeView(
            lambda path: native.node(tree, list(path)),
            as_root(self.state(self._number(tree))),
            lambda: self.generation == generation,
            lambda path: native.line(tree, list(path)),
            native.best(tree),
            None if self._dealt else lambda *asked: native.most_visited(tree, *asked),
        )

    def result(self, tree: int = 0) -> SearchResult:
        """The result of one tree; also while the search runs."""
        return SearchResult(self, self._number(tree))

    def results(self) -> list[SearchResult]:
        """The results of all trees."""
        return [self.result(tree) for tree in range(len(self))]

    def outcomes(self) -> Outcomes:
        """The results of all trees in flat arrays: `results` for thousands of trees."""
        return Outcomes.of(self._native.outcomes(), self.num_players)

    def signature(self, tree: int = 0) -> int:
        """A hash of the actions and visit counts of all nodes: equal trees have equal ones."""
        return self._native.signature(self._number(tree))

    @property
    def bytes(self) -> int:
        """Memory of all trees, including the memory that is kept for reuse."""
        return self._native.bytes()

    def _no_result(self, tree: int) -> SearchStateError:
        """The error for a result that does not exist yet."""
        need_turn(self.state(tree), f"The root of tree {tree}")
        return SearchStateError(
            f"The root of tree {tree} is not evaluated yet: search before reading a result."
        )

    # --- other roots ------------------------------------------------------------------------------

    def plant(self, tree: int, state: Game) -> None:
        """Replace a tree by a new one with the root `state`."""
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
        self._roots_changed()

    def _roots_changed(self) -> None:
        self.generation += 1
        self._began, self._ended, self._roots_checked = None, False, False

    def _number(self, tree: int) -> int:
        """`tree`, if it is the number of a tree."""
        if not 0 <= tree < len(self):
            raise SearchStateError(
                f"There is no tree {tree}: the trees of this forest are 0 to {len(self) - 1}."
            )
        return tree
