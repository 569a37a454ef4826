"""Reanalyse: old games, thought through again by the newest model (Schrittwieser 2021).

    replay.reanalyse = Reanalyse(model, config.muzero, config.search)

What was played stays; what was thought of it is thought again, in two ways:

- `muzero.reanalyse`: a share of every batch is searched. Every state of a stretch gets the policy
  that a search finds now; with `td_steps` n, the rewards of n steps are continued by the value that
  a search finds there; and a share `value_mix` is the root's new value.
- `muzero.fresh_values`: the others are looked at. The rewards of n steps are continued by what the
  model says there without a search. That takes little, and ends the influence of values that the
  first networks of a run had guessed.

Where an episode was cut off, nobody kept what was seen: rewards that would be continued by the
value that was given there are continued a step sooner, by a value that can be asked for anew. What
games of several seats agreed upon at their move limit stays.

A call depends on the model, the window and the numbers drawn alone; nothing is kept between two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan._native import mix
from sylvan.games.game import Game
from sylvan.muzero.config import MuZeroConfig
from sylvan.muzero.policies import PolicyEntries
from sylvan.muzero.search import latent_search
from sylvan.muzero.stretches import Stretches, StretchWindow, turned_to
from sylvan.planning import SearchConfig
from sylvan.planning.outcomes import Outcomes
from sylvan.replay.batches import BatchMaker

__all__ = ["Again", "Reanalyse"]

WIDTH = 1024
"""Roots searched at once at most, so that their hidden states have room."""

Floats = NDArray[np.float32]


class Reanalyse:
    """Makes targets anew.

    :param model: as the actor's; whoever trains sees to it that it is the newest.
    :param config: `reanalyse` is the share of a batch that is searched, `fresh_values` says whether
        the others are looked at.
    :param search: as that of self-play; but without noise, since nothing is played.
    """

    def __init__(self, model: Any, config: MuZeroConfig, search: SearchConfig) -> None:
        self.model, self.share, self.fresh_values = model, config.reanalyse, config.fresh_values
        self.search = search.replace(noise=False)

    def prepared(self, rows: StretchWindow, found: Stretches, maker: BatchMaker) -> list[Again]:
        """What is to be thought again for a batch, read from the window: first the searched."""
        # Those that lead in come last, and stay as they are.
        count = int(np.flatnonzero(found.lead)[0]) if found.lead.any() else len(found.rows)
        searched = round(self.share * count)
        looked_at = self.fresh_values and rows.targets.td_steps is not None
        parts = [(0, searched, True), (searched, count if looked_at else searched, False)]
        return [
            Again(rows, found, (begin, end), maker, searched=deep)
            for begin, end, deep in parts
            if end > begin
        ]

    def targets(self, found: Stretches, again: list[Again], game: Game, seed: int) -> Stretches:
        """The stretches of a batch with what is thought now.

        :param game: any state of it.
        """
        for each in again:
            if not len(each.rows):
                continue
            if each.searched:
                found = each.with_targets(found, *self._searched(each, game, seed))
            else:
                found = each.with_targets(found, None, self._valued(each, game))
        return found

    def _searched(self, again: Again, game: Game, seed: int) -> tuple[PolicyEntries, Floats]:
        """What searches find in n positions: policies, and values by seat `[n, S]`."""
        found = list[Outcomes]()
        for number, part in enumerate(_parts(len(again.rows))):
            search = latent_search(self.model, game, self.search.replace(seed=mix(seed, number)))
            forest = search.search(
                again.observations[part], again.legal[part], seats=again.seats[part]
            )
            found.append(forest.outcomes())
        policy = PolicyEntries.of(
            np.concatenate([np.diff(each.offsets) for each in found]),
            np.concatenate([each.actions for each in found]),
            np.concatenate([each.policy for each in found]),
        )
        return policy, np.concatenate([each.values for each in found])

    def _valued(self, again: Again, game: Game) -> Floats:
        """What the model says of n positions: values by seat `[n, S]`."""
        said = [
            np.asarray(_on_processor(self.model.initial_inference(again.observations[part])[0]))
            for part in _parts(len(again.rows))
        ]
        values, seats = np.concatenate(said).astype(np.float32), game.num_players
        values = values.reshape(len(values), -1)
        if values.shape[1] < seats:  # of two seats one wins what the other loses
            values = np.concatenate([values, -values], axis=1)
        return turned_to(values, -again.seats.astype(np.int64) % seats)


class Again:
    """The states that some stretches of a batch need thought through again.

    A value target contains what was thought in one or two places,

        target(s) = (1 - mix) * (rewards + discount**n * v(s + n)) + mix * v(s),

    so it changes by what is now thought there more or less than then. In an episode of one seat
    that was cut off after ply T - 1, all s from T - n on are continued at T - 1, which was worth
    r(T - 1) + discount * (the value given at T); and T itself is (v(T - 1) - r(T - 1)) / discount.

    :param part: the first and one past the last of the stretches.
    :param searched: whether by searches, for the policies and v(s) too; else for v(s + n) alone.
    """

    def __init__(
        self,
        rows: StretchWindow,
        found: Stretches,
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
        """`[stretches]` plies to the end of the record."""
        self._alive = states <= last[:, None]
        wanted = self._alive.copy()
        # Between the states that are learned and those that are continued from is nothing to ask.
        wanted[:, self._unroll + 1 if searched else 0 : steps] = False
        cut = rows.broken_off(first) & (self._plies <= self._unroll + steps)
        if found.value.shape[-1] > 1 or not steps:
            cut[:] = False
        states = np.concatenate([states, last[:, None]], axis=1)
        wanted = np.concatenate([wanted, cut[:, None]], axis=1)
        self._given = rows.given(last)
        self.rows, place = np.unique(states[wanted], return_inverse=True)
        """`[n]` the rows to think about."""
        self.seats = rows.seats(self.rows)
        """`[n]` who moves there."""
        if len(self.rows):
            self.observations, self.legal = maker.observed(rows.pick(self.rows))
            """`[n, ...]` what they see, and `[n, A]` what they may do."""
        self._then = rows.roots(self.rows)
        self._wanted, self._place = wanted, np.zeros(states.shape, np.int64)
        self._place[wanted] = place.reshape(-1)

    def with_targets(
        self, found: Stretches, policy: PolicyEntries | None, values: Floats
    ) -> Stretches:
        """The batch's stretches with what was found in `rows`: policies, and values `[n, S]`."""
        states = slice(0, self._unroll + 1)
        alive = self._alive[:, states]
        # Differences by seat, `[stretches, states, S]`; zero where nothing was asked.
        change = np.where(self._wanted[:, :, None], (values - self._then)[self._place], 0)
        share, steps = self._targets.value_mix, self._targets.td_steps
        moved = (share if self.searched else 0.0) * change[:, states]
        if steps is not None:
            moved += (1 - share) * self._targets.discount**steps * change[:, steps:-1]
        turned = turned_to(moved.astype(np.float32), found.seats[self._part])
        value = found.value.copy()
        value[self._part] += np.where(alive[:, :, None], turned, 0)
        if steps is not None:
            value[self._part] += self._before_cut(values, steps)
        if policy is None:
            return replace(found, value=value)
        weight = found.policy_weight.copy()
        weight[self._part] = alive
        fresh = policy.picked(self._place[:, states][alive], np.flatnonzero(alive))
        entries = found.policy.replaced(alive.size, fresh)
        return replace(found, value=value, policy=entries, policy_weight=weight)

    def _before_cut(self, values: Floats, steps: int) -> Floats:
        """`[stretches, states, 1]` by how much values before and at a cut change."""
        now = values[self._place[:, -1:]] - self._given[:, None]
        state, plies = np.arange(self._unroll + 1), self._plies[:, None]
        reached = self._wanted[:, -1:] & (state + steps >= plies) & (state <= plies)
        later = self._targets.discount ** np.where(reached, plies - 1.0 - state, 0.0)
        share = np.where(state < plies, 1 - self._targets.value_mix, 1.0)  # nothing to mix with
        return np.where(reached[:, :, None], (share * later)[:, :, None] * now, 0)


def _parts(count: int) -> list[slice]:
    """Parts of so many positions, each small enough to be asked about at once."""
    return [slice(start, start + WIDTH) for start in range(0, count, WIDTH)]


def _on_processor(array: Any) -> Any:
    """An output of a model where NumPy can read it."""
    return array.detach().cpu() if hasattr(array, "detach") else array
