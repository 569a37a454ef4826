"""Batches for an unrolled model: an observation, the next actions, and the targets of each state.

    replay = SequenceReplay(folder, spec, unroll=5, targets=TargetConfig(td_steps=5))
    batch = replay.sample(256, rng)

It is the replay of `sylvan.replay` (files, marks, window, priorities), read in segments. Value
targets are those of `sylvan.replay.targets`: with `td_steps`, n-step returns that bootstrap from
the search's value; without, the rest of the game's rewards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
"""Number of actions above which a batch's policies are sparse."""


@dataclass(frozen=True, eq=False)
class SequenceBatch:
    """B segments of K steps: states 0 to K; S seats, A actions."""

    observations: NDArray[Any]
    """`[B, ...]` of state 0, as the game gives them."""
    actions: NDArray[np.int64]
    """`[B, K]` from state k to k + 1; past the end random (absorbing states)."""
    value: Floats
    """`[B, K + 1, S]` value targets, the seat to move first; 0 past the end."""
    reward: Floats
    """`[B, K + 1, S]` reward of the step to state k, the seat that made it first; 0 in state 0."""
    policy: Floats
    """`[B, K + 1, A]` policy targets; zeros past the end. See `policy_actions`."""
    policy_weight: Floats
    """`[B, K + 1]` weight of the policy loss: 0 past the end and after a fast search."""
    alive: NDArray[np.bool_]
    """`[B, K + 1]` whether a seat moves in that state: false past the end."""
    known: NDArray[np.bool_]
    """`[B, K + 1]` whether value and reward are targets: false after a truncation and in random
    openings, which are not learned; true past the end, where both are 0."""
    following: NDArray[Any] | None
    """`[B, K, ...]` observations of states 1 to K, zeros past the end; None unless requested."""
    weight: Floats
    """`[B]` importance weight, at most 1, that corrects prioritised sampling."""
    positions: NDArray[np.int64]
    """`[B]` rows of the window, to update their priorities."""
    policy_actions: NDArray[np.int64] | None = None
    """`[B, K + 1, W]` the actions of sparse policies, whose probabilities are `policy`
    `[B, K + 1, W]`; padded with zeros. None for dense policies."""

    def __len__(self) -> int:
        return len(self.positions)

    def part(self, begin: int, end: int) -> SequenceBatch:
        """Some of its rows."""
        arrays: dict[str, Any] = {
            name: None if value is None else value[begin:end] for name, value in vars(self).items()
        }
        return SequenceBatch(**arrays)


class SequenceReplay(Replay):
    """The replay of a MuZero run.

    :param unroll: steps of a segment, K.
    :param following: whether batches contain the observations of later states too.
    :param lead_in: share of a batch that starts in random openings, if games have any.
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
        """Recomputes a share of the targets; None: off."""
        self._game = spec.first()

    def append(self, records: Sequence[GameRecord], together: int = 8) -> None:
        """Store games and add them to the window.

        :raises ReplayError: as `Replay.append`; or a ply after the first searched one was not
            searched, so a segment would have a gap.
        """
        for record in records:
            searched = record.searched
            if len(searched) and searched[-1] - searched[0] + 1 != len(searched):
                raise ReplayError(
                    "A record has unsearched plies between searched ones, but a model is unrolled "
                    "over consecutive plies: search every ply after the opening."
                )
            if len(record) and (not len(searched) or searched[-1] != len(record) - 1):
                raise ReplayError("A record's last ply was not searched: search it.")
        super().append(records, together)

    def sample(  # type: ignore[override]  # another kind of batch, for another learner
        self, count: int, rng: np.random.Generator
    ) -> SequenceBatch:
        """Draw segments from the window, with replacement.

        :param rng: draws the segments, the actions past their ends, and the symmetries.
        :raises ReplayError: nothing is stored yet.
        """
        return self._begin_sample(count, rng, early=False)()

    @property
    def early(self) -> int:
        """Batches to begin before the first of them is waited for: other machines search them."""
        return 0 if self.reanalyse is None else self.reanalyse.early

    def begin(self, count: int, rng: np.random.Generator) -> Callable[[], SequenceBatch]:
        """Draw segments as `sample`, and return a function that waits for the batch."""
        return self._begin_sample(count, rng, early=True)

    def _begin_sample(
        self, count: int, rng: np.random.Generator, *, early: bool
    ) -> Callable[[], SequenceBatch]:
        reanalyse = self.reanalyse
        with self._lock:
            rows = self._loaded()
            assert isinstance(rows, SegmentWindow)
            if rows.end == rows.begin:
                raise ReplayError(f"{self.folder} has no positions yet: play some games first.")
            drawn, lead, weight = self._draw_segments(rows, count, rng)
            found = rows.segments(drawn, self.unroll, lead)
            seen = self._observations(rows, found)
            again = [] if reanalyse is None else reanalyse.prepared(rows, found, self._maker)
        coming: Callable[[], Segments] | None = None
        if reanalyse is not None:
            seed = int(rng.integers(2**63))
            coming = reanalyse.targets(found, again, self._game, seed, early=early)
        past = rng.integers(self._game.num_actions, size=found.actions.shape)
        symmetries = len(self._maker.symmetries)
        turns = None if symmetries < 2 else rng.integers(symmetries, size=len(found.rows))

        def finish() -> SequenceBatch:
            segments = found if coming is None else coming()
            return self._turned(self._batch(segments, seen, weight, past), turns)

        return finish

    def _draw_segments(
        self, rows: SegmentWindow, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Draw rows, the plies to start before them, and weights; lead-in segments come last."""
        led = round(self.lead_in * count) if rows.has_openings else 0
        first, lead = rows.openings(self._begin(rows), led, self.unroll, rng)
        drawn, weight = self._drawn(rows, count - len(first), rng)
        return (
            np.concatenate([drawn, first]),
            np.concatenate([np.zeros_like(drawn), lead]),
            np.concatenate([weight, np.ones(len(first), np.float32)]),
        )

    def _observations(self, rows: SegmentWindow, found: Segments) -> NDArray[Any]:
        """`[B, 1, ...]` or `[B, K + 1, ...]` observations; zeros past the end."""
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
        self, found: Segments, seen: NDArray[Any], weight: Floats, past: NDArray[np.int64]
    ) -> SequenceBatch:
        """:param past: `[B, K]` the actions past the end."""
        num_actions, shape = self._game.num_actions, found.alive.shape
        codes = None
        if num_actions > MANY:
            codes, policy = found.policy.padded(found.alive.size)
            codes = codes.reshape(*shape, -1)
        else:
            policy = found.policy.dense(found.alive.size, num_actions)
        return SequenceBatch(
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
            positions=found.rows[:, 0] + found.lead,
        )

    def _turned(self, batch: SequenceBatch, drawn: NDArray[np.int64] | None) -> SequenceBatch:
        """Apply a symmetry to each segment, the same to all its states.

        :param drawn: `[B]` the symmetries; None: there is none.
        """
        if drawn is None:
            return batch
        symmetries = self._maker.symmetries
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
