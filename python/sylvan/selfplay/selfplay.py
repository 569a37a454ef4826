"""Self-play: the games of each step, played by actors.

    step   lease → actors → games as columns → records

Every game is played from beginning to end by the network of its lease (`leases.py`). While the last
games of a lease are being played, the games of the next one start, with the next network, so that
batches stay full. Between two steps those games wait; an interrupted run plays them again, and as
a game depends only on the run's seed, its number, its network and the positions of its lease, they
are the same games.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from sylvan import _native
from sylvan._native import mix
from sylvan.errors import ConfigError
from sylvan.evaluators import AsyncEvaluator, EvaluatorLike, evaluator_for
from sylvan.evaluators.batch_independence import depends_on_batch
from sylvan.evaluators.native import native_call
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.planning import Forest, SearchConfig
from sylvan.replay.record import GameRecord
from sylvan.selfplay.actors import Actors, Room, attend
from sylvan.selfplay.auxiliary import offers_auxiliary, with_auxiliary
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.faults import as_game_errors, dropped_note
from sylvan.selfplay.game_columns import GameColumns
from sylvan.selfplay.leases import Lease, Leases, random_length
from sylvan.selfplay.roots import some_roots
from sylvan.selfplay.statistics import SelfPlayStatistics

__all__ = ["AnyEvaluator", "Load", "SelfPlay", "SelfPlayConfig", "SelfPlayStatistics"]

AnyEvaluator: TypeAlias = EvaluatorLike | AsyncEvaluator[Any]
Load = Callable[[Lease], AnyEvaluator]
Watch = Callable[[SelfPlayStatistics], Any]

MOST_TRIED = 1024
"""Positions with which an evaluator is tried out."""

WATCH_INTERVAL = 0.1
"""Minimum seconds between two calls of `watch`."""


class SelfPlay:
    """Plays the games of a run, step by step.

    >>> config = SelfPlayConfig(games=8, positions=64)
    >>> selfplay = SelfPlay(GameSpec("tictactoe"), config, seed=1)
    >>> records = selfplay.play(lambda lease: "uniform", step=1)
    >>> len(records) == selfplay.statistics.games > 0
    True
    """

    def __init__(
        self,
        spec: GameSpec,
        config: SelfPlayConfig,
        seed: int,
        encoding: Encoding | None = None,
        search: SearchConfig | None = None,
        room: Room = np.zeros,
    ) -> None:
        """Prepare without starting a game.

        :param search: settings of every search; default: 64 simulations with noise.
        :param room: as in `Actors`.
        """
        self.spec, self.config, self.seed = spec, config, seed
        search = search or SearchConfig(simulations=64, noise=True)
        self._leased = 1 + (config.lag > 0)
        """Leases that are played at once; they share the memory of the search."""
        if search.bytes is not None:
            search = search.replace(bytes=max(65536, search.bytes // self._leased))
        bell = _native.Bell()
        self._new_actors = partial(
            Actors, spec, config, mix(seed, 0), encoding, search, room=room, bell=bell
        )
        self._tried = search.threads == 1 or not spec.is_native
        """Whether batches are known not to matter; with one actor they follow from the games."""
        self._actors = [self._new_actors()]
        self.first = self._actors[0].first
        self.leases = Leases(config, self._guess)
        self.statistics = SelfPlayStatistics()
        """The statistics of the last step."""
        self.notes: list[str] = []
        """Sentences for the user, about games that were dropped."""
        self._begun: dict[int, Actors] = {}
        """The actors of the leases being played, by number."""
        self._auxiliary = offers_auxiliary(self.first)

    def play(
        self,
        load: Load,
        step: int,
        newest: int | None = None,
        watch: Watch | None = None,
        *,
        last: bool = False,
    ) -> list[GameRecord]:
        """Play the lease of a step to its end, and return its games.

        If an exception is raised, the same step can be played again.

        :param load: gives the evaluator of a lease, as `Forest.run` takes it or with `submit` and
            `collect`. Two leases may be played at once: consecutive ones need two evaluators, of
            which one may be used again for the next lease but one.
        :param step: of the run, from 1.
        :param newest: the step of the newest network; default: the step before.
        :param watch: called with the statistics so far, several times a second; an exception that
            it raises ends the step.
        :param last: no other step follows, so the next lease does not begin.
        """
        began, waited = time.perf_counter(), 0.0
        evaluated = self._evaluated
        self.leases.plan(step, step - 1 if newest is None else newest)
        lease, *others = self.leases.planned
        watched = began
        try:
            actors = self._begin(lease, load)
            playing = [actors, *(each for each in self._begun.values() if each is not actors)]
            while not actors.is_over:
                if len(playing) < self._leased and others and not last and actors.all_started:
                    playing.append(self._begin(others[0], load))
                waited += attend(playing)
                now = time.perf_counter()
                if watch is not None and now - watched >= WATCH_INTERVAL:
                    watched = now
                    played, positions, simulations = actors.progress
                    watch(
                        SelfPlayStatistics(
                            games=played,
                            positions=positions,
                            simulations=simulations,
                            seconds=now - began,
                        )
                    )
            games = actors.finish()
        except BaseException:
            self.stop()
            raise
        del self._begun[lease.number]
        self.statistics = found = SelfPlayStatistics()
        found.add(games)
        found.seconds = time.perf_counter() - began
        found.network_seconds, found.search_seconds = self._evaluated - evaluated, waited
        found.cache_lookups, found.cache_hits = actors.cache
        found.batches, found.rows = actors.evaluated
        found.capacity = found.batches * actors.rows
        if actors.dropped:
            found.dropped = len(actors.dropped)
            self.notes.append(dropped_note(self.spec, actors.dropped, len(games)))
        return self._records(lease, games)

    def _begin(self, lease: Lease, load: Load) -> Actors:
        """Start to play a lease, or go on with it."""
        if lease.number not in self._begun:
            place = lease.number % self._leased
            while len(self._actors) <= place:
                self._actors.append(self._new_actors())
            actors = self._actors[place]
            evaluator = load(lease)
            if not self._tried:
                self._try_out(evaluator)
                actors = self._actors[place]
            with as_game_errors(self.spec):
                actors.begin(evaluator, lease.first, lease.count, lease.positions)
            self._begun[lease.number] = actors
        return self._begun[lease.number]

    def _try_out(self, evaluator: AnyEvaluator) -> None:
        """Play by one actor if the evaluator's answers depend on the rest of a batch: then what is
        in a batch follows from the games, and not from the timing of several threads.
        """
        self._tried = True
        if not isinstance(evaluator, AsyncEvaluator):
            evaluator = evaluator_for(self.first, evaluator)
            if native_call(evaluator) is not None:
                return
        roots = some_roots(self.first, min(MOST_TRIED, self._actors[0].rows), self.seed)
        leaves = Forest(roots, simulations=1, noise=False).select()
        if leaves is not None and depends_on_batch(evaluator, leaves):
            self._new_actors = partial(self._new_actors, actors=1)
            self._actors = [self._new_actors() for _ in self._actors]
            self.notes.append(
                "The network's answers depend on the rest of a batch on this machine: one thread "
                "plays the games, so that they are reproducible."
            )

    def _records(self, lease: Lease, games: GameColumns) -> list[GameRecord]:
        """The games of a lease as records; learn lengths and positions from them."""
        records = games.records(lease.number)
        if self._auxiliary:
            records = [with_auxiliary(record, self.first) for record in records]
        if self.config.restart_share:
            for number, record in zip(games["numbers"].tolist(), records, strict=True):
                self.leases.restarts.learn(number, record)
        self.leases.over(self.statistics.positions / max(1, len(games)))
        return records

    @property
    def _evaluated(self) -> float:
        """Seconds inside evaluators so far."""
        return sum(actors.seconds for actors in self._actors)

    def _guess(self) -> float:
        """Estimated positions of a game."""
        return random_length(self.first, self.seed, self.config.max_plies)

    def stop(self) -> None:
        """Give up the games in progress; they can be played again."""
        for actors in self._begun.values():
            actors.stop()
        self._begun.clear()

    def state_dict(self) -> dict[str, Any]:
        """The state that the next step depends on, besides the settings: arrays and JSON values."""
        return {"seats": self.first.num_players, **self.leases.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state from `state_dict`, or from a checkpoint of version 0.1.

        :raises ConfigError: it belongs to a game with another number of seats.
        """
        seats = state.get("seats") or np.shape(state.get("low_turns", [[]]))[-1]
        if seats not in (0, self.first.num_players):
            raise ConfigError(
                f"The games of the checkpoint have {seats} seats, but {self.spec.name} has "
                f"{self.first.num_players}: resume with the same game."
            )
        self.stop()
        self.leases.load_state_dict(state)
        dropped = len(state.get("numbers", ()))
        if dropped:
            self.notes.append(
                f"{dropped} games in progress are dropped: version 0.1 played a game with the "
                "networks of several steps, and now one network plays it."
            )
