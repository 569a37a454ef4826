"""The replay's window in memory: columns with a row per searched position.

A batch is gathered with one indexing operation per column, so its cost does not depend on how the
games are stored. Actions and policies are as compact as on the disk; observations of native games
are rebuilt for each batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ReplayError
from sylvan.games.game import Game
from sylvan.networks.header import ValueKind
from sylvan.replay.columns import Column
from sylvan.replay.packing import ENDINGS, Block, Layout
from sylvan.replay.targets import TargetConfig, mixed, outcomes

__all__ = ["Picked", "Window"]


@dataclass(frozen=True, eq=False)
class Picked:
    """n rows of the window."""

    positions: NDArray[np.int64]
    """`[n, 2]` record and ply."""
    seats: NDArray[np.int8]
    starts: list[str]
    """Distinct first states."""
    origin: NDArray[np.int64]
    """`[n]` index in `starts`."""
    actions: NDArray[Any]
    """Flat; the actions before row i are `actions[begin[i]:end[i]]`."""
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    target: NDArray[Any]
    """Flat; row i's policy is over the actions `target[target_begin[i]:target_end[i]]`."""
    policy: NDArray[np.uint16]
    """Probabilities of `target`, not normalised."""
    target_begin: NDArray[np.int64]
    target_end: NDArray[np.int64]
    policy_weight: NDArray[np.float32]
    value: NDArray[np.float32]
    moves_left: NDArray[np.float32]
    observations: NDArray[Any] | None
    auxiliary: dict[str, NDArray[np.float32]]


class Window:
    """Rows, numbered from the first position of the run; the oldest can be dropped.

    :param layout: layout of the records.
    :param first: number of the next record and of the next row.
    :param kind: format of the network's value output.
    :param targets: settings of the value target.
    :param surprise_share: see `ReplayConfig`.
    :param game: any state; gives the logit index of each action.
    """

    def __init__(
        self,
        layout: Layout,
        first: tuple[int, int],
        kind: ValueKind,
        targets: TargetConfig,
        surprise_share: float,
        game: Game,
    ) -> None:
        self._layout, self._kind, self._config = layout, kind, targets
        self._surprise_share = surprise_share
        self._game = game
        record, row = first
        width = {"wdl": 3, "scalar": 1, "seats": game.network_seats}[kind]
        codes = layout.action_dtype[1:]
        # Per record: index of its first action, of the first letter of its start, of its first row.
        self._first_action, self._first_letter = (Column(np.int64, (), record) for _ in "ab")
        self._first_row = Column(np.int64, (), record)
        self._actions, self._letters = Column(codes), Column(np.uint8)
        # Per row.
        self._record, self._ply = Column(np.int64, (), row), Column(np.int32, (), row)
        self._seat = Column(np.int8, (), row)
        self._first_target, self._targets_of = (Column(t, (), row) for t in (np.int64, np.uint16))
        self._policy_weight, self._moves_left = (Column(np.float32, (), row) for _ in "ab")
        self._value = Column(np.float32, (width,), row)
        self.frequency = Column(np.float32, (), row)
        """Relative sampling frequency by policy surprise; its mean over a game is 1."""
        self._target, self._policy = Column(codes), Column(np.uint16)
        shape, dtype = layout.observation_shape, layout.observation_dtype
        self._observations = None
        if not layout.native:  # int8, enough for most boards, until other numbers appear
            small = np.dtype(dtype).itemsize > 1
            self._observations = Column(np.int8 if small else dtype, shape, row)
        self._auxiliary: dict[str, Column] | None = None

    @property
    def begin(self) -> int:
        """The first row."""
        return self._record.begin

    @property
    def end(self) -> int:
        """One past the last row."""
        return self._record.end

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(column.nbytes for column in self._columns())

    def _columns(self) -> list[Column]:
        own = [value for value in vars(self).values() if isinstance(value, Column)]
        return own + list((self._auxiliary or {}).values())

    def add(self, block: Block) -> int:
        """Add the rows of some games; return the number of rows."""
        self.check_auxiliary(block.auxiliary)
        searched = block.counts > 0
        owner = np.repeat(np.arange(len(block)), block.plies)[searched]
        begins = np.cumsum(block.plies) - block.plies
        plies = np.flatnonzero(searched) - begins[owner]
        rows = np.bincount(owner, minlength=len(block))
        counts, seats = block.counts[searched], block.seats[searched]
        self._record.extend(self._first_row.end + owner)  # before the records are added
        self._first_row.extend(_begins(self.end - len(owner), rows))
        self._first_action.extend(_begins(self._actions.end, block.plies))
        self._first_letter.extend(_begins(self._letters.end, map(len, block.starts)))
        self._actions.extend(block.actions)
        self._letters.extend(np.frombuffer(b"".join(block.starts), np.uint8))
        self._first_target.extend(_begins(self._target.end, counts))
        self._targets_of.extend(counts)
        self._target.extend(self._logits(block))
        self._policy.extend(block.weights)
        self._ply.extend(plies)
        self._seat.extend(seats)
        z = self._outcomes(block, owner, searched)
        value = mixed(z, block.values, seats, self._config.value_mix, self._kind)
        self._value.extend(self._padded(value))
        self._policy_weight.extend(block.policy_weights)
        whole = block.endings[owner] == ENDINGS.index("end")
        self._moves_left.extend(np.where(whole, block.plies[owner] - plies, -1))
        self.frequency.extend(_frequency(block.surprise, rows, self._surprise_share))
        if self._observations is not None:
            assert block.observations is not None  # `Block.of` checks it
            self._observations = _extended(self._observations, block.observations[searched])
        for name, column in (self._auxiliary or {}).items():
            column.extend(block.auxiliary[name][searched])
        return len(owner)

    def _padded(self, value: NDArray[np.float32]) -> NDArray[np.float32]:
        """Pad values to the network's number of seats; NaN marks empty seats."""
        missing = self._value.flat.shape[1] - value.shape[1]
        return np.pad(value, [(0, 0), (0, missing)], constant_values=np.nan)

    def _outcomes(
        self, block: Block, owner: NDArray[np.int64], searched: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """`[rows, S]` return of each seat from each row's state."""
        config = self._config
        discount, td_steps, until_chance = config.discount, config.td_steps, config.until_chance
        if block.rewards is None and discount == 1 and td_steps is None and not until_chance:
            return block.returns[owner]
        paid = [outcomes(record, discount, td_steps, until_chance) for record in block.records()]
        return np.concatenate(paid)[searched]

    def check_auxiliary(self, given: dict[str, NDArray[np.float32]]) -> None:
        """:raises ReplayError: the names of the auxiliary targets differ from earlier records."""
        if self._auxiliary is None:
            self._auxiliary = {
                name: Column(np.float32, array.shape[1:], self.end) for name, array in given.items()
            }
        if set(given) != set(self._auxiliary):
            raise ReplayError(
                f"A record has the auxiliary targets {sorted(given)}, earlier ones "
                f"{sorted(self._auxiliary)}: all records of a game need the same ones."
            )

    def _logits(self, block: Block) -> NDArray[Any]:
        """Logit indices of the actions in the policy targets.

        Native games compute them when a batch is made. A Python game that overrides `logit_index`
        is replayed here.
        """
        own = type(self._game).logit_index is not Game.logit_index
        if self._layout.native or not own:
            return block.targets
        logits: list[int] = []
        for record in block.records():
            state = self._game.clone()
            for ply, action in enumerate(record.actions.tolist()):
                logits += [state.logit_index(code) for code in record.legal(ply).tolist()]
                state.apply(action)
        return np.array(logits, np.int64)

    def drop(self, row: int) -> None:
        """Drop the rows before `row`, and records without rows."""
        row = min(max(row, self.begin), self.end)
        if row == self.begin:
            return
        last = row == self.end
        keep = np.array([row])
        record = self._first_action.end if last else int(self._record[keep][0])
        targets = self._target.end if last else int(self._first_target[keep][0])
        at = np.array([record])
        whole = record == self._first_action.end
        actions = self._actions.end if whole else int(self._first_action[at][0])
        letters = self._letters.end if whole else int(self._first_letter[at][0])
        for column, begin in (
            *((column, record) for column in self._by_record()),
            (self._actions, actions),
            (self._letters, letters),
            (self._target, targets),
            (self._policy, targets),
        ):
            column.drop(begin)
        for column in self._by_row():
            column.drop(row)

    def _by_record(self) -> list[Column]:
        """The columns with an entry per record."""
        return [self._first_action, self._first_letter, self._first_row]

    def _by_row(self) -> list[Column]:
        flat = [self._actions, self._letters, self._target, self._policy]
        others = [*self._by_record(), *flat]
        return [c for c in self._columns() if all(c is not other for other in others)]

    def rows_of(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of pairs (record, ply), `[n, 2]`; -1 if no longer in the window."""
        records, plies = positions[:, 0], positions[:, 1]
        known = (records >= self._first_row.begin) & (records < self._first_row.end)
        records = np.where(known, records, self._first_row.begin)
        low = np.maximum(self._first_row[records], self.begin)
        ends = np.append(self._first_row.flat[1:], self.end)
        end = high = np.maximum(ends[records - self._first_row.begin], self.begin)
        while (open_ := low < high).any():  # binary search: plies rise within a record
            middle = (low + high) // 2
            before = np.zeros(len(low), bool)
            before[open_] = self._ply[middle[open_]] < plies[open_]
            low = np.where(open_ & before, middle + 1, low)
            high = np.where(open_ & ~before, middle, high)
        known &= low < end
        known[known] = self._ply[low[known]] == plies[known]
        return np.where(known, low, -1)

    def pick(self, rows: NDArray[np.int64]) -> Picked:
        """Copy some rows; flat arrays are views, which never change."""
        records, plies = self._record[rows], self._ply[rows]
        starts, origin = self._starts(records)
        begin = self._first_action[records] - self._actions.begin
        target_begin = self._first_target[rows] - self._target.begin
        auxiliary = self._auxiliary or {}
        return Picked(
            positions=np.stack([records, plies.astype(np.int64)], axis=1),
            seats=self._seat[rows],
            starts=starts,
            origin=origin,
            actions=self._actions.flat,
            begin=begin,
            end=begin + plies,
            target=self._target.flat,
            policy=self._policy.flat,
            target_begin=target_begin,
            target_end=target_begin + self._targets_of[rows],
            policy_weight=self._policy_weight[rows],
            value=self._value[rows],
            moves_left=self._moves_left[rows],
            observations=self._observations_of(rows),
            auxiliary={name: column[rows] for name, column in auxiliary.items()},
        )

    def _observations_of(self, rows: NDArray[np.int64]) -> NDArray[Any] | None:
        if self._observations is None:
            return None
        dtype = np.dtype(self._layout.observation_dtype).newbyteorder("=")
        return self._observations[rows].astype(dtype)

    def _starts(self, records: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
        """The distinct first states of some records, and the index of each record's."""
        if not len(self._letters):
            return [""], np.zeros(len(records), np.int64)
        ends = np.append(self._first_letter.flat[1:], self._letters.end)
        begin = self._first_letter[records] - self._letters.begin
        end = ends[records - self._first_letter.begin] - self._letters.begin
        letters = self._letters.flat
        known: dict[bytes, int] = {}
        origin = [
            known.setdefault(letters[a:b].tobytes(), len(known))
            for a, b in zip(begin.tolist(), end.tolist(), strict=True)
        ]
        return [text.decode() for text in known], np.array(origin, np.int64)


def _extended(column: Column, entries: NDArray[Any]) -> Column:
    """Add entries to a column; convert it from int8 if they do not fit."""
    if column.flat.dtype == np.int8 != entries.dtype:
        with np.errstate(invalid="ignore"):  # NaN, or too large for int8
            if not np.array_equal(entries.astype(np.int8), entries):
                wide = Column(entries.dtype, column.flat.shape[1:], column.begin)
                wide.extend(column.flat)
                column = wide
    column.extend(entries)
    return column


def _begins(first: int, counts: Iterable[int]) -> NDArray[np.int64]:
    """The first index of consecutive parts of these sizes, starting at `first`."""
    sizes = np.fromiter(counts, np.int64)
    begins: NDArray[np.int64] = first + np.cumsum(sizes) - sizes
    return begins


def _frequency(
    surprise: NDArray[np.float32], rows: NDArray[np.int64], share: float
) -> NDArray[np.float32]:
    """Relative sampling frequencies of rows, with mean 1 over each game.

    `share` is proportional to a row's part of its game's surprise, the rest is uniform.
    """
    games = np.repeat(np.arange(len(rows)), rows)
    totals = np.bincount(games, surprise, len(rows))[games]
    parts = np.divide(surprise, totals, out=1.0 / rows[games], where=totals > 0)
    return np.asarray(1 - share + share * rows[games] * parts, np.float32)
