"""Rate the networks of a run: against yardsticks, against each other, on solved positions.

Every rating adds games of the newest network to the table of all results of the run: against fixed
yardsticks and against earlier networks, the best one first. The Elo of all of them is fitted to
the whole table (`rating.py`), so it varies less than one match, and late regression shows.

The *best* network is the one with the highest Elo, not the newest. With a `gate`, a network becomes
the best only by reaching that score against the previous best, and self-play uses the best network.
Mistake rates are reported, but do not select the best network: a test set that selects a network
can no longer measure it.
"""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from pydantic import Field

from sylvan._native import mix
from sylvan.evaluators import Evaluator
from sylvan.games.naming import GameSpec
from sylvan.games.solved import Mistakes
from sylvan.planning import SearchConfig
from sylvan.players.elo import elo_difference
from sylvan.ratings.duel import Side, duel
from sylvan.ratings.mistakes import mistake_rates
from sylvan.ratings.pairings import Pairing, PlayedPairing, PlaysPairings, RatingWatch
from sylvan.ratings.rating import Rated, Result, rate_all
from sylvan.ratings.yardsticks import PlayerSide, SearchSide, default_yardsticks, yardstick
from sylvan.settings import Section

__all__ = ["Arena", "ArenaConfig", "BaseArena", "Rating", "arena_settings"]


class ArenaConfig(Section):
    """When and how a run's networks are rated."""

    every: int = Field(
        10, ge=0, description="steps between ratings, which take time from learning; 0: no ratings"
    )
    games: int = Field(
        40, ge=2, description="games against each opponent, in pairs with seats swapped"
    )
    simulations: int = Field(
        32, ge=1, description="simulations per move; few keep ratings short and are equally fair"
    )
    yardsticks: tuple[str, ...] | None = Field(
        None,
        description="fixed opponents, which make runs comparable, such as rollout:simulations=100; "
        "none: chosen for the game",
    )
    opponents: int = Field(
        2, ge=0, description="earlier networks to play, the best first; they show late regression"
    )
    gate: float | None = Field(
        None,
        ge=0.5,
        lt=1.0,
        description="score that a new network needs against the best one to be used in self-play; "
        "none: the newest is always used, which learns faster",
    )
    opening_plies: int = Field(
        3, ge=0, description="random plies at the start of each game, so that games differ"
    )
    max_plies: int = Field(
        1000, ge=1, description="end a game after this many plies; equal totals are a draw"
    )
    positions: int = Field(
        200,
        ge=0,
        description="positions of each solved set to search for mistake rates; without search "
        "the network is tested on all of them; 0: no mistake rates",
    )


@dataclass(frozen=True)
class Rating:
    """The result of a rating."""

    step: int
    elo: float
    low: float
    high: float
    """The 95 % interval of `elo`, relative to the anchor."""
    scores: dict[str, float] = field(default_factory=dict)
    """Mean per game, from 0 to 1, against each opponent; `best` is the previous best network."""
    mistakes: dict[str, float] = field(default_factory=dict)
    """Mistake rates by test, such as `hard.network` and `hard.search`."""
    best_step: int = 0
    """The step of the run's best network."""
    best_elo: float = math.nan
    """Its Elo by all games until now."""
    is_best: bool = True
    """Whether this network is now the best of the run."""
    promoted: bool = True
    """Whether self-play uses it from now on; false only if it failed the gate."""
    seconds: float = 0.0

    def numbers(self) -> dict[str, float]:
        """The figures by their names in the metrics: `rating.elo`, `rating.score.random`, ..."""
        numbers = {"rating.elo": self.elo, "rating.low": self.low, "rating.high": self.high}
        numbers |= {"rating.best": self.best_elo, "rating.best_step": float(self.best_step)}
        numbers |= {f"rating.score.{name}": score for name, score in self.scores.items()}
        numbers |= {f"rating.mistakes.{name}": share for name, share in self.mistakes.items()}
        return numbers | {"seconds.arena": self.seconds}


NetworkT = TypeVar("NetworkT")
"""A network in use: an `Evaluator`, or a learned model."""


class BaseArena(ABC, Generic[NetworkT]):
    """Rates the networks of one run, and keeps all results.

    :param search: settings of the networks' searches; noise and simulations are replaced.
    :param folder: for `ratings.json`, the table of all networks; None: do not write it.
    """

    @abstractmethod
    def side(self, name: str, evaluator: NetworkT) -> Side:
        """A network as a player."""

    @abstractmethod
    def _mistake_rates(self, evaluator: NetworkT) -> dict[str, Mistakes]:
        """The network's mistakes on solved positions."""

    def __init__(
        self,
        spec: GameSpec,
        config: ArenaConfig,
        seed: int,
        folder: Path | None = None,
        search: SearchConfig | None = None,
    ) -> None:
        self.spec, self.config, self.seed, self.folder = spec, config, seed, folder
        self.search = (search or SearchConfig()).replace(
            simulations=config.simulations, noise=False, gumbel_scale=0.0, temperature=0.0
        )
        self.yardsticks = config.yardsticks
        if self.yardsticks is None:
            self.yardsticks = default_yardsticks(spec, config.simulations)
        self.results: list[Result] = []
        self.best: int | None = None
        """The step of the best network so far."""
        self.elsewhere: PlaysPairings[NetworkT] | None = None
        """Other machines that play pairings; None: there are none."""
        self._sides: dict[str, Side] = {}

    # --- rating -----------------------------------------------------------------------------

    def rate(
        self,
        evaluator: NetworkT,
        step: int,
        previous: Mapping[int, Callable[[], NetworkT]] | None = None,
        watch: RatingWatch | None = None,
    ) -> Rating:
        """Rate the network of a step.

        :param evaluator: the network's evaluator, whose weights must not change during the call.
        :param previous: loaders of earlier networks that still exist, by step.
        """
        began = time.perf_counter()
        name = network_name(step)
        self.results = [result for result in self.results if result.a != name]  # a repeated step
        pairings = self._pairings(previous or {}, step)
        played = {}
        if self.elsewhere is not None:
            played = self.elsewhere.play_pairings(self.settings, step, evaluator, pairings, watch)
        side, scores, against_best = self.side(name, evaluator), {}, None
        for pairing, load in pairings.items():
            if pairing not in played:
                other = None if load is None else self.side(pairing.opponent, load())
                played[pairing] = self.play(pairing, side, other, watch=watch)
            score = self._count(name, pairing, played[pairing])
            if pairing.network is not None and pairing.network == self.best:
                against_best = scores["best"] = score
            else:
                scores[pairing.opponent] = score
        self._close()
        rated = self.ratings()
        mine = rated.get(name, Rated(0.0, float("-inf"), float("inf")))
        is_best = self._is_best(mine, rated, against_best)
        if is_best:
            self.best = step
        self._write(rated)
        assert self.best is not None  # the first network is the best at first
        return Rating(
            step=step,
            elo=mine.elo,
            low=mine.low,
            high=mine.high,
            scores=scores,
            mistakes=self._mistakes(evaluator),
            best_step=self.best,
            best_elo=rated.get(network_name(self.best), mine).elo,
            is_best=is_best,
            promoted=is_best or self.config.gate is None,
            seconds=time.perf_counter() - began,
        )

    def _yardstick(self, text: str) -> Side:
        if text not in self._sides:
            self._sides[text] = yardstick(text, self.spec)
        return self._sides[text]

    def _close(self) -> None:
        """Stop external programs until the next rating."""
        for text, side in list(self._sides.items()):
            if isinstance(side, PlayerSide):
                side.close()
                del self._sides[text]

    def _opponents(self, previous: Mapping[int, object], step: int) -> list[int]:
        """Steps of the networks to play: the best, then the newest."""
        steps = sorted((other for other in previous if other < step), reverse=True)
        steps.sort(key=lambda other: other != self.best)
        return steps[: self.config.opponents]

    def _pairings(
        self, previous: Mapping[int, Callable[[], NetworkT]], step: int
    ) -> dict[Pairing, Callable[[], NetworkT] | None]:
        """The pairings of a step, with the loaders of their networks."""
        games, seed = self.config.games, mix(self.seed, step)
        found: dict[Pairing, Callable[[], NetworkT] | None] = {}
        for number, opponent in enumerate(self.yardsticks or ()):
            found[Pairing(opponent, games, mix(seed, number))] = None
        for number, other in enumerate(self._opponents(previous, step), start=100):
            pairing = Pairing(network_name(other), games, mix(seed, number), other)
            found[pairing] = previous[other]
        return found

    def play(
        self,
        pairing: Pairing,
        side: Side,
        other: Side | None = None,
        first: int = 0,
        count: int | None = None,
        watch: RatingWatch | None = None,
    ) -> PlayedPairing:
        """Play games of a pairing.

        :param other: the opponent, if it is a network.
        :param first: the first game.
        :param count: number of games; default: all.
        """
        name = pairing.opponent
        played = duel(
            self.spec,
            side,
            other or self._yardstick(name),
            pairing.games if count is None else count,
            pairing.seed,
            opening_plies=self.config.opening_plies,
            max_plies=self.config.max_plies,
            first=first,
            watch=None if watch is None else lambda over, games: watch(name, over, games),
        )
        return PlayedPairing({"score": np.array(played.scores)})

    def _count(self, name: str, pairing: Pairing, played: PlayedPairing) -> float:
        """Add the result of a pairing to the table and return the score."""
        scores = played.columns["score"].tolist()
        elo = elo_difference(*(scores.count(score) for score in (1.0, 0.5, 0.0)))
        self.results.append(Result(name, pairing.opponent, elo.wins, elo.draws, elo.losses))
        return elo.score

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the games, as JSON values."""
        return arena_settings(self.config, self.seed, self.search)

    def _is_best(self, mine: Rated, rated: Mapping[str, Rated], against_best: float | None) -> bool:
        if self.best is None:
            return True
        if self.config.gate is not None and against_best is not None:
            return against_best >= self.config.gate
        return mine.elo >= rated[network_name(self.best)].elo

    def _mistakes(self, evaluator: NetworkT) -> dict[str, float]:
        if not self.config.positions:
            return {}
        found = self._mistake_rates(evaluator)
        return {name.replace("/", "."): mistakes.rate for name, mistakes in found.items()}

    # --- the table --------------------------------------------------------------------------

    @property
    def anchor(self) -> str | None:
        """The player with Elo 0: the random one if it is a yardstick, else the first network."""
        if not self.results:
            return None
        return "random" if "random" in (self.yardsticks or ()) else self.results[0].a

    def ratings(self) -> dict[str, Rated]:
        """The ratings of all networks and yardsticks, fitted to all results so far."""
        return {} if self.anchor is None else rate_all(self.results, self.anchor)

    def _write(self, rated: Mapping[str, Rated]) -> None:
        if self.folder is None:
            return
        from sylvan.files import write_bytes

        table = {
            "anchor": self.anchor,
            "best": None if self.best is None else network_name(self.best),
            "ratings": {name: vars(rating) for name, rating in rated.items()},
            "results": [vars(result) for result in self.results],
        }
        write_bytes(self.folder / "ratings.json", (json.dumps(table, indent=1) + "\n").encode())

    # --- state ------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Results and the best step, as JSON values."""
        return {
            "results": [list(vars(result).values()) for result in self.results],
            "best": self.best,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `state_dict`."""
        self.results = [Result(*row) for row in state["results"]]
        self.best = state["best"]


def arena_settings(config: ArenaConfig, seed: int, search: SearchConfig) -> dict[str, Any]:
    """The settings of an arena's games, as JSON values: its parameters in another process."""
    return {
        "config": config.model_dump(mode="json"),
        "seed": seed,
        "search": search.model_dump(mode="json", exclude={"threads"}),
    }


class Arena(BaseArena[Evaluator]):
    """Rates networks that search with the game's rules."""

    def side(self, name: str, evaluator: Evaluator) -> Side:
        return SearchSide(name, evaluator, self.search)

    def _mistake_rates(self, evaluator: Evaluator) -> dict[str, Mistakes]:
        return mistake_rates(
            evaluator,
            self.spec,
            self.config.simulations,
            positions=self.config.positions,
            config=self.search,
        )


def network_name(step: int) -> str:
    """A network's name in the table.

    >>> network_name(12)
    'step-000012'
    """
    return f"step-{step:06d}"
