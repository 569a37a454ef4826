"""Acting: many games or episodes at once, played by planning with the newest model.

    step   views of the games → search over the model → a move in each → records of those that ended

Games, if there are many, live in two halves that take turns: while one half's moves are made (by a
thread; environments take their time), the other is planned. A model that says it is `concurrent`
may be asked by both at once. The order of everything that counts is fixed, so what is played never
depends on how long anything took.

It is self-play (`sylvan.selfplay.selfplay`) in all but the search: openings, temperature, fast and
full searches, resignation and the move limit are those of its settings. What is different:

- Nothing of a game is searched: the actor knows of it what a player at the table does (`table.py`).
- An episode that is cut off, by a time limit or at the move limit, is searched once more where it
  was cut off; that value stands for what would have come (`GameRecord.returns`, ending `limit`).
  Games of several seats are agreed upon at the move limit, as in self-play.
- A game that raises an error is dropped and counted, and another is begun.

Between steps a game is its seed, its actions and what was thought of them. A run that goes on after
a restart plays them again; an episode that then shows something else than it did before is dropped.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.gymnasium import repeats
from sylvan.games.naming import GameSpec
from sylvan.muzero.game_slots import try_out
from sylvan.muzero.planned import PlannedHalf, begun, replayed_exactly
from sylvan.planning import SearchConfig
from sylvan.replay.record import GameRecord
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.places import Shop, blamed
from sylvan.selfplay.selfplay import SelfPlay, Watch, told
from sylvan.selfplay.unfinished import Unfinished

__all__ = ["Actor"]

LEAST_HALF = 64
"""Games in a half at least: a call of a model on fewer takes as long, so they are planned together.
"""

TRIED = 8
"""Seeds to try where an environment does not start with the first."""


class Actor(SelfPlay):
    """Games in progress, played on step by step.

    >>> import numpy as np
    >>> class Guess:
    ...     '''Knows nothing: all actions alike, no value, no reward.'''
    ...     def initial_inference(self, observations):
    ...         n = len(observations)
    ...         return np.zeros(n), np.zeros(n), np.zeros((n, 9)), np.zeros((n, 1))
    ...     def recurrent_inference(self, hidden, actions):
    ...         n = len(actions)
    ...         return np.zeros(n), np.zeros(n), np.zeros((n, 9)), hidden
    >>> actor = Actor(GameSpec("tictactoe"), SelfPlayConfig(games=8, positions=64), seed=1)
    >>> records = actor.play(Guess(), step=0)
    >>> len(records) == actor.statistics.games > 0
    True
    """

    def __init__(
        self,
        spec: GameSpec,
        config: SelfPlayConfig,
        seed: int,
        search: SearchConfig | None = None,
        encoding: Encoding | None = None,
    ) -> None:
        """Prepare to play; no game has begun.

        :param search: of every move; default: 50 simulations with noise.
        """
        if spec.is_gymnasium and config.restart_share:
            raise ConfigError(
                f"selfplay.restart_share is {config.restart_share}, but episodes of {spec.name} "
                "begin where the environment lets them: set it to 0."
            )
        super().__init__(
            spec, config, seed, encoding, search or SearchConfig(simulations=50, noise=True)
        )
        self.notes: list[str] = []
        """A sentence for each thing that was lost, and that somebody should be told of."""
        self._live: list[Game] | None = None
        """The games in progress as they stand; None where they must be played again first."""
        if spec.is_gymnasium:
            if not self._repeats():
                self.notes.append(
                    f"{spec.name} does not do the same after the same seed and actions: a run that "
                    "goes on after a restart begins its episodes anew."
                )
        elif not spec.is_native:
            with blamed(self._starts):
                try_out(self._starts.first(), spec.short_name, seed)

    def _repeats(self) -> bool:
        """Whether an environment does the same after the same seed and actions.

        One that does not start with some seed is asked with the next; one that never does has shown
        nothing else.
        """
        for seed in range(self.seed, self.seed + TRIED):
            with contextlib.suppress(Exception):
                return repeats(self.spec.episode(seed), self.spec.episode(seed))
        return True

    def _observation(self) -> NDArray[Any]:
        """An example of what a seat sees, in the first game that can be begun."""
        if not self.spec.is_gymnasium:
            return super()._observation()
        shop = Shop(self.config, self._starts.copy(), 0, None)
        return np.asarray(begun(shop)[0].state.observation())

    def play(self, model: Any, step: int, watch: Watch | None = None) -> list[GameRecord]:
        """Search `config.positions` positions; the records of the games that ended meanwhile.

        If anything fails, the games stay as they were before the step.

        :param model: as `LatentSearch` takes it; values and rewards `[B, S]` begin with the seat to
            move, and with the seat that made the step.
        :param step: of the run; all that is random in it follows from seed and step.
        :param watch: called with the statistics so far, some times a second; what it raises ends
            the step.
        """
        began = time.perf_counter()
        shop = Shop(self.config, self._starts.copy(), step, self._example)
        live, self._live = self._live, None  # until the step has succeeded
        games, states = self._at_work(shop, live)
        two = len(games) >= 2 * (LEAST_HALF if self.config.halves is None else 1)
        middle = (len(games) + 1) // 2
        edges = [0, middle, len(games)] if two and self.config.halves != 1 else [0, len(games)]
        halves = [
            PlannedHalf(
                shop,
                games.part(start, end),
                states[start:end],
                model,
                self._settings(len(edges) - 1, step, number),
                self._rng(step, number),
            )
            for number, (start, end) in enumerate(itertools.pairwise(edges))
        ]
        statistics = shop.statistics
        moved = told(watch, statistics, began)
        # With few positions a step may be over before the second half's turn: the halves take
        # turns in coming first.
        together = bool(getattr(model, "concurrent", False))
        take_turns(halves[step % 2 :] + halves[: step % 2], moved, together=together)
        statistics.seconds = time.perf_counter() - began
        planned = sum(half.seconds for half in halves) / (len(halves) if together else 1)
        statistics.network_seconds = planned
        statistics.search_seconds = statistics.seconds - planned
        self._games = Unfinished.joined([half.unfinished() for half in halves])
        self._starts, self.statistics = shop.starts, statistics
        self._live = [half.state(place) for half in halves for place in range(len(half))]
        return shop.records

    def _at_work(self, shop: Shop, live: list[Game] | None) -> tuple[Unfinished, list[Game]]:
        """As many games in progress as there should be, and how they stand."""
        parts: list[Unfinished] = []
        states: list[Game] = []
        if self._games is not None:
            games = self._games.part(0, self.config.games)
            if live is None:
                games, states = self._replayed(games, shop)
            else:
                states = live[: len(games)]
            parts = [games] if len(games) else []
        new = [begun(shop) for _ in range(self.config.games - len(states))]
        if new:
            rows = [(start.number, start.seed, play_on, start.plies) for start, play_on in new]
            parts.append(Unfinished.new(rows, self._seats))
            states += [start.state for start, _ in new]
        return Unfinished.joined(parts), states

    def _replayed(self, games: Unfinished, shop: Shop) -> tuple[Unfinished, list[Game]]:
        """Games in progress, played again; those that come out otherwise are left out."""
        plies = games.plies.split(games.lengths)
        states = [
            replayed_exactly(shop.starts, seed, each)
            for seed, each in zip(games.seeds.tolist(), plies, strict=True)
        ]
        kept = [place for place, state in enumerate(states) if state is not None]
        lost = len(games) - len(kept)
        if lost:
            shop.statistics.dropped += lost
            self.notes.append(
                f"{lost} of {len(games)} episodes in progress were dropped: {self.spec.name} does "
                "not show the same again after the same seed and actions."
            )
            parts = [games.part(place, place + 1) for place in kept]
            games = Unfinished.joined(parts) if parts else games.part(0, 0)
        return games, [state for state in states if state is not None]

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave.

        :raises ConfigError: it is of a game with another number of seats.
        """
        super().load_state_dict(state)
        self._live = None


def take_turns(halves: list[PlannedHalf], moved: Callable[[], None], *, together: bool) -> None:
    """Plan and move all halves until they have searched enough.

    :param together: whether two halves may be planned at once, which lets one half's trees be
        searched while the device computes for the other; else only moves are made meanwhile.
    """
    if len(halves) == 1:
        while halves[0].begins():
            halves[0].plan_and_step()
            halves[0].settle()
            moved()
        return
    waiting: dict[int, Future[None]] = {}
    with ThreadPoolExecutor(len(halves), thread_name_prefix="sylvan-actor") as pool:

        def go_on(number: int) -> None:
            half = halves[number]
            if not half.begins():
                return
            if not together:
                half.plan()
            waiting[number] = pool.submit(half.plan_and_step if together else half.step)

        for number in range(len(halves)):
            go_on(number)
        while waiting:
            for number, half in enumerate(halves):
                if number in waiting:
                    waiting.pop(number).result()
                    half.settle()
                    moved()
                    go_on(number)
