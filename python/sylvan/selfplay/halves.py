"""Half of the games of self-play: one forest, searched and moved in lock-step.

Two halves take turns. While the network evaluates the leaves of one, the other takes in its
evaluations, moves its games and selects its next leaves. The order is fixed, so that what is played
never depends on how long anything took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game
from sylvan.planning import BulkForest, LeafBatch, SearchConfig
from sylvan.planning.outcomes import CHANCE, UNMOVED, Transitions
from sylvan.planning.roots import seen_by_mover
from sylvan.selfplay.openings import after
from sylvan.selfplay.places import Places, Shop, blamed
from sylvan.selfplay.unfinished import Unfinished

__all__ = ["Half"]


class Half(Places):
    """Games that are searched together, each in one tree of a forest."""

    def __init__(
        self,
        shop: Shop,
        games: Unfinished,
        search: SearchConfig,
        rng: np.random.Generator,
    ) -> None:
        with blamed(shop.starts):
            played = np.split(games.plies.actions, np.cumsum(games.lengths)[:-1])
            states = [after(shop.starts.first(), actions.tolist()) for actions in played]
            self.forest = BulkForest(map(seen_by_mover, states), search)
        super().__init__(shop, games, states[0], rng)
        self.simulations = search.simulations
        self.searching = False

    def state(self, place: int) -> Game:
        """The game in a place, as it stands."""
        return self.forest.state(place)

    def plant(self, place: int, state: Game) -> None:
        """Put another game in a place."""
        self.forest.plant(place, state)

    def next(self, moved: Callable[[], None]) -> LeafBatch | None:
        """The next leaves to evaluate, moving all games when their search has ended; None when
        enough positions were searched. `moved` is called after every move.
        """
        while self.searching or self.shop.begun < self.config.positions:
            with blamed(self.shop.starts):
                if not self.searching:
                    self._begin()
                leaves = self.forest.select()
                if leaves is None:
                    self._move()
                elif self.shop.example is not None:
                    _ = leaves.observations  # here, so that a fault of the game is its own
            if leaves is not None:
                return leaves
            moved()
        return None

    def update(self, policy: Any, values: Any) -> None:
        """Take in the evaluations of those leaves."""
        self.forest.update(policy, values)

    def _begin(self) -> None:
        """Start a search of all games, full or fast."""
        self._draw_full()
        if self.config.full_share < 1:
            self.forest.limit(
                simulations=self.simulations if self.full else self.config.fast_simulations
            )
        self.forest.begin(quiet=not self.full)
        self.searching = True
        self.shop.begun += len(self)

    def _move(self) -> None:
        """Play a move in every game; those that end are replaced at once."""
        self.searching = False
        found = self.forest.outcomes()
        actions = self._picked(found)
        resigned = self.resignation.resigned(found.seats, found.values)
        observations = self._observations()
        transitions = self.forest.play(actions, keep=self.config.reuse)
        self._note(found, actions, rewards=transitions.rewards, **observations)
        turns, returns = self._draw(transitions)
        self._settle(turns, returns, resigned, self._at_limit())

    def _observations(self) -> dict[str, NDArray[Any]]:
        """What the seats to move see, where records keep it."""
        if self.shop.example is None:
            return {}
        seen = [self.forest.state(place).observation() for place in range(len(self))]
        return {"observations": np.stack(seen)}

    def _draw(self, transitions: Transitions) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """Let chance move until a seat does or the game is over; turns and returns after that."""
        turns, returns = transitions.turns.copy(), transitions.returns
        while (chance := turns == CHANCE).any():
            uniforms = np.where(chance, self.rng.random(len(self)), -1.0)
            outcomes = self.forest.draw(uniforms)
            transitions = self.forest.play(outcomes, keep=self.config.reuse)
            self.diary.add(present=chance, actions=outcomes, seats=-1, rewards=transitions.rewards)
            self.plies += chance
            moved = transitions.turns != UNMOVED
            turns = np.where(moved, transitions.turns, turns)
            returns = np.where(moved[:, None], transitions.returns, returns)
        return turns, returns
