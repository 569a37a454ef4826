"""Finished games as columns: one array per quantity.

Game i has the plies `plies[i]:plies[i + 1]`; a searched ply t has the legal actions
`edges[t]:edges[t + 1]`. The columns of plies are declared in the core (`selfplay/columns.rs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game
from sylvan.replay.games import Games
from sylvan.replay.record import GameRecord

__all__ = ["ENDINGS", "GameColumns"]

ENDINGS = ("end", "limit", "resign", "segment")
"""The names of endings, by their numbers in the column `endings`. `segment`: the episode goes on in
another lease."""

RECORDED = ("end", "limit", "resign", "limit")
"""`GameRecord.ending` of each."""


class GameColumns:
    """N games of S seats with T plies in total.

    :param columns: the arrays by name, as the core gives them.
    :param first: the first state.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], first: Game) -> None:
        self.columns = dict(columns)
        seats = first.num_players
        for name in ("returns", "values", "rewards"):
            self.columns[name] = self.columns[name].reshape(-1, seats)
        self._has_rewards = type(first).rewards is not Game.rewards
        if self.columns["observations"].size and self.columns["observations"].ndim == 1:
            example = _example(first)
            seen = self.columns["observations"].reshape(-1, *example.shape)
            self.columns["observations"] = seen.astype(example.dtype, copy=False)

    def __len__(self) -> int:
        return len(self.columns["numbers"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The column of this name."""
        return self.columns[name]

    @cached_property
    def plies(self) -> NDArray[np.int64]:
        """`[N + 1]` where each game begins."""
        return _offsets(self["lengths"])

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """`[T + 1]` where the legal actions of each ply begin."""
        return _offsets(self["counts"])

    def record(self, game: int, step: int = 0) -> GameRecord:
        """One game as a record; its arrays are views."""
        return self.records(step)[game]

    def records(self, step: int = 0) -> Games:
        """All games as records, whose arrays are views."""
        observations = self["observations"]
        return Games(
            plies=self.plies,
            edges=self.edges,
            actions=self["actions"],
            seats=self["seats"],
            values=self["values"],
            weights=self["weights"],
            surprise=self["surprise"],
            policy_actions=self["policy_actions"],
            policy=self["policy"],
            returns=self["returns"],
            seeds=self["seeds"],
            steps=np.full(len(self), step),
            endings=[RECORDED[ending] for ending in self["endings"].tolist()],
            starts=[""] * len(self),
            rewarded=np.full(len(self), self._has_rewards),
            rewards=self["rewards"] if self._has_rewards else None,
            observations=observations if observations.size else None,
        )


def _example(first: Game) -> NDArray[Any]:
    """The observation of the first seat that moves, when chance takes its first outcomes."""
    state = first.clone()
    while state.is_chance():
        state.apply(state.chance_outcomes()[0][0])
    return np.asarray(state.observation())


def _offsets(counts: NDArray[Any]) -> NDArray[np.int64]:
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
