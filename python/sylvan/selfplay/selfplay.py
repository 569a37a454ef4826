"""Self-play: the games of each step, as records.

    step   lease → player → games as columns → records

Every game is played from beginning to end by the network of its lease (`leases.py`). Leases are
played by actors of this machine or by workers on others (`lease_player.py`). Between two steps the
games of the next lease pause. A run that is interrupted there plays them again: a game depends only
on the run's seed, its number, its network and the positions of its lease, so they are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sylvan.errors import ConfigError
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.replay.record import GameRecord
from sylvan.selfplay.actors import Room
from sylvan.selfplay.auxiliary import offers_auxiliary, with_auxiliary
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.faults import dropped_note
from sylvan.selfplay.lease_player import (
    AnyEvaluator,
    LeasePlayer,
    Load,
    PlayedLease,
    PlaysLeases,
    Watch,
)
from sylvan.selfplay.leases import Leases, random_length
from sylvan.selfplay.statistics import SelfPlayStatistics

__all__ = ["AnyEvaluator", "Load", "SelfPlay", "SelfPlayConfig", "SelfPlayStatistics"]


LONG = 64
"""Plies of a long episode, where `segment_plies` does not say."""


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
        player: PlaysLeases | None = None,
        *,
        learned: bool = False,
    ) -> None:
        """Prepare without starting a game.

        :param search: settings of every search; default: 64 simulations with noise.
        :param room: as in `Actors`.
        :param player: plays the leases; default: actors of this machine.
        :param learned: whether the player plans in a learned model, so that it plays long episodes
            of one seat in parts.
        """
        self.spec, self.config, self.seed = spec, config, seed
        self.first = spec.first() if encoding is None else spec.first().encoded(encoding)
        self.player = player or LeasePlayer(spec, config, seed, encoding, search, room)
        self.leases = Leases(config, self._guess)
        self.statistics = SelfPlayStatistics()
        """The statistics of the last step."""
        self.notes: list[str] = []
        """Sentences for the user, about games that were dropped."""
        self._auxiliary = offers_auxiliary(self.first)
        self._segment = config.segment_plies if learned and self.first.num_players == 1 else None

    def play(
        self,
        load: Load,
        step: int,
        newest: int | None = None,
        watch: Watch | None = None,
        *,
        last: bool = False,
    ) -> Sequence[GameRecord]:
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
        self.leases.plan(step, step - 1 if newest is None else newest)
        lease, *others = self.leases.planned
        played = self.player.play(lease, [] if last else others, load, watch)
        self.statistics = played.statistics
        self.statistics.add(played.games)
        self.notes += self.player.notes
        self.player.notes.clear()
        if played.dropped:
            self.statistics.dropped = len(played.dropped)
            self.notes.append(dropped_note(self.spec, played.dropped, len(played.games)))
        return self._records(lease.number, played)

    def _records(self, step: int, played: PlayedLease) -> Sequence[GameRecord]:
        """The games of a step as records; learn lengths and positions from them."""
        games = played.games
        records: Sequence[GameRecord] = games.records(step)
        if self._auxiliary and "episodes" not in games.columns:
            records = [with_auxiliary(record, self.first) for record in records]
        if self.config.restart_share:
            for number, record in zip(games["numbers"].tolist(), records, strict=True):
                self.leases.restarts.learn(number, record)
        length = self.statistics.positions / max(1, len(games))
        self.leases.over(length, played.unfinished)
        return records

    def _guess(self) -> float:
        """Estimated positions of a game, or of the part of it that a lease plays."""
        if self.spec.is_gymnasium:  # it may be slow: do not play it
            return (self._segment or LONG) / 2
        limits = [each for each in (self.config.max_plies, self._segment) if each is not None]
        return random_length(self.first, self.seed, min(limits, default=None))

    def stop(self) -> None:
        """Give up the games in progress; they can be played again."""
        self.player.stop()

    def state_dict(self) -> dict[str, Any]:
        """The state that the next step depends on, besides the settings: arrays and JSON values."""
        state = {"seats": self.first.num_players, **self.leases.state_dict()}
        player = self.player.state_dict()
        return state | {"player": player} if player else state

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
        self.player.load_state_dict(state.get("player", {}))
        dropped = len(state.get("numbers", ()))
        if dropped:
            self.notes.append(
                f"{dropped} games in progress are dropped: version 0.1 played a game with the "
                "networks of several steps, and now one network plays it."
            )
