"""How good a learned model is to plan with in an environment: what greedy episodes pay.

No noise, the best action of each search, the mean of all episodes with its 95 % interval.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import mix
from sylvan.games.naming import GameSpec
from sylvan.muzero.evaluation import LatentSide
from sylvan.muzero.search import greedy
from sylvan.planning import SearchConfig
from sylvan.training.arena import ArenaConfig
from sylvan.training.duel import Side

__all__ = ["EpisodeArena", "EpisodeRating", "Episodes", "play_episodes"]

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Episodes:
    """What some episodes came to."""

    returns: NDArray[np.float64]
    """`[N]` what each paid in all, as the environment counts it: neither clipped nor discounted."""
    lengths: NDArray[np.int64]
    """`[N]` steps."""

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean, by the spread of the returns."""
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
    """Let a player play so many episodes of one seat, all at once.

    :param seed: episode i begins with a seed that follows from this one and i.
    :param max_plies: after which an episode ends as it stands.
    :param watch: told the episodes that are over and how many there are.
    """
    states = [spec.episode(mix(seed, number)) for number in range(episodes)]
    totals, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    going = [number for number in range(episodes) if not states[number].is_terminal()]
    while going:
        seeds = [mix(mix(seed, number), int(lengths[number])) for number in going]
        actions = side.choose([states[number] for number in going], seeds)
        for number, action in zip(going, actions, strict=True):
            state = states[number]
            state.apply(int(action))
            lengths[number] += 1
            totals[number] += float(state.rewards()[0])
            if state.is_terminal():
                totals[number] += float(state.returns()[0])
        going = [
            number
            for number in going
            if not states[number].is_terminal()
            and (max_plies is None or lengths[number] < max_plies)
        ]
        if watch is not None:
            watch(episodes - len(going), episodes)
    # An environment's own count, where what is paid was clipped or scaled for learning.
    scores = [getattr(state, "score", total) for state, total in zip(states, totals, strict=True)]
    return Episodes(np.array(scores, np.float64), lengths)


@dataclass(frozen=True)
class EpisodeRating:
    """What a rating by episodes found."""

    step: int
    mean: float
    low: float
    high: float
    """The 95 % interval of the mean return."""
    length: float
    """Steps of an episode, mean."""
    is_best: bool
    seconds: float

    def numbers(self) -> dict[str, float]:
        """As the metrics log them."""
        return {
            "rating.return": self.mean,
            "rating.low": self.low,
            "rating.high": self.high,
            "rating.length": self.length,
            "seconds.arena": self.seconds,
        }


class EpisodeArena:
    """Rates the networks of one run by greedy episodes; the same ones each time.

    :param config: `games` is how many episodes, `simulations` those of each step, `max_plies` the
        longest episode; there is no opponent and no gate.
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
        self.means: dict[int, float] = {}
        """Mean return by step."""

    def rate(
        self,
        model: Any,
        step: int,
        previous: Mapping[int, Any] | None = None,  # noqa: ARG002
        watch: Watch | None = None,
    ) -> EpisodeRating:
        """Rate the network of a step: `Arena.rate`, without opponents."""
        began = time.perf_counter()
        found = play_episodes(
            self.spec,
            LatentSide(f"step-{step:06d}", model, self.search),
            self.config.games,
            mix(self.seed, 3),
            max_plies=self.config.max_plies,
            watch=None if watch is None else lambda over, count: watch("", over, count),
        )
        self.means[step] = found.mean
        is_best = self.best is None or found.mean >= self.means[self.best]
        if is_best:
            self.best = step
        self._write()
        low, high = found.interval
        length, seconds = float(found.lengths.mean()), time.perf_counter() - began
        return EpisodeRating(step, found.mean, low, high, length, is_best, seconds)

    def _write(self) -> None:
        if self.folder is None:
            return
        from sylvan.networks.checkpoint import write_bytes

        table = {
            "best": None if self.best is None else f"step-{self.best:06d}",
            "returns": {f"step-{step:06d}": mean for step, mean in self.means.items()},
        }
        write_bytes(self.folder / "ratings.json", (json.dumps(table, indent=1) + "\n").encode())

    def state_dict(self) -> dict[str, Any]:
        """The best step and all means, as plain values."""
        return {"best": self.best, "means": [[step, mean] for step, mean in self.means.items()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up the table where `state_dict` left it."""
        self.best = state["best"]
        self.means = {int(step): float(mean) for step, mean in state["means"]}
