"""What a network should have said: values and policies from a game's record.

Every seat has a stream of rewards of its own. From the state before ply t on, a game of T plies
paid seat s

    z_t[s] = sum over k >= t of  discount**(k - t) * rewards_k[s]
           + discount**(T - t) * returns[s]

and with `td_steps` n, what came after n plies is taken from the search there instead:

    z_t[s] = sum of these n rewards + discount**n * values_{t+n}[s]

where that ply was searched; else from the next one that was. With `until_chance` a state is worth
what is paid until chance moves again: a round of cards, where the next one is dealt anew. Nothing
flips a sign, so extra turns, one seat and eight seats need no rule of their own. `value_mix` of the
target is the search's own value q of the position: less noise than one game's result, and less
truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sylvan.networks.header import ValueKind
from sylvan.replay.record import GameRecord
from sylvan.settings import Section

__all__ = [
    "GameHistory",
    "Target",
    "TargetConfig",
    "moves_left",
    "network_values",
    "outcomes",
    "value_targets",
]


class TargetConfig(Section):
    """What the value head learns; the policy head learns the search's policy as it is."""

    value_mix: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of the root's value q in the target, against the result z: q has less "
        "noise, but repeats the network's own mistakes",
    )
    td_steps: int | None = Field(
        default=None,
        ge=1,
        description="plies after which the search's value stands for the rest of the game; none: "
        "the game's result counts to its end",
    )
    until_chance: bool = Field(
        default=False,
        description="only what is paid until chance moves again counts: the round, in a game of "
        "cards whose searches see no further",
    )
    discount: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="what a payment is worth one ply later; the search's own discount, or the two "
        "pull apart",
    )


def outcomes(
    record: GameRecord,
    discount: float = 1.0,
    td_steps: int | None = None,
    until_chance: bool = False,
) -> NDArray[np.float32]:
    """`[T, S]` what each state went on to pay each seat: z above."""
    plies, seats = len(record), len(record.returns)
    if until_chance:
        return _until_chance(record, discount)
    if record.rewards is None and discount == 1 and td_steps is None:
        return np.tile(record.returns, (plies, 1))
    # What the game pays from every state on, its end included; exact in double precision.
    paid = np.empty((plies + 1, seats))
    paid[plies] = record.returns
    rewards = None if record.rewards is None else record.rewards.astype(np.float64)
    for ply in range(plies - 1, -1, -1):
        paid[ply] = discount * paid[ply + 1] + (0.0 if rewards is None else rewards[ply])
    if td_steps is None:
        return paid[:plies].astype(np.float32)
    # From the ply that is looked ahead to on, the search's value replaces what was paid.
    ahead = _next_searched(record)[np.minimum(np.arange(plies) + td_steps, plies)]
    values = np.concatenate([record.values, record.returns[None]]).astype(np.float64)
    later = np.power(discount, ahead - np.arange(plies))[:, None]
    return np.asarray(paid[:plies] + later * (values[ahead] - paid[ahead]), np.float32)


def _until_chance(record: GameRecord, discount: float) -> NDArray[np.float32]:
    """`[T, S]` what each state went on to pay until chance moved."""
    plies = len(record)
    paid = np.zeros((plies + 1, len(record.returns)))
    paid[plies] = record.returns
    for ply in range(plies - 1, -1, -1):
        if record.seats[ply] >= 0:
            reward = 0.0 if record.rewards is None else record.rewards[ply]
            paid[ply] = discount * paid[ply + 1] + reward
    return paid[:plies].astype(np.float32)


def _next_searched(record: GameRecord) -> NDArray[np.int64]:
    """`[T + 1]` for each ply the first from it on that was searched; T where none was."""
    plies = len(record)
    following = np.full(plies + 1, plies, np.int64)
    searched = record.searched
    following[searched] = searched
    return np.minimum.accumulate(following[::-1])[::-1]


def moves_left(record: GameRecord) -> NDArray[np.float32]:
    """`[T]` plies to the end from each state; -1 where the game was not played to its end."""
    left = np.arange(len(record), 0, -1, dtype=np.float32)
    return left if record.ending == "end" else np.full_like(left, -1)


def network_values(
    values: NDArray[np.float32], seats: NDArray[np.int8], kind: ValueKind
) -> NDArray[np.float32]:
    """Values per seat `[n, S]` as a network's value output shows them: see `NetworkOutput.value`.

    Args:
        values: what each seat gets.
        seats: `[n]` who is to move.
        kind: `wdl` gives `[n, 3]`, a value v being a win with probability v, else a draw; `scalar`
            `[n, 1]`; `seats` `[n, S]` with the seat to move first.

    >>> values, movers = np.array([[0.25, -0.25]] * 2, np.float32), np.array([0, 1], np.int8)
    >>> network_values(values, movers, "wdl").tolist()
    [[0.25, 0.75, 0.0], [0.0, 0.75, 0.25]]
    """
    order = (seats[:, None] + np.arange(values.shape[1])) % values.shape[1]
    rotated = np.take_along_axis(values, order, axis=1)
    if kind == "seats":
        return rotated
    if kind == "scalar":
        return rotated[:, :1]
    v = np.clip(rotated[:, 0], -1, 1)
    return np.stack([np.maximum(v, 0), 1 - np.abs(v), np.maximum(-v, 0)], axis=1)


def value_targets(record: GameRecord, config: TargetConfig, kind: ValueKind) -> NDArray[np.float32]:
    """`[n, width]` the value target of each searched ply.

    Result and root value are mixed as outputs, not as numbers: half a win and half a loss is not a
    draw.
    """
    plies = record.searched
    z = outcomes(record, config.discount, config.td_steps, config.until_chance)[plies]
    return mixed(z, record.values[plies], record.seats[plies], config.value_mix, kind)


def mixed(
    z: NDArray[np.float32],
    q: NDArray[np.float32],
    seats: NDArray[np.int8],
    mix: float,
    kind: ValueKind,
) -> NDArray[np.float32]:
    """`[n, width]` a network's target from results and root values, both `[n, S]`."""
    target = network_values(z, seats, kind)
    if mix:
        target = (1 - mix) * target + mix * network_values(q, seats, kind)
    return target.astype(np.float32)


@dataclass(frozen=True)
class Target:
    """What a network should say about one state of a game."""

    value: NDArray[np.float32]
    """`[S]` per seat."""
    reward: NDArray[np.float32]
    """`[S]` what the ply before it paid; zeros at the start."""
    policy: NDArray[np.float32]
    """`[num_actions]`; zeros where nothing was searched, and past the end."""


@dataclass(frozen=True)
class GameHistory:
    """A record, asked for one state at a time, past its end too: for models that are unrolled."""

    record: GameRecord
    num_actions: int
    discount: float = 1.0

    @property
    def observations(self) -> NDArray[Any] | None:
        """`[T, ...]` what the seat to move saw; None where native rules make them again."""
        return self.record.observations

    @property
    def actions(self) -> NDArray[np.int32]:
        """`[T]`"""
        return self.record.actions

    @property
    def rewards(self) -> NDArray[np.float32]:
        """`[T, S]` what each ply paid."""
        paid = self.record.rewards
        return np.zeros_like(self.record.values) if paid is None else paid

    @property
    def values(self) -> NDArray[np.float32]:
        """`[T, S]` of the searches."""
        return self.record.values

    @property
    def to_play(self) -> NDArray[np.int8]:
        """`[T]` seats; -1 is chance."""
        return self.record.seats

    @property
    def policies(self) -> NDArray[np.float32]:
        """`[T, num_actions]`"""
        table = np.zeros((len(self.record), self.num_actions), np.float32)
        counts = np.diff(self.record.policy_offsets)
        table[np.repeat(np.arange(len(table)), counts), self.record.policy_actions] = (
            self.record.policy
        )
        return table

    def make_target(self, state: int, td_steps: int | None = None) -> Target:
        """The target of the state before ply `state`.

        Args:
            state: 0 to T, or later: a finished game stays as it is and pays nothing more.
            td_steps: plies until the search's value stands for what follows; None: to the end.
        """
        plies, seats = self.record.values.shape
        reward = np.zeros(seats, np.float32)
        if 0 < state <= plies:
            reward = self.rewards[state - 1]
        value, policy = np.zeros(seats, np.float32), np.zeros(self.num_actions, np.float32)
        if state == plies:
            value = self.record.returns
        if state < plies:
            value = outcomes(self.record, self.discount, td_steps)[state]
            policy[self.record.legal(state)] = self.record.target(state)
        return Target(value, reward, policy)
