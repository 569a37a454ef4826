"""Games of self-play side by side: who plays them, what was thought in them, when they end.

How a ply is noted, a record made of a game that is over and a new one begun in its place;
`planned.py` searches and moves them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import Rng
from sylvan.games.game import Game
from sylvan.muzero.diary import Diary
from sylvan.muzero.plies import Plies
from sylvan.muzero.resignation import Resignation
from sylvan.muzero.starts import Start, Starts
from sylvan.muzero.temperature import picked
from sylvan.muzero.unfinished import Unfinished
from sylvan.planning.outcomes import OVER, Outcomes
from sylvan.replay.record import GameRecord
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.ending import verdict
from sylvan.selfplay.statistics import OPENING, SelfPlayStatistics

__all__ = ["Places", "Shop"]

PLAY_ON = 1
"""The random stream of a game that decides whether it is played to the end."""


@dataclass
class Shop:
    """What the two halves of a step share."""

    config: SelfPlayConfig
    starts: Starts
    step: int
    example: NDArray[Any] | None
    """An observation, where records keep them."""
    statistics: SelfPlayStatistics = field(default_factory=SelfPlayStatistics)
    records: list[GameRecord] = field(default_factory=list)
    begun: int = 0
    """Positions whose search has begun."""
    faults: int = 0
    """Games that raised an error and were dropped."""

    def next_game(self, over: Game | None = None) -> tuple[Start, bool]:
        """The next game, and whether it is played to the end; `over` as in `Starts.begin`."""
        start = self.starts.next(self.example, over)
        self.statistics.restarts += start.restarted
        share = self.config.resign_play_on if self.config.resign_below is not None else 0.0
        return start, share > 0 and Rng(start.seed, PLAY_ON).uniform() < share

    def new_games(self, count: int, seats: int) -> Unfinished:
        """The next games, at least one."""
        games = [self.next_game() for _ in range(count)]
        rows = [(start.number, start.seed, play_on, start.plies) for start, play_on in games]
        return Unfinished.new(rows, seats)


class Places(ABC):
    """N games, each in its place.

    :param first: a state of the game, for what all of them have in common.
    """

    def __init__(
        self, shop: Shop, games: Unfinished, first: Game, rng: np.random.Generator
    ) -> None:
        self.shop, self.config, self.rng = shop, shop.config, rng
        self.numbers, self.seeds = games.numbers.copy(), games.seeds.copy()
        self.openings: dict[int, Plies] = {}
        """What led to the start of games that began in this step, where something did."""
        self.seats = first.num_players
        self.has_rewards = type(first).rewards is not Game.rewards
        self.diary = Diary(len(games), self.seats, shop.example)
        self.diary.put(games.lengths, games.plies)
        self.plies = games.lengths.copy()
        self.resignation = Resignation(self.config, first, len(games))
        self.resignation.play_on[:] = games.play_on
        self.resignation.would[:] = games.would_resign
        self.resignation.low[:] = games.low_turns
        self.full = True
        """Whether the search under way is one whose policy is learned."""

    def __len__(self) -> int:
        return len(self.plies)

    @abstractmethod
    def state(self, place: int) -> Game:
        """The game in a place, as it stands."""

    @abstractmethod
    def plant(self, place: int, state: Game) -> None:
        """Put another game in a place."""

    def _draw_full(self) -> None:
        """Decide whether the next search is full or fast.

        One draw for all games: batches stay full, and over many rounds each game has the same share
        of full searches as if it drew for itself.
        """
        share = self.config.full_share
        self.full = share >= 1 or self.rng.random() < share

    def _picked(self, found: Outcomes) -> NDArray[np.int64]:
        """`[N]` the actions to play after a search."""
        warm = self.plies < self.config.temperature_plies
        temperatures = np.where(warm, self.config.temperature, self.config.final_temperature)
        return picked(found, temperatures, self.rng.random(len(self)))

    def _note(self, found: Outcomes, actions: NDArray[np.int64], **columns: Any) -> None:
        """Note a ply of every game, what was thought before it and, in `columns`, what came of it;
        `present` says which games, if not all.
        """
        self.diary.add(
            offsets=found.offsets,
            policy_actions=found.actions,
            policy=found.policy,
            actions=actions,
            seats=found.seats,
            values=found.values,
            weights=np.float32(self.full),
            surprise=found.surprise,
            **columns,
        )
        self._count(found)
        self.plies += columns.get("present", 1)

    def _count(self, found: Outcomes) -> None:
        """Add a search of all games to the statistics."""
        statistics = self.shop.statistics
        statistics.positions += len(self)
        statistics.simulations += int(found.simulations.sum())
        if self.full:
            likely = found.policy[found.policy > 0].astype(np.float64)
            statistics.full += len(self)
            statistics.entropy -= float((likely * np.log(likely)).sum())
            statistics.surprise += float(found.surprise.sum(dtype=np.float64))

    def _at_limit(self) -> NDArray[np.bool_]:
        """`[N]` games that have come to the move limit."""
        limit = math.inf if self.config.max_plies is None else self.config.max_plies
        return self.plies >= limit

    def _settle(
        self,
        turns: NDArray[np.int8],
        returns: NDArray[np.float32],
        resigned: NDArray[np.bool_],
        limited: NDArray[np.bool_],
    ) -> None:
        """Make records of games that are over, and begin others in their places.

        :param turns: as `Transitions.turns`, after chance has moved.
        :param resigned: `[N]` where a seat gives up.
        :param limited: `[N]` which are broken off.
        """
        places = np.flatnonzero((turns == OVER) | resigned | limited)
        for place, plies in zip(places.tolist(), self._take(places), strict=True):
            if turns[place] == OVER:
                self._end(place, plies, returns[place], "end")
            elif resigned[place]:
                self._end(place, plies, self.resignation.returns(place), "resign")
            else:
                self._end(place, plies, verdict(self.state(place), self.config.verdict), "limit")
            self._replace(place)

    def _take(self, places: NDArray[np.int64]) -> list[Plies]:
        """All plies of some games."""
        if not len(places):
            return []
        lengths, joined = self.diary.take(places)
        plies = joined.split(lengths)
        if self.openings:
            for i, place in enumerate(places.tolist()):
                if place in self.openings:
                    plies[i] = self.openings[place].then(plies[i])
        return plies

    def _end(self, place: int, plies: Plies, returns: NDArray[np.float32], ending: str) -> None:
        """Make a record of a game that is over."""
        shop = self.shop
        record = GameRecord(
            actions=plies.actions,
            seats=plies.seats,
            policy_offsets=plies.offsets,
            policy_actions=plies.policy_actions,
            policy=plies.policy,
            values=plies.values,
            weights=plies.weights,
            surprise=plies.surprise,
            returns=np.array(returns, np.float32),
            rewards=plies.rewards if self.has_rewards else None,
            observations=plies.observations,
            ending=ending,
            step=shop.step,
            seed=int(self.seeds[place]),
        )
        shop.records.append(record)
        shop.starts.learn(record)
        statistics = shop.statistics
        statistics.games += 1
        statistics.plies += len(plies)
        statistics.first_seat += float(returns[0])
        statistics.resignations += ending == "resign"
        statistics.limits += ending == "limit"
        statistics.openings.add(plies.actions[:OPENING].tobytes())
        loser = self.resignation.would[place]
        if ending != "resign" and loser >= 0:
            statistics.played_on += 1
            statistics.false_positives += bool(returns[loser] >= returns[1 - loser])

    def _next_game(self, place: int) -> tuple[Start, bool]:  # noqa: ARG002
        """The game to begin in a place."""
        return self.shop.next_game()

    def _replace(self, place: int) -> None:
        """Start a new game in place of one that is over."""
        start, play_on = self._next_game(place)
        self.plant(place, start.state)
        self.numbers[place], self.seeds[place] = start.number, start.seed
        self.openings.pop(place, None)
        if len(start.plies):
            self.openings[place] = start.plies
        self.diary.begin(place)
        self.plies[place] = len(start.plies)
        self.resignation.begin(place, play_on=play_on)

    def unfinished(self) -> Unfinished:
        """The games in progress, without their trees."""
        if self.openings:
            stretches = self._take(np.arange(len(self)))
            lengths = np.array([len(plies) for plies in stretches], np.int64)
            plies = Plies.joined(stretches)
        else:
            lengths, plies = self.diary.take(np.arange(len(self)))
        resignation = self.resignation
        return Unfinished(
            self.numbers,
            self.seeds,
            resignation.play_on,
            resignation.would,
            resignation.low,
            lengths,
            plies,
        )
