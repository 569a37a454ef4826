"""Fit a preset to a budget of minutes: measure what steps cost here, then choose settings.

A preset is written for its own budget and an idle machine. With another budget, on another machine
or for a game with slow rules it may leave room for a few steps and a single rating. `fit` keeps the
preset where its pace is right, and otherwise changes, in this order:

1. the threads: all cores only if they are faster, which they are not on a shared machine;
2. the network: smaller, while a step would have fewer than `ENOUGH` positions;
3. the simulations per move, likewise;
4. the positions per step, so that `STEPS` steps fit into the budget;
5. the parallel games, as many as end in a step of a run of `STEPS`;
6. the ratings: `RATINGS` of them in an eighth of the time.

Settings that the user gave stay as they are. The result is an ordinary configuration, saved in the
run's folder like any other, so a resumed run has the same settings; what was measured is saved
beside it.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sylvan._native import Rng
from sylvan.files import write_bytes
from sylvan.games.naming import GameSpec
from sylvan.games.optional import max_length_of
from sylvan.runs.config import TrainingConfig, differences
from sylvan.runs.figures import time_span
from sylvan.runs.rehearsal import Costs, rehearse
from sylvan.selfplay.leases import random_length

__all__ = ["FIT", "Fit", "can_fit", "fit"]

FIT = "fit.json"
"""The file in a run's folder that says what was measured and chosen."""

STEPS = 30
"""Steps that a budget should have room for; the machine may get slower, or games longer."""
RATINGS = (12, 10, 8)
"""Ratings of a run; fewer where they would have too few games."""
RATED = 0.125
"""Share of the time for ratings."""
ENOUGH = 1024
"""Positions per step below which a smaller network or a shorter search is better."""
MEASURING = 0.1
"""Share of the budget after which no more is measured."""
REHEARSED = 1.2
"""Seconds of self-play to measure with the chosen games."""
FASTER = 1.2
"""Factor by which another number of threads or another network must be faster to be chosen."""
LEAST_SIMULATIONS = 24
LEAST_POSITIONS = 16
LEAST_RATED = 4
"""Fewest games against each opponent of a rating."""
EPISODES = 8
"""Random episodes that estimate the length of an episode, at most."""
LEAST_PLIES = 100
"""Plies of an episode below which a rating would say nothing."""
LONGER = 1.25
"""A game between players, as a multiple of a random one."""

_SIZE = re.compile(r"([a-z]*)(\d+)x(\d+)")


@dataclass(frozen=True)
class Fit:
    """Settings chosen for a budget, and how."""

    config: TrainingConfig
    changes: dict[str, tuple[Any, Any]]
    """The settings that differ from the preset: `section.name` to both values."""
    costs: Costs
    length: float
    """Expected plies of a game."""
    steps: int
    """Expected steps."""
    ratings: int
    """Expected ratings."""
    seconds: float
    """Time that the measurement took."""

    @property
    def spent(self) -> float:
        """Seconds of the budget that are spent: at most half of it, so that steps remain."""
        return min(self.seconds, 30.0 * (self.config.run.minutes or 0.0))

    def sentences(self) -> list[str]:
        """The measurements and the chosen settings."""
        chosen, costs = self.config, self.costs
        positions, updates = 1 / costs.position(chosen), 1 / costs.update
        speed = f"{positions:,.0f} positions or {updates:,.0f} updates per second"
        text = (
            f"Fitted to {time_span(60 * (chosen.run.minutes or 0))}: {chosen.network.size} on "
            f"{_count(chosen.run.threads, 'core')}, {chosen.search.simulations} simulations, "
            f"{chosen.selfplay.games} games, {chosen.selfplay.positions:,} positions per step; "
            f"about {self.steps} steps"
        )
        if chosen.arena.every:
            text += f", a rating every {_count(chosen.arena.every, 'step')}".replace(" 1 ", " ")
        return [
            f"Measured for {self.seconds:.0f} s: {speed}; games of {self.length:.0f} plies.",
            f"{text}. Change it with --set, or name a --preset.",
        ]

    def save(self, folder: Path) -> None:
        """Write `fit.json`."""
        table = {
            "minutes": self.config.run.minutes,
            "costs": asdict(self.costs),
            "length": self.length,
            "steps": self.steps,
            "ratings": self.ratings,
            "seconds": self.seconds,
            "changes": {name: list(pair) for name, pair in self.changes.items()},
        }
        write_bytes(folder / FIT, (json.dumps(table, indent=1) + "\n").encode())


def can_fit(config: TrainingConfig) -> bool:
    """Whether the settings can be fitted: a budget of minutes alone, on a CPU.

    A GPU needs minutes to compile a network, and a batch size of its own: its presets stay.
    """
    run = config.resolved().run
    return run.minutes is not None and run.steps is None and run.device == "cpu"


def fit(config: TrainingConfig, given: Mapping[str, Mapping[str, Any]]) -> Fit:
    """Choose settings for a run's budget of minutes.

    :param config: the preset with the user's settings.
    :param given: the user's settings, section by section, which stay.
    """
    return _Fitting(config, given).fit()


class _Fitting:
    """The settings while they are being chosen."""

    def __init__(self, config: TrainingConfig, given: Mapping[str, Mapping[str, Any]]) -> None:
        self.began = time.perf_counter()
        self.given = given
        self.before = config.resolved()
        self.config = self.before
        assert config.run.minutes is not None
        self.budget = 60.0 * config.run.minutes
        self.length = self._length()
        self.may_set_threads = config.run.threads is None
        if self.may_set_threads:
            self._set("run", threads=1)
        self.costs = rehearse(self.config, self.length)

    def fit(self) -> Fit:
        self._choose_threads()
        self._choose_network()
        self._choose_pace()
        if not self.time_is_up:
            self._rehearse_the_pace()
            self._choose_pace()
        self._choose_ratings()
        return Fit(
            config=self.config,
            changes=differences(self.before, self.config),
            costs=self.costs,
            length=self.length,
            steps=self._steps(),
            ratings=-(-self._steps() // self.config.arena.every) if self.config.arena.every else 0,
            seconds=self.seconds,
        )

    # --- what is known ------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Seconds spent on measuring."""
        return time.perf_counter() - self.began

    @property
    def time_is_up(self) -> bool:
        return self.seconds > MEASURING * self.budget

    def _length(self) -> float:
        """Expected plies of a game: some more than of random ones. Episodes of an environment get
        longer with skill, up to the environment's limit.
        """
        config, spec = self.config, self.config.game.spec
        most = config.selfplay.max_plies or config.arena.max_plies
        own = max_length_of(spec.first())
        limit = min(most, own or most)
        if spec.is_gymnasium:
            return float(limit) if own else min(limit, 2 * episode_length(spec, limit))
        length = random_length(spec.first(), config.run.seed, limit)
        return max(1.0, min(limit, LONGER * length))

    def _left(self) -> float:
        """Seconds for playing and learning."""
        rated = RATED if self.config.arena.every else 0.0
        return self._rest * (1 - rated)

    @property
    def _rest(self) -> float:
        """Seconds of the budget that the measurement leaves."""
        return max(self.budget / 2, self.budget - self.seconds)

    def _step(self, costs: Costs, positions: int) -> float:
        """Seconds of a step without its rating."""
        return costs.step + positions * self._each(costs)

    def _affordable(self, costs: Costs) -> int:
        """Positions per step with which `STEPS` steps fit into the budget."""
        return int(max(0.0, self._left() / STEPS - costs.step) / self._each(costs))

    def _each(self, costs: Costs) -> float:
        """Seconds to search and to learn a position."""
        return costs.position(self.config) + costs.learned(self.config)

    def _steps(self) -> int:
        """Steps that fit into the budget."""
        return max(1, int(self._left() / self._step(self.costs, self.config.selfplay.positions)))

    def _is_free(self, section: str, name: str) -> bool:
        return name not in self.given.get(section, {})

    def _set(self, section: str, **settings: Any) -> None:
        changed = getattr(self.config, section).replace(**settings)
        self.config = self.config.replace(**{section: changed})

    @property
    def _wanted(self) -> int:
        """Positions per step that the network and the searches should leave room for."""
        return min(ENOUGH, self.before.selfplay.positions)

    # --- choices ------------------------------------------------------------------------------

    def _choose_threads(self) -> None:
        cores = len(os.sched_getaffinity(0))
        if not self.may_set_threads or os.getloadavg()[0] > cores / 2 or self.time_is_up:
            return  # on a busy machine, threads wait for each other
        one = self.config
        self._set("run", threads=cores)
        costs = rehearse(self.config, self.length, before=self.costs)
        positions = self.config.selfplay.positions
        if self._step(costs, positions) * FASTER < self._step(self.costs, positions):
            self.costs = costs
        else:
            self.config = one

    def _choose_network(self) -> None:
        """Take smaller networks while a step has too few positions; their costs are expected."""
        size = self.config.network.size
        while self._affordable(self.costs) < self._wanted and (less := smaller(size)):
            if not self._is_free("network", "size"):
                return
            # Small networks waste time outside of multiplications, hence the root.
            share = math.sqrt(weights(less) / weights(size))
            outside = 1 - self.costs.network
            expected = self.costs.replace(
                simulation=self.costs.simulation * (outside + self.costs.network * share),
                update=self.costs.update * share,
            )
            if self._affordable(expected) < FASTER * self._affordable(self.costs):
                return  # the rules take the time, not the network
            self.costs, size = expected, less
            self._set("network", size=size)

    def _rehearse_the_pace(self) -> None:
        """Measure the costs with the chosen network and games, for about a second."""
        chosen = self.config.selfplay
        positions = int(REHEARSED / self.costs.position(self.config))
        positions = min(chosen.positions, max(2 * chosen.games, positions))
        self.costs = rehearse(self.config, self.length, positions, self.costs)

    def _choose_pace(self) -> None:
        """Choose simulations, positions per step and parallel games."""
        self._set("search", simulations=self._simulations())
        if self._is_free("selfplay", "fast_simulations"):
            fast, most = self.before.selfplay.fast_simulations, self.config.search.simulations
            shorter = self.config.search.simulations != self.before.search.simulations
            fast = max(1, min(fast, most // 2)) if shorter and most else fast
            self._set("selfplay", fast_simulations=fast)
        if self._is_free("selfplay", "positions"):
            most = max(LEAST_POSITIONS, _round(self._affordable(self.costs)))
            self._set("selfplay", positions=min(self.before.selfplay.positions, most))
        if self._is_free("selfplay", "games"):
            most = self.before.selfplay.games
            positions = self._steps() * self.config.selfplay.positions
            games = _round(int(positions / (STEPS * self.length)))
            least = 8 if self.config.run.algorithm == "alphazero" else 2
            self._set("selfplay", games=min(most, max(least, games)))

    def _simulations(self) -> int | None:
        """Simulations per search: fewer if a step would have too few positions."""
        simulations = self.before.search.simulations
        if simulations is None or not self._is_free("search", "simulations"):
            return simulations
        self._set("search", simulations=simulations)
        fewer = simulations * self._affordable(self.costs) // self._wanted
        return min(simulations, max(LEAST_SIMULATIONS, fewer))

    def _intervals(self, steps: int) -> list[int]:
        """Steps between ratings, those to try first in front: the preset's, then fewer ratings."""
        every = self.config.arena.every
        if not self._is_free("arena", "every"):
            return [every]
        fewer = [max(1, steps // ratings) for ratings in RATINGS]
        return [every, *fewer] if every < fewer[0] else fewer

    def _choose_ratings(self) -> None:
        """Ratings often enough, and as short as their share of the time demands."""
        arena, steps = self.config.arena, self._steps()
        if not arena.every:
            return
        plies = min(self.length, arena.max_plies)
        for every in self._intervals(steps):
            seconds = RATED * self._rest / math.ceil(steps / every)
            solved = min(self.costs.solved, seconds / 3)
            games = (seconds - solved) / (self.costs.rated_ply * plies)
            if games >= (arena.games if every == arena.every else LEAST_RATED):
                break
        self._set("arena", every=every)
        if solved < self.costs.solved and self._is_free("arena", "positions"):
            self._set("arena", positions=int(arena.positions * solved / self.costs.solved))
        if self._is_free("arena", "games"):
            fewest = min(LEAST_RATED, arena.games)
            self._set("arena", games=min(arena.games, max(fewest, int(games) // 2 * 2)))
        self._shorten_ratings(games / self.config.arena.games, plies)

    def _shorten_ratings(self, affordable: float, plies: float) -> None:
        """Search less in ratings, and stop episodes early, if the fewest games take too long.

        :param affordable: share of a rating's games that its time allows.
        """
        arena = self.config.arena
        if affordable < 1 and self._is_free("arena", "simulations"):
            fewer = max(LEAST_SIMULATIONS // 2, int(arena.simulations * affordable))
            self._set("arena", simulations=min(arena.simulations, fewer))
            affordable *= arena.simulations / self.config.arena.simulations
        alone = self.config.game.spec.first().num_players == 1
        if alone and affordable < 1 and self._is_free("arena", "max_plies"):
            most = max(LEAST_PLIES, int(plies * affordable))
            self._set("arena", max_plies=min(arena.max_plies, most))


def episode_length(spec: GameSpec, most: int) -> float:
    """Mean steps of some random episodes of an environment; those that raise do not count."""
    lengths = []
    for seed in range(EPISODES):
        with suppress(Exception):  # self-play drops such episodes and reports them
            state, rng, steps = spec.episode(seed), Rng(seed), 0
            while not state.is_terminal() and steps < most:
                legal = list(state.legal_actions())
                state.apply(legal[rng.below(len(legal))])
                steps += 1
            lengths.append(steps)
        if sum(lengths) >= most:
            break
    return sum(lengths) / len(lengths) if lengths else float(most)


def smaller(size: str) -> str | None:
    """The next smaller network of the same kind, with less than half of the weights.

    >>> smaller("4x48"), smaller("mlp3x128"), smaller("2x16"), smaller("my.py:Network")
    ('3x32', 'mlp2x88', None, None)
    """
    found = _SIZE.fullmatch(size)
    if found is None:
        return None
    kind, depth, width = found[1], int(found[2]), int(found[3])
    less = f"{kind}{max(2, depth - 1)}x{max(16, -(-2 * width // 3 // 8) * 8)}"
    return None if less == size or width <= 16 else less


def weights(size: str) -> int:
    """A measure of a network's weights, to compare two sizes of one kind.

    >>> weights("4x48") / weights("2x48")
    2.0
    """
    found = _SIZE.fullmatch(size)
    return int(found[2]) * int(found[3]) ** 2 if found else 1


def _round(number: int) -> int:
    """Round down to two significant binary digits' worth: even, and easy to read.

    >>> [_round(number) for number in (7, 30, 1237, 4096)]
    [6, 30, 1216, 4096]
    """
    unit = 2 if number < 128 else 64
    return number // unit * unit


def _count(number: int | None, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
