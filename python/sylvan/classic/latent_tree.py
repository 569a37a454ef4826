"""The tree of `muzero-chess` in the core: a search that asks a network one step at a time.

The core stores row numbers in place of hidden states; the network's answers are kept here by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sylvan._native import Rng
from sylvan.classic.muzero_settings import MCTSConfig
from sylvan.classic.network_outputs import LearnedNetwork, NetworkOutput, after
from sylvan.classic.tree_node import CoreTree, Path
from sylvan.planning import LatentForest, LatentState, NodeView
from sylvan.planning.latent_forest import Evaluations, Steps

__all__ = ["LatentTree"]


class LatentTree(CoreTree):
    """A tree over a network's answers, whose root may be searched again and again."""

    def __init__(
        self,
        network: LearnedNetwork,
        settings: MCTSConfig,
        first: NetworkOutput,
        legal_actions: Sequence[int],
        seat: int,
    ) -> None:
        """Create a tree whose root has the answer `first`."""
        self.network = network
        self.settings = replace(settings)
        self.seat, self.players = seat, settings.num_players
        seed = int(np.random.randint(2**62))
        config = settings.search_config(noise=settings.add_noise, seed=seed)
        root = LatentState(
            self.players,
            len(first.policy_logits),
            list(legal_actions),
            seat,
            zero_sum=self.players == 2,
            whole=True,  # all children can be looked at
        )
        self._forest = LatentForest([root], config)
        super().__init__(self._forest.result)
        self._noise: list[list[float]] | None = None
        if settings.add_noise:  # drawn once, so that every search of the tree has the same
            drawn = Rng(seed).dirichlet(config.dirichlet_alpha, len(legal_actions))
            self._noise = [list(drawn)]
        self._answers: dict[int, NetworkOutput] = {}
        self._following: dict[int, dict[int, int]] = {}
        """By row, then by action: the row of the next answer."""
        self._forest.limit(simulations=0)
        self._search(first)

    def fits(self, network: LearnedNetwork, settings: MCTSConfig) -> bool:
        """Whether a search with this network and these settings can continue the tree."""
        same = replace(settings, num_simulations=self.settings.num_simulations) == self.settings
        return network is self.network and same

    def search(self, simulations: int) -> None:
        """Add simulations. If the network raises, those before it stay."""
        self._forest.limit(simulations=simulations)
        self._search(None)

    def _search(self, first: NetworkOutput | None) -> None:
        forest = self._forest
        forest.begin(self._noise)
        try:
            steps = forest.step(1)
            while steps is not None:
                output = first or self._ask(steps)
                self._answers[int(steps.rows[0])] = output
                value, reward, logits, _ = output
                numbers = np.array([[value], [reward]], np.float32)
                evaluations = Evaluations(logits[None], None, numbers[0], numbers[1], False)
                steps = forest.step(1, evaluations)
        except BaseException:  # also Ctrl-C
            forest.abandon()
            raise
        finally:
            self.refresh()

    def _ask(self, steps: Steps) -> NetworkOutput:
        """Ask the network for a step; meanwhile nodes show the tree as it stands."""
        self.refresh()
        row, action = int(steps.parents[0]), int(steps.actions[0])
        output = after(self.network, self._answers[row].hidden_state, action)
        self._following.setdefault(row, {})[action] = int(steps.rows[0])
        return output

    def _row(self, path: Path) -> int | None:
        """The row of the answer at a path; None if the network was not asked."""
        row: int | None = 0
        for action in path:
            row = None if row is None else self._following.get(row, {}).get(action)
        return row

    def answer(self, path: Path) -> NetworkOutput | None:
        """The network's answer at a path; None if it was not asked."""
        row = self._row(path)
        return None if row is None else self._answers[row]

    def node(self, path: Path) -> NodeView | None:
        """The node at a path, found without reading the thousands of edges above it."""
        return None if self._row(path) is None else NodeView(self.view, path)

    def reached(self, path: Path) -> list[int]:
        """The actions that simulations took at the node at a path."""
        row = self._row(path)
        return [] if row is None else list(self._following.get(row, ()))
