"""The replay window in segments: the targets of a model that is unrolled from a row.

The searched plies of a record are consecutive rows, so the states that follow a row are the
next rows of its record. Past its last row:

- if the game ended, absorbing states: reward and value are zero. The last step's reward
  includes the returns, discounted by one step, as the game's contract pays them;
- if the game was cut off, one state whose value is the search's; later states are unknown.

A segment may *lead in*: start some plies before its record's first row, in the random opening
that was not searched. Those states have no targets of their own; the model learns from the
states after them. Searches query a model about such moves all the time.
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

__all__ = ["SegmentWindow", "Segments", "from_seat"]

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
LeadIns = tuple[Rows, Rows]
"""First rows of records `[n]`, and the number of plies to start before them `[n]`."""


@dataclass(frozen=True, eq=False)
class Segments:
    """States `t` to `t + K` of B rows; S seats, A actions."""

    rows: Rows
    """`[B, K + 1]` the row of each state; outside its record it belongs to another record or
    does not exist."""
    lead: Rows
    """`[B]` number of states before the record's first row."""
    alive: NDArray[np.bool_]
    """`[B, K + 1]` whether a seat moves there."""
    known: NDArray[np.bool_]
    """`[B, K + 1]` whether value and reward are known: false after a cut-off and
    in the unsearched opening."""
    seats: NDArray[np.int8]
    """`[B, K + 1]` the seat to move, where alive."""
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


class SegmentWindow(Window):
    """A window that also stores rewards per row and returns per record."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        seats, row, record = self._layout.seats, self.end, self._first_row.end
        self._reward, self._root = (Column(np.float32, (seats,), row) for _ in "ab")
        self._returns, self._whole = Column(np.float32, (seats,), record), Column(bool, (), record)

    def _by_record(self) -> list[Column]:
        return [*super()._by_record(), self._returns, self._whole]

    def _logits(self, block: Block) -> NDArray[Any]:
        """Index policies by action code, whatever the game's logits."""
        return block.targets

    def add(self, block: Block) -> int:
        """Add the rows of some games and return their number."""
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
        """The settings of value targets."""
        return self._config

    def seats(self, rows: Rows) -> NDArray[np.int8]:
        """Return the seat to move `[n]` of some rows."""
        return self._seat[rows]

    def roots(self, rows: Rows) -> Floats:
        """Return the root values `[n, S]` of the searches of some rows."""
        return self._root[rows]

    def broken_off(self, rows: Rows) -> NDArray[np.bool_]:
        """Return `[n]` whether each row's record was cut off."""
        return ~self._whole[self._record[rows]]

    def given(self, rows: Rows) -> Floats:
        """Return `[n, S]` reward plus discounted value of the step at the cut-off, for the last
        rows of records that were cut off.
        """
        later = self._config.discount * self._returns[self._record[rows]]
        return np.asarray(self._reward[rows] + later, np.float32)

    def rows_of(self, rows: Rows) -> Rows:
        """Replace rows that have left the window by -1."""
        return np.where((rows >= self.begin) & (rows < self.end), rows, -1)

    def ends(self, rows: Rows) -> Rows:
        """Return `[n]` one past the last row of each row's record."""
        following = self._record[rows] + 1
        last = self._first_row.end - 1
        return np.where(following > last, self.end, self._first_row[np.minimum(following, last)])

    @property
    def has_openings(self) -> bool:
        """Whether openings can be replayed and pay no rewards."""
        return self._layout.native and type(self._game).rewards is Game.rewards

    def openings(self, begin: int, count: int, most: int, rng: np.random.Generator) -> LeadIns:
        """Draw lead-in segments: first rows from `begin` on, and up to `most` plies before them.

        Draws none if no record starts in the window.
        """
        first = self._first_row.flat
        first = first[np.searchsorted(first, begin) :]
        first = first[first < self.end]
        if not len(first):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = first[rng.integers(len(first), size=count)]
        return rows, np.minimum(rng.integers(1, most + 1, size=count), self._ply[rows])

    def before(self, rows: Rows, plies: Rows) -> Picked:
        """Pick the states some plies before some rows, of a game with native rules."""
        picked = self.pick(rows)
        return replace(picked, end=picked.end - plies)

    def segments(self, rows: Rows, steps: int, lead: Rows | None = None) -> Segments:
        """Return the targets of a model that is unrolled for `steps` steps from some rows.

        :param lead: `[B]` plies to start before each row, which must then be a first row.
        """
        lead = np.zeros_like(rows) if lead is None else lead
        states = (rows - lead)[:, None] + np.arange(steps + 1)
        ends, records = self.ends(rows)[:, None], self._record[rows]
        alive, searched = states < ends, np.arange(steps + 1) >= lead[:, None]
        # Any valid row where there is none.
        there = np.where(alive & searched, states, rows[:, None])
        value = np.where((alive & searched)[:, :, None], self._value[there], 0)
        cut = (states == ends) & ~self._whole[records][:, None]
        movers = (self._seat[ends[:, 0] - 1] + 1) % self._layout.seats
        agreed = from_seat(self._returns[records], movers)
        value = np.where(cut[:, :, None], agreed[:, None], value)
        seats = self._seat[there]
        reward = np.zeros((*states.shape, self._layout.seats), np.float32)
        paid = from_seat(self._reward[there[:, :-1]], seats[:, :-1])
        reward[:, 1:] = np.where((alive & searched)[:, :-1, None], paid, 0)
        plies = self._ply[there] - np.where(searched, 0, lead[:, None] - np.arange(steps + 1))
        has_policy = alive & searched
        return Segments(
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
        """Return the actions taken at some plies of some records."""
        return self._actions[self._first_action[records] + plies].astype(np.int64)

    def _policies(self, rows: Rows, states: Rows) -> PolicyEntries:
        """Return the policy targets of some rows, renumbered as `states`."""
        counts = self._targets_of[rows].astype(np.int64)
        ends = np.cumsum(counts)
        entries_at = np.repeat(self._first_target[rows] - (ends - counts), counts)
        entries_at += np.arange(len(entries_at))
        entries = PolicyEntries.of(counts, self._target[entries_at], self._policy[entries_at])
        return replace(entries, states=states[entries.states])


def from_seat(per_seat: Floats, seats: NDArray[Any]) -> Floats:
    """Rotate numbers per seat `[..., S]` so that the given seat of each row, `[...]`, comes first.

    >>> from_seat(np.array([[1, 2, 3]], np.float32), np.array([1])).tolist()
    [[2.0, 3.0, 1.0]]
    """
    count = per_seat.shape[-1]
    if count == 1:
        return per_seat
    order = (seats[..., None].astype(np.int64) + np.arange(count)) % count
    return np.take_along_axis(per_seat, order, axis=-1)
