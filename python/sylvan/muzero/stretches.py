"""The replay's window, read in stretches: what a model that is unrolled from a row should say.

A record's searched plies are neighbouring rows, the last of them its last ply, so the states that
follow a row are the rows after it, as far as its record goes. What lies behind the last:

- where the game ended, nothing: no reward, no value, whatever is played (absorbing states). What
  the end paid is part of the last step's reward, discounted as a step later, which is when the
  game's contract pays it;
- where it was broken off, a state whose value is what the search said of it; then nobody knows.

A stretch may *lead in*: begin some plies before its record's first row, in the random opening that
nobody searched. Nothing is known of those states but what was played; what is learned is where it
led. No search would make such moves, but searches ask a model about them all the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.games.game import Game
from sylvan.muzero.policies import PolicyEntries
from sylvan.replay.columns import Column
from sylvan.replay.packing import ENDINGS, Block
from sylvan.replay.targets import TargetConfig
from sylvan.replay.window import Picked, Window

__all__ = ["StretchWindow", "Stretches", "turned_to"]

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
LeadIns = tuple[Rows, Rows]
"""First rows of records `[n]`, and how many plies before them to begin `[n]`."""


@dataclass(frozen=True, eq=False)
class Stretches:
    """States `t` to `t + K` of B rows; S seats, A actions."""

    rows: Rows
    """`[B, K + 1]` the row of each state, also past the end or before the first row of a record,
    where it is another record's or none."""
    lead: Rows
    """`[B]` so many of the first states come before the record's first row."""
    alive: NDArray[np.bool_]
    """`[B, K + 1]` whether a seat moves there."""
    known: NDArray[np.bool_]
    """`[B, K + 1]` whether value and reward are known: false past where a game was broken off, and
    where nobody searched."""
    seats: NDArray[np.int8]
    """`[B, K + 1]` who moves, where alive."""
    actions: Rows
    """`[B, K]` 0 past the end."""
    value: Floats
    """`[B, K + 1, S]` the seat to move first."""
    reward: Floats
    """`[B, K + 1, S]` of the step before, the seat that made it first; zeros in the first state."""
    policy: PolicyEntries
    """Of states `b * (K + 1) + k`."""
    policy_weight: Floats
    """`[B, K + 1]`"""


class StretchWindow(Window):
    """Rows that know what their step paid, and records that know how they ended."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        seats, row, record = self._layout.seats, self.end, self._first_row.end
        self._reward, self._root = (Column(np.float32, (seats,), row) for _ in "ab")
        self._returns, self._whole = Column(np.float32, (seats,), record), Column(bool, (), record)

    def _by_record(self) -> list[Column]:
        return [*super()._by_record(), self._returns, self._whole]

    def _logits(self, block: Block) -> NDArray[Any]:
        """A model's policy is over the codes of actions, whatever the game."""
        return block.targets

    def add(self, block: Block) -> int:
        """Add the rows of some games; their number."""
        added = super().add(block)
        searched = block.counts > 0
        whole = block.endings == ENDINGS.index("end")
        paid = np.zeros((len(searched), self._layout.seats), np.float64)
        if block.rewards is not None:
            paid += block.rewards
        last = (np.cumsum(block.plies) - 1)[whole]
        paid[last] += self._config.discount * block.returns[whole].astype(np.float64)
        self._reward.extend(paid[searched])
        self._root.extend(block.values)
        self._returns.extend(block.returns)
        self._whole.extend(whole)
        return added

    @property
    def targets(self) -> TargetConfig:
        """What values are learned from."""
        return self._config

    def seats(self, rows: Rows) -> NDArray[np.int8]:
        """`[n]` who moves in some rows."""
        return self._seat[rows]

    def roots(self, rows: Rows) -> Floats:
        """`[n, S]` what the searches of some rows thought that each seat gets."""
        return self._root[rows]

    def broken_off(self, rows: Rows) -> NDArray[np.bool_]:
        """`[n]` whether the record of each row did not come to its end."""
        return ~self._whole[self._record[rows]]

    def given(self, rows: Rows) -> Floats:
        """`[n, S]` what the last step from each row, and the value given to what followed it, are
        worth together: of rows that are the last of records that were broken off.
        """
        later = self._config.discount * self._returns[self._record[rows]]
        return np.asarray(self._reward[rows] + later, np.float32)

    def rows_of(self, places: Rows) -> Rows:
        """Places are rows here; -1 for those that are no longer there."""
        return np.where((places >= self.begin) & (places < self.end), places, -1)

    def ends(self, rows: Rows) -> Rows:
        """`[n]` one past the last row of each row's record."""
        following = self._record[rows] + 1
        last = self._first_row.end - 1
        return np.where(following > last, self.end, self._first_row[np.minimum(following, last)])

    @property
    def has_openings(self) -> bool:
        """Whether states before the first row of a record can be made again, and paid nothing."""
        return self._layout.native and type(self._game).rewards is Game.rewards

    def openings(self, begin: int, count: int, most: int, rng: np.random.Generator) -> LeadIns:
        """Draw stretches that lead in: first rows from `begin` on, and up to `most` plies before.

        None are drawn where no record began in the window.
        """
        first = self._first_row.flat
        first = first[np.searchsorted(first, begin) :]
        first = first[first < self.end]
        if not len(first):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = first[rng.integers(len(first), size=count)]
        return rows, np.minimum(rng.integers(1, most + 1, size=count), self._ply[rows])

    def before(self, rows: Rows, plies: Rows) -> Picked:
        """What there is to see so many plies before some rows, of a game with native rules."""
        picked = self.pick(rows)
        return replace(picked, end=picked.end - plies)

    def stretches(self, rows: Rows, steps: int, lead: Rows | None = None) -> Stretches:
        """What a model that is unrolled over so many steps from some rows should say.

        :param lead: `[B]` how many plies before its row each begins, where that is a first row.
        """
        lead = np.zeros_like(rows) if lead is None else lead
        states = (rows - lead)[:, None] + np.arange(steps + 1)
        ends, records = self.ends(rows)[:, None], self._record[rows]
        alive, searched = states < ends, np.arange(steps + 1) >= lead[:, None]
        # Some row to read where there is none.
        there = np.where(alive & searched, states, rows[:, None])
        value = np.where((alive & searched)[:, :, None], self._value[there], 0)
        cut = (states == ends) & ~self._whole[records][:, None]
        movers = (self._seat[ends[:, 0] - 1] + 1) % self._layout.seats
        agreed = turned_to(self._returns[records], movers)
        value = np.where(cut[:, :, None], agreed[:, None], value)
        seats = self._seat[there]
        reward = np.zeros((*states.shape, self._layout.seats), np.float32)
        paid = turned_to(self._reward[there[:, :-1]], seats[:, :-1])
        reward[:, 1:] = np.where((alive & searched)[:, :-1, None], paid, 0)
        plies = self._ply[there] - np.where(searched, 0, lead[:, None] - np.arange(steps + 1))
        has_policy = alive & searched
        return Stretches(
            rows=states,
            lead=lead,
            alive=alive,
            known=(alive | self._whole[records][:, None] | cut) & searched,
            seats=seats,
            actions=np.where(alive[:, :-1], self._played(records[:, None], plies[:, :-1]), 0),
            value=value,
            reward=reward,
            policy=self._policies(states[has_policy], np.flatnonzero(has_policy)),
            policy_weight=np.where(has_policy, self._policy_weight[there], np.float32(0)),
        )

    def _played(self, records: Rows, plies: Rows) -> Rows:
        """The actions that were taken in some plies of some records."""
        return self._actions[self._first_action[records] + plies].astype(np.int64)

    def _policies(self, rows: Rows, states: Rows) -> PolicyEntries:
        """The policy targets of some rows, as those of states with other numbers."""
        counts = self._targets_of[rows].astype(np.int64)
        ends = np.cumsum(counts)
        places = np.repeat(self._first_target[rows] - (ends - counts), counts)
        places += np.arange(len(places))
        entries = PolicyEntries.of(counts, self._target[places], self._policy[places])
        return replace(entries, states=states[entries.states])


def turned_to(per_seat: Floats, seats: NDArray[Any]) -> Floats:
    """Numbers per seat `[..., S]` in turn order, beginning with one seat of each row, `[...]`.

    >>> turned_to(np.array([[1, 2, 3]], np.float32), np.array([1])).tolist()
    [[2.0, 3.0, 1.0]]
    """
    count = per_seat.shape[-1]
    if count == 1:
        return per_seat
    order = (seats[..., None].astype(np.int64) + np.arange(count)) % count
    return np.take_along_axis(per_seat, order, axis=-1)
