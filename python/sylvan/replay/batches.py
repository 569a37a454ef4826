"""Batches: observations and targets of stored positions, as arrays.

Positions of native games are rebuilt in Rust from their moves; observations of Python games are
stored. A random symmetry of the game is applied to the observation and the policy of each row (data
augmentation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan import _native
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.replay.window import Picked

__all__ = ["Batch", "BatchMaker"]


@dataclass(frozen=True, eq=False)
class Batch:
    """B positions; L policy logits."""

    observations: NDArray[Any]
    """`[B, ...]` in the game's own format: packed planes in chess."""
    policy: NDArray[np.float32]
    """`[B, L]` target probabilities; they sum to 1 over legal actions."""
    legal: NDArray[np.bool_]
    """`[B, L]` mask of legal actions."""
    policy_weight: NDArray[np.float32]
    """`[B]` weight of the policy target: 0 after a fast search."""
    value: NDArray[np.float32]
    """`[B, 3 | 1 | S]` target, as in `NetworkOutput.value`; probabilities for `wdl`."""
    weight: NDArray[np.float32]
    """`[B]` importance weight of the row, at most 1; 1 without prioritised sampling."""
    moves_left: NDArray[np.float32] | None
    """`[B, 1]` plies to the end of the game; -1 if it was not played to its end."""
    positions: NDArray[np.int64]
    """`[B, 2]` record and ply of each row, for `update_priorities`; -1 if not from the replay."""
    auxiliary: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    """Auxiliary targets: name to `[B, ...]`."""
    from_file: NDArray[np.bool_] | None = None
    """`[B]` whether a row is of `learner.games`; None if there are none."""

    def __len__(self) -> int:
        return len(self.positions)

    def part(self, begin: int, end: int) -> Batch:
        """The rows from `begin` to `end`."""
        arrays: dict[str, Any] = {
            name: None if value is None else value[begin:end]
            for name, value in vars(self).items()
            if name != "auxiliary"
        }
        auxiliary = {name: value[begin:end] for name, value in self.auxiliary.items()}
        return Batch(**arrays, auxiliary=auxiliary)

    @classmethod
    def joined(cls, first: Batch, second: Batch) -> Batch:
        """The rows of both, which have the same arrays."""
        names = [each.name for each in fields(cls) if each.name != "auxiliary"]
        parts = ((getattr(first, name), getattr(second, name)) for name in names)
        arrays: dict[str, Any] = {
            name: None if own is None else np.concatenate([own, other])
            for name, (own, other) in zip(names, parts, strict=True)
        }
        auxiliary = {
            name: np.concatenate([own, second.auxiliary[name]])
            for name, own in first.auxiliary.items()
        }
        return cls(**arrays, auxiliary=auxiliary)


class BatchMaker:
    """Makes batches from rows of a window.

    :param spec: the game.
    :param encoding: encoding of observations and actions, if the game has several.
    :param symmetries: whether to apply the game's symmetries.
    :param threads: threads that rebuild positions.
    """

    def __init__(
        self,
        spec: GameSpec,
        encoding: Encoding | None = None,
        *,
        symmetries: bool = True,
        threads: int = 1,
    ) -> None:
        self._spec, self._encoding, self._threads = spec, encoding, threads
        self._game = spec.first().encoded(encoding) if encoding else spec.first()
        self.num_logits = self._game.num_logits
        self.symmetries = _symmetries(self._game) if symmetries else []
        """Maps of batches of observations, and permutations of actions; None is the identity."""
        self._starts = {"": self._game}

    def make(self, picked: Picked, weight: NDArray[np.float32], rng: np.random.Generator) -> Batch:
        """Make the batch of some rows; `rng` draws their symmetries."""
        if picked.observations is None:
            observations, policy, legal = self._remade(picked)
        else:
            observations, (policy, legal) = picked.observations, self._dense(picked)
        auxiliary = picked.auxiliary
        if len(self.symmetries) > 1:
            drawn = rng.integers(len(self.symmetries), size=len(observations))
            observations, policy, legal, auxiliary = self._turned(
                drawn, observations, policy, legal, auxiliary
            )
        return Batch(
            observations,
            policy,
            legal,
            picked.policy_weight,
            picked.value,
            weight,
            picked.moves_left[:, None],
            picked.positions,
            auxiliary,
        )

    def observed(self, picked: Picked) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Observations `[n, ...]` and masks of legal actions `[n, num_logits]`."""
        if picked.observations is None:
            nothing = replace(picked, target_end=picked.target_begin)
            observations, _, legal = self._remade(nothing)
            return observations, legal
        return picked.observations, self._dense(picked)[1]

    def _remade(
        self, picked: Picked
    ) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_]]:
        """Observations, policies and masks of legal actions of a native game."""
        starts = [self._starts.get(text) or self._first(text) for text in picked.starts]
        return _native.remake_positions(
            starts,
            picked.origin,
            picked.actions,
            picked.begin,
            picked.end,
            picked.target,
            picked.policy,
            picked.target_begin,
            picked.target_end,
            self._threads,
        )

    def _first(self, text: str) -> Game:
        state = self._spec.first(text)
        return state.encoded(self._encoding) if self._encoding else state

    def _dense(self, picked: Picked) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Policies and masks `[n, num_logits]` of a game in Python."""
        counts = picked.target_end - picked.target_begin
        rows = np.repeat(np.arange(len(counts)), counts)
        first = np.repeat(picked.target_begin - np.cumsum(counts) + counts, counts)
        entries = first + np.arange(len(rows))
        columns, weights = picked.target[entries], picked.policy[entries]
        totals = np.bincount(rows, weights, len(counts))
        policy = np.zeros((len(counts), self.num_logits), np.float32)
        legal = np.zeros(policy.shape, np.bool_)
        policy[rows, columns] = weights / totals[rows]
        legal[rows, columns] = True
        return policy, legal

    def _turned(
        self,
        drawn: NDArray[np.int64],
        observations: NDArray[Any],
        policy: NDArray[np.float32],
        legal: NDArray[np.bool_],
        auxiliary: dict[str, NDArray[np.float32]],
    ) -> tuple[
        NDArray[Any], NDArray[np.float32], NDArray[np.bool_], dict[str, NDArray[np.float32]]
    ]:
        """Apply symmetry `drawn[i]` to row i.

        Auxiliary targets with the shape of an observation are transformed too, others are not.
        """
        shape = observations.shape[1:]
        auxiliary = {
            name: array.copy() if array.shape[1:] == shape else array
            for name, array in auxiliary.items()
        }
        boards = [observations, *(a for a in auxiliary.values() if a.shape[1:] == shape)]
        for number, (turn, permutation) in enumerate(self.symmetries):
            rows = np.flatnonzero(drawn == number)
            if turn is None or not len(rows):
                continue
            for board in boards:
                board[rows] = turn(board[rows])
            for output in (policy, legal):
                turned = np.empty_like(output[rows])
                turned[:, permutation] = output[rows]
                output[rows] = turned
        return observations, policy, legal, auxiliary


_Turn = Callable[[NDArray[Any]], NDArray[Any]]


def _symmetries(game: Game) -> list[tuple[_Turn | None, NDArray[np.int64]]]:
    """A game's symmetries as maps of batches; the identity (None) is first.

    Empty if logits are not actions: then their permutation is unknown.
    """
    if game.num_logits != game.num_actions or game.encoding is not None:
        return []
    same = np.arange(game.num_actions)
    found: list[tuple[_Turn | None, NDArray[np.int64]]] = [(None, same)]
    for turn, given in game.symmetries():
        permutation = np.asarray(given, np.int64)
        if not np.array_equal(permutation, same):
            found.append((_over_rows(turn, native=isinstance(game, _NATIVE)), permutation))
    return found


_NATIVE = (_native.TicTacToe, _native.ConnectFour)


def _over_rows(one: _Turn, native: bool) -> _Turn:
    """A map of observations as a map of batches; native maps accept both."""
    return one if native else lambda rows: np.stack([one(row) for row in rows])
