"""Rate a learned model in an environment by the returns of greedy episodes.

Searches use no noise and take the best action; the rating is the mean return with its 95 %
interval. An episode whose environment raises an exception is dropped and counted.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import mix
from sylvan.errors import GameContractError, SylvanError
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.muzero.evaluation import LatentSide
from sylvan.muzero.search import greedy
from sylvan.muzero.turns import own_score
from sylvan.planning import LatentModel, SearchConfig
from sylvan.ratings.arena import ArenaConfig, arena_settings
from sylvan.ratings.duel import Side
from sylvan.ratings.pairings import Pairing, PlayedPairing, PlaysPairings

__all__ = ["EpisodeArena", "EpisodeRating", "Episodes", "play_episodes"]

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Episodes:
    """The results of some episodes."""

    returns: NDArray[np.float64]
    """`[N]` total reward of each, neither clipped nor discounted."""
    lengths: NDArray[np.int64]
    """`[N]` steps."""
    dropped: int = 0
    """Number of further episodes whose environment raised an exception; they are not included."""

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @classmethod
    def of(cls, spec: GameSpec, played: PlayedPairing) -> Episodes:
        """The episodes that were not dropped.

        :raises GameContractError: all were.
        """
        kept = ~played.columns["dropped"]
        if played.error and not kept.any():
            raise GameContractError(
                f"{spec.name} raised {played.error}, as did all {len(kept)} episodes of a rating: "
                "fix the environment; the run then resumes from its last step."
            )
        scores, lengths = played.columns["score"][kept], played.columns["length"][kept]
        return cls(scores.astype(np.float64), lengths, int((~kept).sum()))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean, from the standard deviation of the returns."""
        count = len(self.returns)
        if count < 2:
            return -math.inf, math.inf
        half = 1.96 * float(self.returns.std(ddof=1)) / math.sqrt(count)
        return self.mean - half, self.mean + half


def play_episodes(
    spec: GameSpec,
    side: Side,
    episodes: int,
    seed: int = 0,
    *,
    max_plies: int | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Episodes:
    """Play `episodes` episodes of one seat in parallel.

    :param seed: the seed of episode i depends on this one and i.
    :param max_plies: truncate an episode after this many steps.
    :param watch: called with the number of finished episodes and the total.
    :raises GameContractError: every episode raised an exception.
    """
    seeds = [mix(seed, number) for number in range(episodes)]
    return Episodes.of(spec, _played(spec, side, seeds, max_plies=max_plies, watch=watch))


def _played(
    spec: GameSpec,
    side: Side,
    seeds: Sequence[int],
    *,
    max_plies: int | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> PlayedPairing:
    """Play an episode of each seed."""
    episodes = len(seeds)
    states: dict[int, Game] = {}
    totals, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    errors: dict[int, Exception] = {}
    for number in range(episodes):
        with _dropped(errors, number):
            states[number] = spec.episode(seeds[number])
    running = [number for number, state in states.items() if not state.is_terminal()]
    while running:
        drawn = [mix(seeds[number], int(lengths[number])) for number in running]
        actions = side.choose([states[number] for number in running], drawn)
        for number, action in zip(running, actions, strict=True):
            with _dropped(errors, number):
                totals[number] += _step(states[number], int(action))
            lengths[number] += 1
        running = [
            number
            for number in running
            if number not in errors
            and not states[number].is_terminal()
            and (max_plies is None or lengths[number] < max_plies)
        ]
        if watch is not None:
            watch(episodes - len(running), episodes)
    dropped = np.array([number in errors for number in range(episodes)])
    for number in np.flatnonzero(~dropped).tolist():
        # Prefer the environment's own total, because rewards may be clipped or scaled for learning.
        totals[number] = own_score(states[number], totals[number])
    error = errors[min(errors)] if errors else None
    return PlayedPairing(
        {"score": totals, "length": lengths, "dropped": dropped},
        "" if error is None else f"{type(error).__name__} ({error})",
    )


@contextmanager
def _dropped(errors: dict[int, Exception], number: int) -> Iterator[None]:
    """Record an exception of an episode's environment; re-raise errors that concern all."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SylvanError) and not isinstance(error, GameContractError):
            raise
        errors[number] = error


def _step(state: Game, action: int) -> float:
    """Apply an action in place; return its reward, plus the return if the episode ended."""
    state.apply(action)
    reward = float(state.rewards()[0])
    return reward + float(state.returns()[0]) if state.is_terminal() else reward


@dataclass(frozen=True)
class EpisodeRating:
    """The result of a rating by episodes."""

    step: int
    mean: float
    low: float
    high: float
    """The 95 % interval of the mean return."""
    length: float
    """Mean number of steps of an episode."""
    best_step: int
    """The step of the run's best network."""
    best_mean: float
    """Its mean return."""
    is_best: bool
    seconds: float
    dropped: int = 0
    """Number of episodes dropped because their environment raised an exception."""

    def numbers(self) -> dict[str, float]:
        """The figures by their names in the metrics."""
        return {
            "rating.return": self.mean,
            "rating.low": self.low,
            "rating.high": self.high,
            "rating.best": self.best_mean,
            "rating.best_step": float(self.best_step),
            "rating.length": self.length,
            "rating.dropped": float(self.dropped),
            "seconds.arena": self.seconds,
        }


class EpisodeArena:
    """Rates the networks of one run by greedy episodes, with the same seeds each time.

    :param config: `games` is the number of episodes, `simulations` that of each step, `max_plies`
        the maximum length; there are no opponents and no gate.
    """

    def __init__(
        self,
        spec: GameSpec,
        config: ArenaConfig,
        seed: int,
        folder: Path | None = None,
        search: SearchConfig | None = None,
    ) -> None:
        self.spec, self.config, self.seed, self.folder = spec, config, seed, folder
        self.search = greedy(search or SearchConfig()).replace(simulations=config.simulations)
        self.best: int | None = None
        """The step of the best network so far."""
        self.elsewhere: PlaysPairings[LatentModel] | None = None
        """Other machines that play episodes; None: there are none."""
        self.means: dict[int, float] = {}
        """Mean return by step."""

    def rate(
        self,
        model: LatentModel,
        step: int,
        previous: Mapping[int, Callable[[], LatentModel]] | None = None,  # noqa: ARG002
        watch: Watch | None = None,
    ) -> EpisodeRating:
        """Rate the network of a step: `Arena.rate`, without opponents."""
        began = time.perf_counter()
        pairing = Pairing("", self.config.games, mix(self.seed, 3))
        played: dict[Pairing, PlayedPairing] = {}
        if self.elsewhere is not None:
            settings = arena_settings(self.config, self.seed, self.search)
            played = self.elsewhere.play_pairings(settings, step, model, {pairing: None}, watch)
        if pairing not in played:
            played[pairing] = self.play(pairing, self.side("", model), watch=watch)
        found = Episodes.of(self.spec, played[pairing])
        self.means[step] = found.mean
        is_best = self.best is None or found.mean >= self.means[self.best]
        if self.best is None or is_best:
            self.best = step
        self._write()
        low, high = found.interval
        length, seconds = float(found.lengths.mean()), time.perf_counter() - began
        return EpisodeRating(
            step=step,
            mean=found.mean,
            low=low,
            high=high,
            length=length,
            best_step=self.best,
            best_mean=self.means[self.best],
            is_best=is_best,
            seconds=seconds,
            dropped=found.dropped,
        )

    def side(self, name: str, model: LatentModel) -> Side:
        """A network as a player."""
        return LatentSide(name, model, self.search)

    def play(
        self,
        pairing: Pairing,
        side: Side,
        other: Side | None = None,  # noqa: ARG002
        first: int = 0,
        count: int | None = None,
        watch: Watch | None = None,
    ) -> PlayedPairing:
        """Play some episodes of a rating: `BaseArena.play`, without an opponent."""
        last = first + (pairing.games if count is None else count)
        return _played(
            self.spec,
            side,
            [mix(pairing.seed, number) for number in range(first, last)],
            max_plies=self.config.max_plies,
            watch=None if watch is None else lambda over, games: watch("", over, games),
        )

    def _write(self) -> None:
        if self.folder is None:
            return
        from sylvan.files import write_bytes

        table = {
            "best": None if self.best is None else f"step-{self.best:06d}",
            "returns": {f"step-{step:06d}": mean for step, mean in self.means.items()},
        }
        write_bytes(self.folder / "ratings.json", (json.dumps(table, indent=1) + "\n").encode())

    def state_dict(self) -> dict[str, Any]:
        """The best step and all means, as JSON values."""
        return {"best": self.best, "means": [[step, mean] for step, mean in self.means.items()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `state_dict`."""
        self.best = state["best"]
        self.means = {int(step): float(mean) for step, mean in state["means"]}
