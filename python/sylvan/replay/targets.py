"""Value and policy targets from a game's record.

Each seat has its own rewards. In a game of T plies the return of seat s from the state before ply t
is

    z_t[s] = sum over k >= t of  discount**(k - t) * rewards_k[s]
           + discount**(T - t) * returns[s]

With `td_steps` n, the search's value after n plies replaces the rest of the game:

    z_t[s] = sum of these n rewards + discount**n * values_{t+n}[s]

If ply t + n was not searched, the next searched one is used. With `until_chance` the return ends
where chance moves again: the end of a round in a card game. No sign is flipped, so extra turns and
any number of seats work the same way. `value_mix` is the weight of the search's value q of the
position: it has less noise than the result, and more bias.
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
    """Settings of the value target; the policy target is the search's policy."""

    value_mix: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="weight of the root value q against the result z in the value target: q has "
        "less noise and more bias",
    )
    td_steps: int | None = Field(
        default=None,
        ge=1,
        description="plies after which the search's value replaces the rest of the game; none: use "
        "the game's result",
    )
    until_chance: bool = Field(
        default=False,
        description="count rewards only until chance moves again: the current round of a card game",
    )
    discount: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="discount per ply; use the same as in the search",
    )


def outcomes(
    record: GameRecord,
    discount: float = 1.0,
    td_steps: int | None = None,
    until_chance: bool = False,
) -> NDArray[np.float32]:
    """`[T, S]` return of each seat from each state: z above."""
    plies, seats = len(record), len(record.returns)
    if until_chance:
        return _until_chance(record, discount)
    if record.rewards is None and discount == 1 and td_steps is None:
        return np.tile(record.returns, (plies, 1))
    # Returns from every state, including the end; double precision.
    paid = np.empty((plies + 1, seats))
    paid[plies] = record.returns
    rewards = None if record.rewards is None else record.rewards.astype(np.float64)
    for ply in range(plies - 1, -1, -1):
        paid[ply] = discount * paid[ply + 1] + (0.0 if rewards is None else rewards[ply])
    if td_steps is None:
        return paid[:plies].astype(np.float32)
    # From ply `ahead` on, the search's value replaces the return.
    ahead = _next_searched(record)[np.minimum(np.arange(plies) + td_steps, plies)]
    values = np.concatenate([record.values, record.returns[None]]).astype(np.float64)
    later = np.power(discount, ahead - np.arange(plies))[:, None]
    return np.asarray(paid[:plies] + later * (values[ahead] - paid[ahead]), np.float32)


def _until_chance(record: GameRecord, discount: float) -> NDArray[np.float32]:
    """`[T, S]` return of each seat from each state until chance moves."""
    plies = len(record)
    paid = np.zeros((plies + 1, len(record.returns)))
    paid[plies] = record.returns
    for ply in range(plies - 1, -1, -1):
        if record.seats[ply] >= 0:
            reward = 0.0 if record.rewards is None else record.rewards[ply]
            paid[ply] = discount * paid[ply + 1] + reward
    return paid[:plies].astype(np.float32)


def _next_searched(record: GameRecord) -> NDArray[np.int64]:
    """`[T + 1]` the next searched ply at or after each ply; T if there is none."""
    plies = len(record)
    following = np.full(plies + 1, plies, np.int64)
    searched = record.searched
    following[searched] = searched
    return np.minimum.accumulate(following[::-1])[::-1]


def moves_left(record: GameRecord) -> NDArray[np.float32]:
    """`[T]` plies to the end from each state; -1 if the game was not played to its end."""
    left = np.arange(len(record), 0, -1, dtype=np.float32)
    return left if record.ending == "end" else np.full_like(left, -1)


def network_values(
    values: NDArray[np.float32], seats: NDArray[np.int8], kind: ValueKind
) -> NDArray[np.float32]:
    """Values per seat `[n, S]` in the format of `NetworkOutput.value`.

    Args:
        values: `[n, S]` per seat.
        seats: `[n]` the seat to move.
        kind: `wdl` gives `[n, 3]`, where v is a win with probability v, else a draw; `scalar`
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

    Result and root value are mixed as distributions: half a win and half a loss is not a draw.
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
    """`[n, width]` value targets from results z and root values q, both `[n, S]`."""
    target = network_values(z, seats, kind)
    if mix:
        target = (1 - mix) * target + mix * network_values(q, seats, kind)
    return target.astype(np.float32)


@dataclass(frozen=True)
class Target:
    """The targets of one state of a game."""

    value: NDArray[np.float32]
    """`[S]` per seat."""
    reward: NDArray[np.float32]
    """`[S]` reward of the previous ply; zeros at the start."""
    policy: NDArray[np.float32]
    """`[num_actions]`; zeros if not searched, and after the end."""


@dataclass(frozen=True)
class GameHistory:
    """Targets of a record state by state, also after its end: for unrolled models."""

    record: GameRecord
    num_actions: int
    discount: float = 1.0

    @property
    def observations(self) -> NDArray[Any] | None:
        """`[T, ...]` for the seat to move; None if the rules are native."""
        return self.record.observations

    @property
    def actions(self) -> NDArray[np.int32]:
        """`[T]`"""
        return self.record.actions

    @property
    def rewards(self) -> NDArray[np.float32]:
        """`[T, S]` reward of each ply."""
        paid = self.record.rewards
        return np.zeros_like(self.record.values) if paid is None else paid

    @property
    def values(self) -> NDArray[np.float32]:
        """`[T, S]` root values of the searches."""
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
            state: 0 to T, or later: after the end all targets are 0.
            td_steps: plies after which the search's value replaces the rest; None: to the end.
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
