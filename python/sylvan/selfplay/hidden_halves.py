"""Half of the games of self-play, where seats do not see everything.

The games are whole; what is searched is what the seat to move knows of each. So there is no tree to
keep: after every move the next seat's view is planted. Where chance moves, or a seat has but one
action, the game goes on without a search, and such plies are not learned from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game
from sylvan.planning import SearchConfig
from sylvan.planning.outcomes import OVER
from sylvan.planning.roots import seen_by_mover
from sylvan.selfplay.halves import Half
from sylvan.selfplay.openings import after
from sylvan.selfplay.places import Shop, blamed
from sylvan.selfplay.unfinished import Unfinished

__all__ = ["HiddenHalf"]


class HiddenHalf(Half):
    """Games that are searched together, each in a tree over what its seat to move knows."""

    def __init__(
        self, shop: Shop, games: Unfinished, search: SearchConfig, rng: np.random.Generator
    ) -> None:
        super().__init__(shop, games, search, rng)
        with blamed(shop.starts):
            played = np.split(games.plies.actions, np.cumsum(games.lengths)[:-1])
            self.games = [after(shop.starts.first(), actions.tolist()) for actions in played]

    def state(self, place: int) -> Game:
        """The whole game in a place."""
        return self.games[place]

    def plant(self, place: int, state: Game) -> None:
        """Put another game in a place."""
        self.games[place] = state.clone()
        self.forest.plant(place, seen_by_mover(state))

    def _move(self) -> None:
        """Play a move in every game; those that end are replaced at once."""
        self.searching = False
        found = self.forest.outcomes()
        actions = self._picked(found)
        observations = self._observations()
        rewards = self._applied(np.ones(len(self), bool), actions)
        self._note(found, actions, rewards=rewards, **observations)
        self._go_on()
        over = np.array([game.is_terminal() for game in self.games])
        returns = np.zeros((len(self), self.seats), np.float32)
        for place in np.flatnonzero(over):
            returns[place] = self.games[place].returns()
        turns = np.where(over, OVER, 0).astype(np.int8)
        limited = self._at_limit()
        self._settle(turns, returns, np.zeros(len(self), bool), limited)
        for place in np.flatnonzero(~(over | limited)):
            self.forest.plant(int(place), seen_by_mover(self.games[place]))

    def _observations(self) -> dict[str, NDArray[Any]]:
        """What the seats to move see, where records keep it."""
        if self.shop.example is None:
            return {}
        return {"observations": np.stack([game.observation() for game in self.games])}

    def _go_on(self) -> None:
        """Let chance move, and seats that have no choice, until one has or the game is over."""
        while True:
            going = np.array([_is_forced(game) for game in self.games])
            if not going.any():
                return
            actions, seats = np.zeros(len(self), np.int64), np.full(len(self), -1, np.int8)
            for place in np.flatnonzero(going):
                actions[place], seats[place] = self._drawn(self.games[place])
            rewards = self._applied(going, actions)
            self.diary.add(present=going, actions=actions, seats=seats, rewards=rewards)
            self.plies += going

    def _drawn(self, game: Game) -> tuple[int, int]:
        """What happens where nobody chooses, and the seat; -1 is chance."""
        if not game.is_chance():
            return int(game.legal_actions()[0]), game.to_play()
        outcomes = game.chance_outcomes()
        upto = np.cumsum([share for _, share in outcomes])
        place = int(np.searchsorted(upto, self.rng.random() * upto[-1], side="right"))
        return int(outcomes[min(place, len(outcomes) - 1)][0]), -1

    def _applied(
        self, present: NDArray[np.bool_], actions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Take actions in some games; `[N, S]` what they paid."""
        rewards = np.zeros((len(self), self.seats), np.float32)
        for place in np.flatnonzero(present):
            game = self.games[place]
            game.apply(int(actions[place]))
            if self.has_rewards:
                rewards[place] = game.rewards()
        return rewards


def _is_forced(game: Game) -> bool:
    """Whether the game goes on without anybody's choice."""
    if game.is_terminal():
        return False
    return game.is_chance() or len(game.legal_actions()) == 1
