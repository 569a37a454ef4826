"""Reanalyse: old games, searched again with the newest model (Schrittwieser 2021).

    replay.reanalyse = Reanalyse(model, config.muzero, config.search)

What was played stays; what was thought of it is thought again. A share of every batch gets, from
searches with the model as it is now,

- the policy target of every state of a stretch;
- with `td_steps` n, the value at which the rewards of n steps are continued; without, the game's
  result stays the target, and only the share `value_mix` of the root's value is a new one.

Where a game was broken off, the value that was given then stays: nobody kept what was seen there.

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
from sylvan.training.batches import BatchMaker

__all__ = ["Again", "FreshValues", "Reanalyse"]

WIDTH = 1024
"""Roots searched at once at most, so that their hidden states have room."""

Floats = NDArray[np.float32]


class Reanalyse:
    """Makes targets anew.

    :param model: as the actor's; whoever trains sees to it that it is the newest.
    :param config: `reanalyse` is the share of a batch.
    :param search: as that of self-play; but without noise, since nothing is played.
    """

    def __init__(self, model: Any, config: MuZeroConfig, search: SearchConfig) -> None:
        self.model, self.share = model, config.reanalyse
        self.search = search.replace(noise=False)

    def targets(self, again: Again, game: Game, seed: int) -> Stretches:
        """The stretches of a batch with what searches find now.

        :param game: any state of it.
        """
        found = list[Outcomes]()
        for number, start in enumerate(range(0, len(again.rows), WIDTH)):
            part = slice(start, start + WIDTH)
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
        return again.with_targets(policy, np.concatenate([each.values for each in found]))


class FreshValues(Reanalyse):
    """The same without searches: values are the network's own, policies stay as they are.

    One look at the states that targets are continued from costs a hundredth of searching them.
    """

    def __init__(self, model: Any, config: MuZeroConfig, search: SearchConfig) -> None:
        super().__init__(model, config, search)
        self.share = 1.0

    def targets(self, again: Again, game: Game, seed: int) -> Stretches:  # noqa: ARG002
        """The stretches of a batch with values that are continued from the network's."""
        said = _numbers(self.model.initial_inference(again.observations)[0])
        said = said.reshape(len(again.rows), -1)
        if said.shape[1] < game.num_players:  # of the seat to move alone: two of a zero-sum game
            said = np.concatenate([said, -said], axis=1)
        return again.with_values(turned_to(said, -again.seats % game.num_players))


def _numbers(array: Any) -> Floats:
    """A model's output in memory."""
    if hasattr(array, "detach"):
        array = array.detach().float().cpu().numpy()
    return np.asarray(array, np.float32)


class Again:
    """The states that the first `count` stretches of a batch need searched again.

    A value target contains what was thought in one or two places,

        target(s) = (1 - mix) * (rewards + discount**n * v(s + n)) + mix * v(s),

    so it changes by what is now thought there more or less than then.
    """

    def __init__(
        self, rows: StretchWindow, found: Stretches, count: int, maker: BatchMaker
    ) -> None:
        self._found, self._count, self._targets = found, count, rows.targets
        self._unroll = found.rows.shape[1] - 1
        steps = self._targets.td_steps or 0
        first = found.rows[:count, 0]
        states = first[:, None] + np.arange(self._unroll + steps + 1)
        wanted = states < rows.ends(first)[:, None]
        if steps > self._unroll:  # in between nothing is learned, and nothing continued from
            wanted[:, self._unroll + 1 : steps] = False
        self.rows, place = np.unique(states[wanted], return_inverse=True)
        """`[n]` the rows to search."""
        self.seats = rows.seats(self.rows)
        """`[n]` who moves there."""
        self.observations, self.legal = maker.observed(rows.pick(self.rows))
        """`[n, ...]` what they see, and `[n, A]` what they may do."""
        self._then = rows.roots(self.rows)
        self._wanted, self._place = wanted, np.zeros(states.shape, np.int64)
        self._place[wanted] = place.reshape(-1)

    def with_targets(self, policy: PolicyEntries, values: Floats) -> Stretches:
        """The batch's stretches with what was found in `rows`: policies, and values `[n, S]`."""
        found, states = self.with_values(values), slice(0, self._unroll + 1)
        alive, here = self._wanted[:, states], self._place[:, states]
        weight = found.policy_weight.copy()
        weight[: self._count] = alive
        fresh = policy.picked(here[alive], np.flatnonzero(alive))
        return replace(found, policy=found.policy.replaced(alive.size, fresh), policy_weight=weight)

    def with_values(self, values: Floats) -> Stretches:
        """The batch's stretches with values `[n, S]`, by seat, that are thought in `rows` now."""
        found, states = self._found, slice(0, self._unroll + 1)
        # Differences by seat, `[count, states, S]`; zero where nothing was searched.
        change = np.where(self._wanted[:, :, None], (values - self._then)[self._place], 0)
        share, steps = self._targets.value_mix, self._targets.td_steps
        moved = share * change[:, states]
        if steps is not None:
            moved += (1 - share) * self._targets.discount**steps * change[:, steps:]
        turned = turned_to(moved.astype(np.float32), found.seats[: self._count])
        value = found.value.copy()
        value[: self._count] += np.where(self._wanted[:, states, None], turned, 0)
        return replace(found, value=value)
