"""The plies of a lease's games, in the order in which they are played, and then as columns.

Many games are played side by side, a ply of each at a time. The log takes the plies of a round as
arrays, whichever games they belong to; at the end of the lease one sort puts each game's plies
together. So a ply costs a few array operations shared by a whole round.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game
from sylvan.planning.outcomes import Outcomes
from sylvan.selfplay.game_columns import GameColumns

__all__ = ["UNFINISHED", "PlyLog"]

UNFINISHED = -1
"""The ending of a game that is not over, or was dropped."""

PLIES = ("actions", "seats", "counts", "weights", "surprise", "simulations", "values", "rewards")
"""The columns with a row per ply."""


class PlyLog:
    """Games `first` to `first + count`, of S seats."""

    def __init__(self, first: int, count: int, seats: int, *, observed: bool) -> None:
        """Start an empty log.

        :param observed: whether observations are kept.
        """
        self.seats, self.observed = seats, observed
        self.games: dict[str, NDArray[Any]] = {
            "numbers": np.arange(first, first + count, dtype=np.int64),
            "episodes": np.arange(first, first + count, dtype=np.int64),
            "seeds": np.zeros(count, np.uint64),
            "begins": np.zeros(count, np.int32),
            "openings": np.zeros(count, np.int32),
            "restarted": np.zeros(count, np.int8),
            "endings": np.full(count, UNFINISHED, np.int8),
            "resigning": np.full(count, -1, np.int8),
            "played_on": np.zeros(count, np.int8),
            "returns": np.zeros((count, seats), np.float32),
            "scores": np.zeros(count, np.float64),
            "seen": np.zeros(count, np.int64),
        }
        """Columns with a row per game. Beside those of `selfplay/columns.rs`: the game that began
        the episode, the plies of the episode before this part of it, its total reward for seat 0
        so far, and a checksum of the observation where it was cut."""
        self._which: list[NDArray[np.int64]] = []
        self._plies: dict[str, list[NDArray[Any]]] = {name: [] for name in PLIES}
        self._edges: dict[str, list[NDArray[Any]]] = {"policy_actions": [], "policy": []}
        self._observation_parts: list[NDArray[Any]] = []

    def add_opening(
        self, game: int, actions: list[int], seats: list[int], rewards: NDArray[np.float32]
    ) -> None:
        """Add plies of one game that nobody searched."""
        plies = len(actions)
        zeros = np.zeros(plies, np.float32)
        self._add(
            np.full(plies, game, np.int64),
            actions=np.array(actions, np.int32),
            seats=np.array(seats, np.int8),
            counts=np.zeros(plies, np.int32),
            weights=zeros,
            surprise=zeros,
            simulations=np.zeros(plies, np.int32),
            values=np.zeros((plies, self.seats), np.float32),
            rewards=rewards,
        )
        if self.observed:
            self._observation_parts.append(
                np.zeros((plies, 0))
            )  # widened when the observations are known

    def add(
        self,
        games: NDArray[np.int64],
        found: Outcomes,
        kept: NDArray[np.bool_],
        actions: NDArray[np.int64],
        rewards: NDArray[np.float32],
        observations: NDArray[Any],
        *,
        full: bool,
    ) -> None:
        """Add a ply of each of n games: its search, the action taken and its rewards.

        :param kept: `[n]` which games took an action; the others are not added.
        """
        counts = np.diff(found.offsets)
        self._add(
            games[kept],
            actions=actions[kept].astype(np.int32),
            seats=found.seats[kept],
            counts=counts[kept].astype(np.int32),
            weights=np.full(int(kept.sum()), full, np.float32),
            surprise=found.surprise[kept],
            simulations=found.simulations[kept].astype(np.int32),
            values=found.values[kept],
            rewards=rewards[kept],
        )
        edges = slice(None) if kept.all() else np.repeat(kept, counts)
        self._edges["policy_actions"].append(found.actions[edges])
        self._edges["policy"].append(found.policy[edges])
        if self.observed:
            self._observation_parts.append(observations[kept])

    def _add(self, games: NDArray[np.int64], **plies: NDArray[Any]) -> None:
        self._which.append(games)
        for name, column in plies.items():
            self._plies[name].append(column)

    def columns(self, first: Game) -> GameColumns:
        """All games that are over, in order of their numbers."""
        over = self.games["endings"] != UNFINISHED
        which = np.concatenate([np.zeros(0, np.int64), *self._which])
        order = np.argsort(which, kind="stable")
        order = order[over[which[order]]]
        plies = {name: _joined(column)[order] for name, column in self._plies.items() if column}
        if not plies:
            plies = {name: np.zeros(0, np.int64) for name in PLIES}
        counts = _joined(self._plies["counts"]) if self._plies["counts"] else np.zeros(0, np.int32)
        edges = _ranges(counts, order)
        policy = {
            name: _joined(column)[edges] if column else np.zeros(0, np.int64)
            for name, column in self._edges.items()
        }
        seen = self._observations()[order] if self.observed else np.zeros(0, np.float32)
        lengths = np.bincount(which, minlength=len(over)).astype(np.int32)[over]
        games = {name: column[over] for name, column in self.games.items()}
        columns = {"lengths": lengths, "observations": seen, **games, **plies, **policy}
        return GameColumns(columns, first)

    def _observations(self) -> NDArray[Any]:
        """The observations of all plies; zeros in openings."""
        known = [each for each in self._observation_parts if each.ndim != 2 or each.shape[1]]
        if not known:
            return np.zeros((sum(map(len, self._observation_parts)), 0))
        like = known[0]
        unseen = [
            np.zeros((len(each), *like.shape[1:]), like.dtype) for each in self._observation_parts
        ]
        seen = zip(self._observation_parts, unseen, strict=True)
        return np.concatenate([each if each.shape == zero.shape else zero for each, zero in seen])


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts)


def _ranges(counts: NDArray[np.int32], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The indices of the edges of some plies, in this order; ply t has `counts[t]` edges."""
    ends = np.cumsum(counts, dtype=np.int64)
    sizes = counts[order].astype(np.int64)
    starts = (ends - counts)[order]
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(starts, sizes) + inside
