"""One group of an actor's games, which are planned in one search per move.

A round has three parts, so that another group can be planned in parallel:

    plan     views → search → an action per game
    step     apply the actions (in another thread, which uses only the games)
    settle   store the results; finished games become records, new ones start (main thread)
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, GameContractError, SylvanError
from sylvan.games.game import Game
from sylvan.muzero.game_slots import FAILED, Views, make_game_slots, need_turns, own_score, turn_of
from sylvan.muzero.places import Places, Shop
from sylvan.muzero.plies import Plies
from sylvan.muzero.search import latent_search
from sylvan.muzero.starts import Start, Starts
from sylvan.muzero.unfinished import Unfinished
from sylvan.planning import LatentModel, SearchConfig
from sylvan.planning.outcomes import OVER, Outcomes, Transitions
from sylvan.selfplay.faults import as_game_errors

__all__ = ["PlannedHalf", "replayed_exactly"]

LEAST_FAULTS = 8
"""Minimum number of failed games before a step is aborted."""


class PlannedHalf(Places):
    """Games that are planned together."""

    def __init__(
        self,
        shop: Shop,
        games: Unfinished,
        states: list[Game],
        model: LatentModel,
        search: SearchConfig,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(shop, games, states[0], rng)
        self.slots = make_game_slots(shop.starts.spec, states, search.threads)
        self.full_search = latent_search(model, states[0], search)
        fast = search.replace(simulations=self.config.fast_simulations, noise=False)
        self.fast_search = latent_search(model, states[0], fast)
        self.seconds = 0.0
        """Time spent in searches, including the model."""
        self._views: Views
        self._found: Outcomes
        self._actions: NDArray[np.int64]
        self._transitions: Transitions

    def state(self, place: int) -> Game:
        """The game in a slot."""
        return self.slots.state(place)

    def plant(self, place: int, state: Game) -> None:
        """Put another game in a slot."""
        self.slots.plant(place, state)

    def begins(self) -> bool:
        """Start another round, unless enough positions were searched; return whether it did."""
        if self.shop.begun >= self.config.positions:
            return False
        self.shop.begun += len(self)
        self._draw_full()
        return True

    def plan(self) -> None:
        """Search all games and choose their moves."""
        with as_game_errors(self.shop.starts.spec):
            views = self.slots.views()
        if self.seats == 1:  # the search's value replaces the missing return
            views = views._replace(cut=views.cut | self._at_limit())
        began = time.perf_counter()
        search = self.full_search if self.full else self.fast_search
        forest = search.search(views.observations, views.legal, seats=views.seats)
        self._found, self._views = forest.outcomes(), views
        self.seconds += time.perf_counter() - began
        self._actions = np.where(views.cut, -1, self._picked(self._found))

    def step(self) -> None:
        """Apply the moves."""
        self._transitions = self.slots.play(self._actions)

    def plan_and_step(self) -> None:
        """Plan, then step."""
        self.plan()
        self.step()

    def settle(self) -> None:
        """Store the results of the moves; replace finished and failed games by new ones."""
        self.shop.statistics.batches += 1
        found, views, transitions = self._found, self._views, self._transitions
        failed, cut = transitions.turns == FAILED, views.cut
        name = self.shop.starts.spec.short_name
        need_turns(name, found.seats, transitions.turns, self.seats)
        seen = {} if self.shop.example is None else {"observations": views.observations}
        present = ~(cut | failed)
        resigned = self.resignation.resigned(found.seats, found.values) & present
        self._note(found, self._actions, rewards=transitions.rewards, present=present, **seen)
        for slot in np.flatnonzero(failed).tolist():
            dropped(self.shop, self.slots.faults[slot])
            self._replace(slot)
        truncated = np.flatnonzero(cut)
        for slot, plies in zip(truncated.tolist(), self._take(truncated), strict=True):
            self._end(slot, plies, found.values[slot], "limit")
            self._replace(slot)
        limited = self._at_limit() & present if self.seats > 1 else np.zeros(len(self), bool)
        self._settle(transitions.turns, transitions.returns, resigned, limited)

    def _end(self, place: int, plies: Plies, returns: NDArray[np.float32], ending: str) -> None:
        """Record a finished game, and add its total reward to the statistics."""
        super()._end(place, plies, returns, ending)
        total = float(plies.rewards[:, 0].sum()) + (float(returns[0]) if ending == "end" else 0.0)
        self.shop.statistics.score += own_score(self.state(place), total)

    def _next_game(self, place: int) -> tuple[Start, bool]:
        """Start the next game of a slot; reuse the slot's environment unless it failed."""
        broken = place in self.slots.faults or not self.shop.starts.spec.is_gymnasium
        return begun(self.shop, None if broken else self.state(place))


def begun(shop: Shop, over: Game | None = None) -> tuple[Start, bool]:
    """Start the next game; drop games that fail to start."""
    while True:
        try:
            return shop.next_game(over)
        except SylvanError as error:
            if not isinstance(error, GameContractError):
                raise
            dropped(shop, error)
        except Exception as error:
            dropped(shop, error)
        shop.starts.count += 1  # try another seed
        over = None


def dropped(shop: Shop, error: Exception) -> None:
    """Count a game that raised an exception.

    :raises GameContractError: as many games failed as run in parallel, and none has ended.
    :raises ConfigError: `error` is one; it concerns all games.
    """
    if isinstance(error, ConfigError):
        raise error
    shop.faults += 1
    shop.statistics.dropped += 1
    if shop.statistics.games == 0 and shop.faults >= max(LEAST_FAULTS, shop.config.games):
        raise GameContractError(
            f"{shop.starts.spec.name} raised {type(error).__name__} ({error}); {shop.faults} "
            "episodes of this step failed and none ended: fix the environment; the run then "
            "resumes from its last step."
        ) from error


def replayed_exactly(starts: Starts, seed: int, plies: Plies) -> Game | None:
    """Replay a game from its seed and actions; None if an observation differs."""
    observed, searched = plies.observations, plies.counts > 0
    try:
        state = starts.begin(seed)
        for ply, action in enumerate(plies.actions.tolist()):
            expected = observed[ply] if observed is not None and searched[ply] else None
            if expected is not None and not np.array_equal(state.observation(), expected):
                return None
            state.apply(action)
    except Exception:
        return None
    return None if turn_of(state) == OVER else state
