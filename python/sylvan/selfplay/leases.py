"""Leases: the games of a step, and the network that plays them.

A lease is a range of game numbers. Step k stores the games of lease k, all of them played from
beginning to end by one network. With a `lag` of L, lease k + L is planned before step k: its
network is the newest of that time, the network of step k - 1, its number of games follows from the
lengths of the games of step k - 1, and its positions to start from are those stored by then. So the
games follow from the checkpoint of a step, never from timing, and lease k + 1 can begin while the
last games of lease k are being played.

The first L + 1 leases are played by the first network.

*Long episodes.* With a learned model, a lease plays at most `segment_plies` plies of an episode of
one seat. A later lease continues it (`Unfinished`) with its own network: its first games are the
episodes that were cut before it was planned, the oldest first; the others begin new ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sylvan._native import Rng, mix
from sylvan.games.game import Game
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.selfplay.game_columns import ENDINGS, GameColumns
from sylvan.selfplay.restarts import Position, Restarts, packed, unpacked

__all__ = ["Lease", "Leases", "Unfinished", "cut_episodes", "random_length"]

SEGMENT = ENDINGS.index("segment")

GUESSES = 8
"""Random games that estimate the length of a game before one has been played."""


@dataclass(frozen=True)
class Unfinished:
    """An episode that was cut, to be continued by another lease."""

    number: int
    """The game that began it; its seed and all random choices follow from this number."""
    actions: list[int]
    """All actions so far."""
    seen: int
    """A checksum of the observation after them: an environment that then shows another one does
    not repeat itself, and the episode is dropped."""


@dataclass(frozen=True)
class Lease:
    """Games `first` to `first + count`."""

    number: int
    """The step that stores its games."""
    network: int
    """The step whose network plays it; 0: the first network."""
    first: int
    count: int
    positions: list[Position] = field(default_factory=list)
    """Positions to start from."""
    unfinished: list[Unfinished] = field(default_factory=list)
    """Episodes that its first games continue."""


class Leases:
    """The leases of a run, planned a few steps ahead.

    :param guess: estimates the searched positions of a game.
    """

    def __init__(self, config: SelfPlayConfig, guess: Callable[[], float]) -> None:
        self.config = config
        self.planned: list[Lease] = []
        """The leases that are planned and not over, in order."""
        self.restarts = Restarts(config.restart_memory)
        self._next = 0
        """The first game that belongs to no lease yet."""
        self._unfinished: list[Unfinished] = []
        """Episodes that wait for a lease, the oldest first."""
        self._length = 0.0
        """Mean searched positions of the newest games; 0 before the first."""
        self._guess = guess

    def plan(self, step: int, newest: int) -> None:
        """Plan until lease `step + lag`, before step `step`; `newest` is the newest network."""
        while len(self.planned) <= self.config.lag:
            number = self.planned[-1].number + 1 if self.planned else step
            length = self._length or max(1.0, self._guess())
            count = max(1, round(self.config.positions / length))
            wanted = math.ceil(self.config.restart_share * count)
            positions = self.restarts.take(wanted) if wanted else []
            going_on, self._unfinished = self._unfinished[:count], self._unfinished[count:]
            self.planned.append(Lease(number, newest, self._next, count, positions, going_on))
            self._next += count

    def over(self, lengths: float, unfinished: Sequence[Unfinished] = ()) -> Lease:
        """Remove the first lease, whose games had a mean of `lengths` searched positions; other
        leases continue the unfinished episodes.
        """
        self._length = lengths
        self._unfinished += unfinished
        return self.planned.pop(0)

    def state_dict(self) -> dict[str, Any]:
        """The state for `load_state_dict`: arrays and JSON values."""
        positions = [each for lease in self.planned for each in lease.positions]
        lengths, actions = packed(positions)
        waiting = [each for lease in self.planned for each in lease.unfinished]
        waiting += self._unfinished
        episode_lengths, episode_actions = packed([each.actions for each in waiting])
        return {
            "games_started": self._next,
            "mean_positions": self._length,
            "leases": [
                [
                    *(lease.number, lease.network, lease.first, lease.count),
                    *(len(lease.positions), len(lease.unfinished)),
                ]
                for lease in self.planned
            ],
            "episodes": [[each.number, each.seen] for each in waiting],
            "episode_lengths": episode_lengths,
            "episode_actions": episode_actions,
            "lease_lengths": lengths,
            "lease_actions": actions,
            **self.restarts.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state from `state_dict`, or from a checkpoint of version 0.1, which has no
        leases.
        """
        self._next = int(state["games_started"])
        self._length = float(state.get("mean_positions", 0.0))
        self.restarts.load_state_dict(state)
        self.planned = []
        episodes = _episodes(state)
        if "leases" in state:
            found = unpacked(state["lease_lengths"], state["lease_actions"])
            positions = iter(found)
            for number, network, first, count, own, *continued in state["leases"]:
                mine = [next(positions).tolist() for _ in range(own)]
                going_on = [next(episodes) for _ in range(sum(continued))]
                self.planned.append(Lease(number, network, first, count, mine, going_on))
        self._unfinished = list(episodes)


def cut_episodes(lease: Lease, games: GameColumns) -> list[Unfinished]:
    """The episodes of a lease that other leases continue, from its games with a learned model."""
    found = []
    for game in np.flatnonzero(games["endings"] == SEGMENT).tolist():
        index = int(games["numbers"][game]) - lease.first
        before = lease.unfinished[index].actions if index < len(lease.unfinished) else []
        own = games["actions"][games.plies[game] : games.plies[game + 1]].tolist()
        number, seen = int(games["episodes"][game]), int(games["seen"][game])
        found.append(Unfinished(number, [*before, *own], seen))
    return found


def _episodes(state: dict[str, Any]) -> Iterator[Unfinished]:
    """The unfinished episodes of a `state_dict`, in order."""
    if "episodes" not in state:
        return
    actions = unpacked(state["episode_lengths"], state["episode_actions"])
    for (number, seen), own in zip(state["episodes"], actions, strict=True):
        yield Unfinished(number, own.tolist(), seen)


def random_length(first: Game, seed: int, most: int | None) -> float:
    """Mean choices of some random games, of at most `most` plies; those that raise do not count."""
    lengths = []
    for number in range(GUESSES):
        with suppress(Exception):  # self-play drops such games and reports them
            lengths.append(_random_game(first.clone(), Rng(mix(seed, number)), most))
    return float(np.mean(lengths)) if lengths else 1.0


def _random_game(state: Game, rng: Rng, most: int | None) -> int:
    """Play a random game; return its plies at which a seat had a choice."""
    plies = choices = 0
    while not state.is_terminal() and (most is None or plies < most):
        if state.is_chance():
            outcomes = state.chance_outcomes()
            action = outcomes[rng.pick([share for _, share in outcomes])][0]
        else:
            legal = list(state.legal_actions())
            action = legal[rng.below(len(legal))]
            choices += len(legal) > 1
        state.apply(int(action))
        plies += 1
    return choices
