"""Half of the games of an actor: views of all of them, one search over the model, a move in each.

A round has three parts, so that another half can be planned meanwhile; the last is for one thread:

    plan     views → search → an action per game
    step     the actions are taken (in another thread, which touches nothing but the games)
    settle   what came of them is noted; games that are over become records, others begin
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, GameContractError, SylvanError
from sylvan.games.game import Game
from sylvan.muzero.game_slots import FAILED, Views, make_game_slots, need_turns, turn_of
from sylvan.muzero.search import latent_search
from sylvan.planning import SearchConfig
from sylvan.planning.outcomes import OVER, Landings, Outcomes
from sylvan.selfplay.openings import Start, Starts
from sylvan.selfplay.places import Places, Shop, blamed
from sylvan.selfplay.plies import Plies
from sylvan.selfplay.unfinished import Unfinished

__all__ = ["PlannedHalf", "replayed_exactly"]

LEAST_FAULTS = 8
"""Games that must have failed before a step is given up, however few there are at once."""


class PlannedHalf(Places):
    """Games that are planned together."""

    def __init__(
        self,
        shop: Shop,
        games: Unfinished,
        states: list[Game],
        model: Any,
        search: SearchConfig,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(shop, games, states[0], rng)
        self.slots = make_game_slots(shop.starts.spec, states, search.threads)
        self.has_auxiliary = False  # a model has no outputs for what else a game could teach
        self.full_search = latent_search(model, states[0], search)
        fast = search.replace(simulations=self.config.fast_simulations, noise=False)
        self.fast_search = latent_search(model, states[0], fast)
        self.seconds = 0.0
        """Spent in searches, the model's part included."""
        self._views: Views
        self._found: Outcomes
        self._actions: NDArray[np.int64]
        self._landings: Landings

    def state(self, place: int) -> Game:
        """The game in a place, as it stands."""
        return self.slots.state(place)

    def plant(self, place: int, state: Game) -> None:
        """Put another game in a place."""
        self.slots.plant(place, state)

    def begins(self) -> bool:
        """Whether another round begins: unless enough positions were searched."""
        if self.shop.begun >= self.config.positions:
            return False
        self.shop.begun += len(self)
        self._draw_full()
        return True

    def plan(self) -> None:
        """Search all games and choose their moves."""
        with blamed(self.shop.starts):
            views = self.slots.views()
        if self.seats == 1:  # there is nobody to agree with on what it is worth
            views = views._replace(cut=views.cut | self._at_limit())
        began = time.perf_counter()
        search = self.full_search if self.full else self.fast_search
        forest = search.search(views.observations, views.legal, seats=views.seats)
        self._found, self._views = forest.outcomes(), views
        self.seconds += time.perf_counter() - began
        self._actions = np.where(views.cut, -1, self._picked(self._found))

    def step(self) -> None:
        """Make the moves."""
        self._landings = self.slots.play(self._actions)

    def plan_and_step(self) -> None:
        """Both, one after the other."""
        self.plan()
        self.step()

    def settle(self) -> None:
        """Note what came of the moves; games that are over, or failed, make room for others."""
        self.shop.statistics.batches += 1
        found, views, landings = self._found, self._views, self._landings
        failed, cut = landings.turns == FAILED, views.cut
        name = self.shop.starts.spec.short_name
        need_turns(name, found.seats, landings.turns, self.seats)
        seen = {} if self.shop.example is None else {"observations": views.observations}
        present = ~(cut | failed)
        resigned = self.resignation.resigned(found.seats, found.values) & present
        self._note(found, self._actions, rewards=landings.rewards, present=present, **seen)
        for place in np.flatnonzero(failed).tolist():
            dropped(self.shop, self.slots.faults[place])
            self._replace(place)
        places = np.flatnonzero(cut)
        for place, plies in zip(places.tolist(), self._take(places), strict=True):
            self._end(place, plies, found.values[place], "limit")
            self._replace(place)
        limited = self._at_limit() & present if self.seats > 1 else np.zeros(len(self), bool)
        self._settle(landings.turns, landings.returns, resigned, limited)

    def _end(self, place: int, plies: Plies, returns: NDArray[np.float32], ending: str) -> None:
        """Make a record of a game that is over, and note what it paid."""
        super()._end(place, plies, returns, ending)
        paid = float(plies.rewards[:, 0].sum()) + (float(returns[0]) if ending == "end" else 0.0)
        self.shop.statistics.score += float(getattr(self.state(place), "score", paid))

    def _next_game(self, place: int) -> tuple[Start, bool]:
        """The game to begin in a place, in the environment that is there if it is sound."""
        broken = place in self.slots.faults or not self.shop.starts.spec.is_gymnasium
        return begun(self.shop, None if broken else self.state(place))


def begun(shop: Shop, over: Game | None = None) -> tuple[Start, bool]:
    """The next game; those that cannot be begun are dropped."""
    while True:
        try:
            return shop.next_game(over)
        except SylvanError as error:
            if not isinstance(error, GameContractError):
                raise
            dropped(shop, error)
        except Exception as error:
            dropped(shop, error)
        shop.starts.count += 1  # another seed, where the fault may not be
        over = None


def dropped(shop: Shop, error: Exception) -> None:
    """Count a game that raised an error.

    :raises GameContractError: as many did as there are games at once, and none came to an end.
    :raises ConfigError: it was what the game is that is at fault, and all others are the same.
    """
    if isinstance(error, ConfigError):
        raise error
    shop.faults += 1
    shop.statistics.dropped += 1
    if shop.statistics.games == 0 and shop.faults >= max(LEAST_FAULTS, shop.config.games):
        raise GameContractError(
            f"{shop.starts.spec.name} raised {type(error).__name__} ({error}); so did "
            f"{shop.faults} episodes in this step, and none came to an end: mend the environment. "
            "The run goes on from its last step."
        ) from error


def replayed_exactly(starts: Starts, seed: int, plies: Plies) -> Game | None:
    """The game with this seed after some plies; None if it does not show what it showed then."""
    seen, searched = plies.observations, plies.counts > 0
    try:
        state = starts.begin(seed)
        for ply, action in enumerate(plies.actions.tolist()):
            expected = seen[ply] if seen is not None and searched[ply] else None
            if expected is not None and not np.array_equal(state.observation(), expected):
                return None
            state.apply(action)
    except Exception:
        return None
    return None if turn_of(state) == OVER else state
