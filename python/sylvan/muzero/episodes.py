"""How good a learned model is to plan with in an environment: what greedy episodes pay.

No noise, the best action of each search, the mean of all episodes with its 95 % interval. An
episode whose environment raises an error is dropped and counted; the others go on.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
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
from sylvan.planning import SearchConfig
from sylvan.ratings.arena import ArenaConfig
from sylvan.ratings.duel import Side

__all__ = ["EpisodeArena", "EpisodeRating", "Episodes", "play_episodes"]

Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Episodes:
    """What some episodes came to."""

    returns: NDArray[np.float64]
    """`[N]` what each paid in all, as the environment counts it: neither clipped nor discounted."""
    lengths: NDArray[np.int64]
    """`[N]` steps."""
    dropped: int = 0
    """Further ones, whose environment raised an error: they count for nothing."""

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
    :raises GameContractError: every episode raised an error.
    """
    seeds = [mix(seed, number) for number in range(episodes)]
    states: dict[int, Game] = {}
    totals, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    faults: dict[int, Exception] = {}
    for number in range(episodes):
        with _dropped(faults, number):
            states[number] = spec.episode(seeds[number])
    going = [number for number, state in states.items() if not state.is_terminal()]
    while going:
        drawn = [mix(seeds[number], int(lengths[number])) for number in going]
        actions = side.choose([states[number] for number in going], drawn)
        for number, action in zip(going, actions, strict=True):
            with _dropped(faults, number):
                totals[number] += _paid(states[number], int(action))
            lengths[number] += 1
        going = [
            number
            for number in going
            if number not in faults
            and not states[number].is_terminal()
            and (max_plies is None or lengths[number] < max_plies)
        ]
        if watch is not None:
            watch(episodes - len(going), episodes)
    kept = [number for number in range(episodes) if number not in faults]
    if faults and not kept:
        error = faults[0]
        raise GameContractError(
            f"{spec.name} raised {type(error).__name__} ({error}); so did all of {episodes} "
            "episodes that were to rate a network: mend the environment. The run goes on from its "
            "last step."
        ) from error
    # An environment's own count, where what is paid was clipped or scaled for learning.
    scores = [getattr(states[number], "score", totals[number]) for number in kept]
    return Episodes(np.array(scores, np.float64), lengths[kept], len(faults))


@contextmanager
def _dropped(faults: dict[int, Exception], number: int) -> Iterator[None]:
    """Note what an episode's environment raises; what is wrong with all of them goes on."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SylvanError) and not isinstance(error, GameContractError):
            raise
        faults[number] = error


def _paid(state: Game, action: int) -> float:
    """Make a step in place; what it paid, and what the end does if it was the last."""
    state.apply(action)
    paid = float(state.rewards()[0])
    return paid + float(state.returns()[0]) if state.is_terminal() else paid


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
    dropped: int = 0
    """Episodes that count for nothing, because their environment raised an error."""

    def numbers(self) -> dict[str, float]:
        """As the metrics log them."""
        return {
            "rating.return": self.mean,
            "rating.low": self.low,
            "rating.high": self.high,
            "rating.length": self.length,
            "rating.dropped": float(self.dropped),
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
        return EpisodeRating(step, found.mean, low, high, length, is_best, seconds, found.dropped)

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
        """The best step and all means, as plain values."""
        return {"best": self.best, "means": [[step, mean] for step, mean in self.means.items()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up the table where `state_dict` left it."""
        self.best = state["best"]
        self.means = {int(step): float(mean) for step, mean in state["means"]}
