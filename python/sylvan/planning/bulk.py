"""Self-play of thousands of games: one call moves the roots of all trees.

All arrays have one entry per tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sylvan.planning.forest import Forest
from sylvan.planning.moves import view_after
from sylvan.planning.outcomes import Transitions
from sylvan.planning.trees import Noise

__all__ = ["BulkForest"]


class BulkForest(Forest):
    """A forest whose games are played on in lock-step.

    >>> from sylvan.games import ConnectFour
    >>> forest = BulkForest([ConnectFour()] * 3, simulations=20)
    >>> forest.run("rollout")
    >>> forest.play(forest.outcomes().best).turns.tolist()
    [1, 1, 1]
    """

    def begin(self, noise: Noise | None = None, *, quiet: bool = False) -> None:
        """Start a new search of all trees; trees of finished games are skipped.

        `noise` replaces the random noise of the roots. A `quiet` search has neither noise nor
        forced playouts, whatever the settings.
        """
        self._begin(noise, quiet=quiet)

    def play(self, actions: ArrayLike, *, keep: bool = True) -> Transitions:
        """Apply `actions[i]` at the root of tree i; skip trees where it is negative.

        With `keep`, the subtree behind an action stays. If any action is illegal, no tree moves. Of
        views, only the observer's own actions are checked, and rewards may be missing.
        """
        moves = np.ascontiguousarray(actions, np.int64)
        if self._views and (self._dealt or not self._class.native_views):
            return self._play_views(moves, keep)
        transitions = Transitions.of(self._native.play(moves, keep), self.num_players)
        pairs = zip(moves.tolist(), self._states, strict=True)
        self._states = [None if move >= 0 else state for move, state in pairs]
        self._roots_changed()
        return transitions

    def _play_views(self, moves: NDArray[np.int64], keep: bool) -> Transitions:
        """`play` for views that move in Python, as in `advance`."""
        moved = [(tree, int(action)) for tree, action in enumerate(moves) if action >= 0]
        after = {tree: view_after(self.state(tree), [action]) for tree, action in moved}
        transitions = Transitions.of_views(after, len(self), self.num_players)
        for tree, view in after.items():
            if keep:
                self._native.advance_to(tree, [int(moves[tree])], view)
            else:
                self._native.plant(tree, view)
            self._states[tree] = view.clone()
        self._roots_changed()
        return transitions

    def draw(self, uniforms: ArrayLike) -> NDArray[np.int64]:
        """Sample chance outcomes, for `play`, in trees where chance moves.

        :param uniforms: `[N]` random numbers from 0 to 1; negative: return -1 for this tree
        """
        return self._native.draw(np.ascontiguousarray(uniforms, np.float64))
