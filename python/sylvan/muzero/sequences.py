"""Batches for a model that is unrolled: a state, the actions after it, and what each should show.

    replay = SequenceReplay(folder, spec, unroll=5, targets=TargetConfig(td_steps=5))
    batch = replay.sample(256, rng)

It is the replay of `sylvan.replay` (files, marks, window, priorities) read in segments. Value
targets are those of `sylvan.replay.targets`: with `td_steps` the rewards of so many steps and
then the search's value; without, all that the game went on to pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ReplayError
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.muzero.reanalyse import Reanalyse
from sylvan.muzero.segments import Segments, SegmentWindow
from sylvan.replay.buffer import Replay
from sylvan.replay.config import ReplayConfig
from sylvan.replay.record import GameRecord
from sylvan.replay.targets import TargetConfig

__all__ = ["SequenceBatch", "SequenceReplay"]

Floats = NDArray[np.float32]

MANY = 512
"""Actions above which a batch's policies name those that they have probabilities of."""


@dataclass(frozen=True, eq=False)
class SequenceBatch:
    """B segments of K steps: states 0 to K; S seats, A actions."""

    observations: NDArray[Any]
    """`[B, ...]` of state 0, as the game gives them."""
    actions: NDArray[np.int64]
    """`[B, K]` from state k to k + 1; past the end any, drawn at random (absorbing states)."""
    value: Floats
    """`[B, K + 1, S]` what is still to come, the seat to move in that state first; 0 past the end.
    """
    reward: Floats
    """`[B, K + 1, S]` what the step to state k paid, the seat that made it first; 0 in state 0."""
    policy: Floats
    """`[B, K + 1, A]` the target; zeros past the end. With `policy_actions`, of those alone."""
    policy_weight: Floats
    """`[B, K + 1]` how much it counts: 0 past the end and after a fast search."""
    alive: NDArray[np.bool_]
    """`[B, K + 1]` whether a seat moves in that state: false past the end."""
    known: NDArray[np.bool_]
    """`[B, K + 1]` whether value and reward are known: false past where a game was broken off, and
    in random openings, of which nothing shall be learned; true past an end, where both are 0."""
    following: NDArray[Any] | None
    """`[B, K, ...]` observations of states 1 to K, zeros where nobody moves; None where nobody
    asked for them."""
    weight: Floats
    """`[B]` how much the row counts, at most 1: what makes up for prioritised sampling."""
    places: NDArray[np.int64]
    """`[B]` whose priority to update."""
    policy_actions: NDArray[np.int64] | None = None
    """`[B, K + 1, W]` where there are very many actions: those that `policy`, `[B, K + 1, W]`, has
    the probabilities of, filled up with zeros."""

    def __len__(self) -> int:
        return len(self.places)

    def part(self, begin: int, end: int) -> SequenceBatch:
        """Some of its rows."""
        arrays: dict[str, Any] = {
            name: None if value is None else value[begin:end] for name, value in vars(self).items()
        }
        return SequenceBatch(**arrays)


class SequenceReplay(Replay):
    """The games of a run that learns a model.

    :param unroll: steps of a segment, K.
    :param following: whether batches have the observations of later states too.
    :param lead_in: share of a batch that begins in random openings, where games have any.
    """

    _window_class = SegmentWindow

    def __init__(
        self,
        folder: str | PathLike[str],
        spec: GameSpec,
        config: ReplayConfig | None = None,
        *,
        targets: TargetConfig | None = None,
        encoding: Encoding | None = None,
        unroll: int = 5,
        following: bool = False,
        lead_in: float = 0.0,
    ) -> None:
        super().__init__(folder, spec, config, targets=targets, value="seats", encoding=encoding)
        self.unroll, self.following, self.lead_in = unroll, following, lead_in
        self.reanalyse: Reanalyse | None = None
        """Makes a share of the targets anew, if it is there."""
        self._game = spec.first()

    def append(self, records: Sequence[GameRecord], together: int = 8) -> None:
        """Store games and let them into the window.

        :raises ReplayError: as `Replay.append`; or plies that nobody searched follow one that
            somebody did, so that there is no segment to unroll.
        """
        for record in records:
            searched = record.searched
            if len(searched) and searched[-1] - searched[0] + 1 != len(searched):
                raise ReplayError(
                    "A record has plies without a search among those with one: a model is unrolled "
                    "over neighbouring plies, so search all after the opening."
                )
            if len(record) and (not len(searched) or searched[-1] != len(record) - 1):
                raise ReplayError("A record's last ply was not searched: search it.")
        super().append(records, together)

    def sample(  # type: ignore[override]  # another kind of batch, for another learner
        self, count: int, rng: np.random.Generator
    ) -> SequenceBatch:
        """Draw segments from the window, with replacement.

        :param rng: says which ones, the actions past their ends, and how symmetries fall.
        :raises ReplayError: nothing is stored yet.
        """
        reanalyse = self.reanalyse
        with self._lock:
            rows = self._loaded()
            assert isinstance(rows, SegmentWindow)
            if rows.end == rows.begin:
                raise ReplayError(f"{self.folder} has no positions yet: play some games first.")
            drawn, lead, weight = self._led(rows, count, rng)
            found = rows.segments(drawn, self.unroll, lead)
            seen = self._seen(rows, found)
            again = [] if reanalyse is None else reanalyse.prepared(rows, found, self._maker)
        if reanalyse is not None:
            found = reanalyse.targets(found, again, self._game, int(rng.integers(2**63)))
        return self._batch(found, seen, weight, rng)

    def _led(
        self, rows: SegmentWindow, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Rows, how many plies before them to begin, and weights; those that lead in come last."""
        led = round(self.lead_in * count) if rows.has_openings else 0
        first, lead = rows.openings(self._begin(rows), led, self.unroll, rng)
        drawn, weight = self._drawn(rows, count - len(first), rng)
        return (
            np.concatenate([drawn, first]),
            np.concatenate([np.zeros_like(drawn), lead]),
            np.concatenate([weight, np.ones(len(first), np.float32)]),
        )

    def _seen(self, rows: SegmentWindow, found: Segments) -> NDArray[Any]:
        """`[B, 1, ...]` or `[B, K + 1, ...]` what the seats saw; zeros where nobody moves."""
        states = self.unroll + 1 if self.following else 1
        alive = found.alive[:, :states]
        there = np.maximum(found.rows[:, :states], (found.rows[:, 0] + found.lead)[:, None])
        before = (there - found.rows[:, :states])[alive]
        observed, _ = self._maker.observed(rows.before(there[alive], before))
        if states == 1:
            return observed[:, None]
        seen = np.zeros((*alive.shape, *observed.shape[1:]), observed.dtype)
        seen[alive] = observed
        return seen

    def _batch(
        self, found: Segments, seen: NDArray[Any], weight: Floats, rng: np.random.Generator
    ) -> SequenceBatch:
        num_actions, shape = self._game.num_actions, found.alive.shape
        codes = None
        if num_actions > MANY:
            codes, policy = found.policy.padded(found.alive.size)
            codes = codes.reshape(*shape, -1)
        else:
            policy = found.policy.dense(found.alive.size, num_actions)
        past = rng.integers(num_actions, size=found.actions.shape)
        batch = SequenceBatch(
            observations=seen[:, 0],
            actions=np.where(found.alive[:, :-1], found.actions, past),
            value=found.value,
            reward=found.reward,
            policy=policy.reshape(*shape, -1),
            policy_actions=codes,
            policy_weight=found.policy_weight,
            alive=found.alive,
            known=found.known,
            following=seen[:, 1:] if self.following else None,
            weight=weight,
            places=found.rows[:, 0] + found.lead,
        )
        return self._turned(batch, rng)

    def _turned(self, batch: SequenceBatch, rng: np.random.Generator) -> SequenceBatch:
        """The segments as symmetries, one drawn for each, show them from beginning to end."""
        symmetries = self._maker.symmetries
        if len(symmetries) < 2:
            return batch
        drawn = rng.integers(len(symmetries), size=len(batch))
        observations, following = batch.observations.copy(), batch.following
        following = None if following is None else following.copy()
        actions, policy = batch.actions.copy(), batch.policy.copy()
        codes = None if batch.policy_actions is None else batch.policy_actions.copy()
        for number, (turn, permutation) in enumerate(symmetries):
            rows = np.flatnonzero(drawn == number)
            if turn is None or not len(rows):
                continue
            observations[rows] = turn(observations[rows])
            if following is not None:
                shape = following[rows].shape
                flat = following[rows].reshape(-1, *shape[2:])
                following[rows] = turn(flat).reshape(shape)
            actions[rows] = permutation[actions[rows]]
            if codes is not None:
                codes[rows] = permutation[codes[rows]]
                continue
            turned = np.empty_like(policy[rows])
            turned[:, :, permutation] = policy[rows]
            policy[rows] = turned
        return replace(
            batch,
            observations=observations,
            following=following,
            actions=actions,
            policy=policy,
            policy_actions=codes,
        )
