"""Reanalyse: recompute the targets of old games with the newest model (Schrittwieser 2021).

    replay.reanalyse = Reanalyse(model, config.muzero, config.search)

The moves stay; their targets are recomputed in two ways:

- `muzero.reanalyse`: search a share of every batch. Every state of a segment gets the new search's
  policy; with `td_steps` n, the new root value n steps later bootstraps the return; and a share
  `value_mix` of the target is the new root value.
- `muzero.fresh_values`: for the other rows, bootstrap from the model's value without a search. This
  is cheap, and replaces the poor values of a run's first networks.

The state after a truncation has no stored observation, so returns that bootstrap from it bootstrap
one step earlier, from a state that the model can evaluate. The values of games of several seats at
their move limit stay unchanged.

A call depends only on the model, the window and the random numbers; it keeps no state. The searches
of a batch are jobs, which other machines can do (`sylvan.cluster`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sylvan._native import mix
from sylvan.games.game import Game
from sylvan.muzero.config import MuZeroConfig
from sylvan.muzero.policies import PolicyEntries
from sylvan.muzero.search import latent_search
from sylvan.muzero.segments import Segments, SegmentWindow, from_seat
from sylvan.planning import LatentModel, SearchConfig
from sylvan.planning.model_arrays import Array, is_tensor
from sylvan.replay.batches import BatchMaker

__all__ = [
    "Reanalyse",
    "ReanalysedPart",
    "SearchColumns",
    "SearchJob",
    "SearchesElsewhere",
    "searched",
]

WIDTH = 1024
"""Most roots per search, to bound the memory of hidden states."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class SearchJob:
    """N positions to search, which follow from these arrays, the model and the settings alone."""

    observations: NDArray[Any]
    """`[N, ...]`"""
    legal: NDArray[np.bool_]
    """`[N, A]`"""
    seats: NDArray[Any]
    """`[N]` the seats to move."""
    seed: int


SearchColumns = dict[str, NDArray[Any]]
"""The results of a job: `counts` `[N]` actions per position, `actions` and `policy` of all of them,
and `values` `[N, S]`."""


@runtime_checkable
class SearchesElsewhere(Protocol):
    """Searches on other machines."""

    @property
    def batches_at_once(self) -> int:
        """Batches that keep them busy."""

    def search_elsewhere(
        self, search: SearchConfig, model: LatentModel, jobs: Sequence[SearchJob], /
    ) -> Callable[[], list[SearchColumns]] | None:
        """Begin some jobs; return a function that waits for their results.

        None: other machines cannot, or would give other results.
        """


def searched(model: LatentModel, game: Game, config: SearchConfig, job: SearchJob) -> SearchColumns:
    """Search the positions of a job here.

    :param game: any state of the game.
    """
    search = latent_search(model, game, config.replace(seed=job.seed))
    found = search.search(job.observations, job.legal, seats=job.seats).outcomes()
    return {
        "counts": np.diff(found.offsets),
        "actions": found.actions,
        "policy": found.policy,
        "values": found.values,
    }


def _joined(results: Sequence[SearchColumns]) -> tuple[PolicyEntries, Floats]:
    """Policies, and values per seat `[n, S]`, of several jobs."""
    counts, actions, policy, values = (
        np.concatenate([each[name] for each in results])
        for name in ("counts", "actions", "policy", "values")
    )
    return PolicyEntries.of(counts, actions, policy), values


class Reanalyse:
    """Recomputes targets.

    :param model: the actor's model; the learner keeps it up to date.
    :param config: `reanalyse` is the share of a batch that is searched; `fresh_values` evaluates
        the other rows with the model.
    :param search: the search of self-play, without root noise.
    """

    def __init__(self, model: LatentModel, config: MuZeroConfig, search: SearchConfig) -> None:
        self.model, self.share, self.fresh_values = model, config.reanalyse, config.fresh_values
        self.search = search.replace(noise=False)
        self.elsewhere: SearchesElsewhere | None = None
        """Other machines that search; None: there are none."""

    def prepared(
        self, rows: SegmentWindow, found: Segments, maker: BatchMaker
    ) -> list[ReanalysedPart]:
        """Read from the window the states to reanalyse for a batch: those to search come first."""
        # Lead-in segments come last and keep their targets.
        count = int(np.flatnonzero(found.lead)[0]) if found.lead.any() else len(found.rows)
        searched = round(self.share * count)
        looked_at = self.fresh_values and rows.targets.td_steps is not None
        parts = [(0, searched, True), (searched, count if looked_at else searched, False)]
        return [
            ReanalysedPart(rows, found, (begin, end), maker, searched=deep)
            for begin, end, deep in parts
            if end > begin
        ]

    def targets(
        self,
        found: Segments,
        again: list[ReanalysedPart],
        game: Game,
        seed: int,
        *,
        early: bool = False,
    ) -> Callable[[], Segments]:
        """Begin to recompute targets; return a function that waits for the new segments.

        :param game: any state of the game.
        :param early: other batches begin before this one is waited for, so other machines may
            search; else this one does, at once.
        """
        jobs = [job for each in again if each.searched for job in each.jobs(seed)]
        coming = None
        if early and jobs and self.elsewhere is not None:
            coming = self.elsewhere.search_elsewhere(self.search, self.model, jobs)

        def finish() -> Segments:
            segments = found
            if coming is not None:
                results = coming()
            else:
                results = [searched(self.model, game, self.search, job) for job in jobs]
            for each in again:
                if not len(each.rows):
                    continue
                if each.searched:
                    segments = each.with_targets(segments, *_joined(results))
                else:
                    segments = each.with_targets(segments, None, self._valued(each, game))
            return segments

        return finish

    @property
    def early(self) -> int:
        """Batches to begin before the first of them is waited for."""
        return 0 if self.elsewhere is None else self.elsewhere.batches_at_once

    def _valued(self, again: ReanalysedPart, game: Game) -> Floats:
        """Evaluate n positions with the model; return values per seat `[n, S]`."""
        parts = [
            np.asarray(_on_processor(self.model.initial_inference(again.observations[part])[0]))
            for part in _parts(len(again.rows))
        ]
        values, seats = np.concatenate(parts).astype(np.float32), game.num_players
        values = values.reshape(len(values), -1)
        if values.shape[1] < seats:  # zero-sum: one value serves both seats
            values = np.concatenate([values, -values], axis=1)
        return from_seat(values, -again.seats.astype(np.int64) % seats)


class ReanalysedPart:
    """The states to reanalyse for some segments of a batch.

    A value target contains the values of one or two states,

        target(s) = (1 - mix) * (rewards + discount**n * v(s + n)) + mix * v(s),

    so it changes by the difference of the new and the old values there. In an episode of one seat
    that was truncated after ply T - 1, all s from T - n on bootstrap at T - 1, whose value was
    r(T - 1) + discount * (the value stored for T); and the target of T is (v(T - 1) - r(T - 1)) /
    discount.

    :param part: first and one past the last of the segments.
    :param searched: whether to search, for the policies and v(s) too; else evaluate v(s + n) only.
    """

    def __init__(
        self,
        rows: SegmentWindow,
        found: Segments,
        part: tuple[int, int],
        maker: BatchMaker,
        *,
        searched: bool,
    ) -> None:
        self.searched, self._part, self._targets = searched, slice(*part), rows.targets
        self._unroll = found.rows.shape[1] - 1
        steps = self._targets.td_steps or 0
        first = found.rows[self._part, 0]
        states = first[:, None] + np.arange(self._unroll + steps + 1)
        last = rows.ends(first) - 1
        self._plies = last + 1 - first
        """`[segments]` plies to the end of the record."""
        self._alive = states <= last[:, None]
        wanted = self._alive.copy()
        # States after the unrolled ones and before the bootstrap states are not needed.
        wanted[:, self._unroll + 1 if searched else 0 : steps] = False
        cut = rows.broken_off(first) & (self._plies <= self._unroll + steps)
        if found.value.shape[-1] > 1 or not steps:
            cut[:] = False
        states = np.concatenate([states, last[:, None]], axis=1)
        wanted = np.concatenate([wanted, cut[:, None]], axis=1)
        self._given = rows.given(last)
        self.rows, index = np.unique(states[wanted], return_inverse=True)
        """`[n]` the rows to reanalyse."""
        self.seats = rows.seats(self.rows)
        """`[n]` the seats to move."""
        if len(self.rows):
            self.observations, self.legal = maker.observed(rows.pick(self.rows))
            """`[n, ...]` observations, and `[n, A]` legal actions."""
        self._then = rows.roots(self.rows)
        self._wanted, self._index = wanted, np.zeros(states.shape, np.int64)
        self._index[wanted] = index.reshape(-1)

    def jobs(self, seed: int) -> Iterator[SearchJob]:
        """The searches of `rows`."""
        if len(self.rows):
            for number, part in enumerate(_parts(len(self.rows))):
                arrays = self.observations[part], self.legal[part], self.seats[part]
                yield SearchJob(*arrays, mix(seed, number))

    def with_targets(
        self, found: Segments, policy: PolicyEntries | None, values: Floats
    ) -> Segments:
        """Return the batch's segments with the new results of `rows`: policies, and values
        `[n, S]`.
        """
        states = slice(0, self._unroll + 1)
        alive = self._alive[:, states]
        # Differences per seat, `[segments, states, S]`; zero for states that were not evaluated.
        change = np.where(self._wanted[:, :, None], (values - self._then)[self._index], 0)
        share, steps = self._targets.value_mix, self._targets.td_steps
        moved = (share if self.searched else 0.0) * change[:, states]
        if steps is not None:
            moved += (1 - share) * self._targets.discount**steps * change[:, steps:-1]
        turned = from_seat(moved.astype(np.float32), found.seats[self._part])
        value = found.value.copy()
        value[self._part] += np.where(alive[:, :, None], turned, 0)
        if steps is not None:
            value[self._part] += self._before_cut(values, steps)
        if policy is None:
            return replace(found, value=value)
        weight = found.policy_weight.copy()
        weight[self._part] = alive
        fresh = policy.picked(self._index[:, states][alive], np.flatnonzero(alive))
        entries = found.policy.replaced(alive.size, fresh)
        return replace(found, value=value, policy=entries, policy_weight=weight)

    def _before_cut(self, values: Floats, steps: int) -> Floats:
        """Return `[segments, states, 1]` the change of values before and at a truncation."""
        now = values[self._index[:, -1:]] - self._given[:, None]
        state, plies = np.arange(self._unroll + 1), self._plies[:, None]
        reached = self._wanted[:, -1:] & (state + steps >= plies) & (state <= plies)
        later = self._targets.discount ** np.where(reached, plies - 1.0 - state, 0.0)
        share = np.where(state < plies, 1 - self._targets.value_mix, 1.0)  # nothing to mix with
        return np.where(reached[:, :, None], (share * later)[:, :, None] * now, 0)


def _parts(count: int) -> list[slice]:
    """Split `count` positions into parts that fit one call."""
    return [slice(start, start + WIDTH) for start in range(0, count, WIDTH)]


def _on_processor(array: Array) -> Array:
    """Move a model's output to the CPU."""
    return array.detach().cpu() if is_tensor(array) else array
