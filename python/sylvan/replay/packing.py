"""Records as bytes, without what can be rebuilt from the rules.

Records are packed in blocks, column by column: all actions, then all seats, and so on. This is fast
for many short games, and compresses well. Probabilities are stored as 16-bit fractions of 65,535
and normalised again when read. For a game with native rules only actions with a positive
probability are stored: the other legal actions and the observations follow from the rules.
`docs/record-format.md` has the layout byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ReplayError
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.replay.games import Games
from sylvan.replay.record import GameRecord

__all__ = ["ENDINGS", "ONE", "Block", "Layout"]

ENDINGS = ("end", "limit", "resign", "labelled")
"""`GameRecord.ending` by its code."""

ONE = 65_535
"""The 16-bit number of probability 1."""

_MIRRORED, _OBSERVATIONS, _REWARDS = 1, 2, 4


@dataclass(frozen=True)
class Layout:
    """Properties that all records of a game share."""

    game: str
    """`GameSpec.name`."""
    params: dict[str, Any]
    """`GameSpec.params`."""
    seats: int
    num_actions: int
    native: bool
    """The rules are in Rust: zero probabilities and observations are not stored."""
    observation_shape: tuple[int, ...] = ()
    """Shape of one stored observation; empty if none are stored."""
    observation_dtype: str = ""

    @classmethod
    def of(cls, spec: GameSpec) -> Layout:
        """The layout of a game's records."""
        state = spec.first()
        common = (spec.name, dict(spec.params), state.num_players, state.num_actions)
        if spec.is_native:
            return cls(*common, native=True)
        seen = _first_choice(state).observation()
        # The file is little-endian on every machine.
        dtype = seen.dtype.newbyteorder("<").str
        return cls(*common, False, tuple(seen.shape), dtype)

    @property
    def spec(self) -> GameSpec:
        """The game."""
        return GameSpec(self.game, dict(self.params))

    def fits(self, other: Layout) -> bool:
        """Whether both are layouts of the same game; the path of a game's file may differ."""
        one, two = (replace(layout, game=layout.spec.short_name) for layout in (self, other))
        return one == two

    @property
    def action_dtype(self) -> str:
        """Two bytes if that is enough, else four."""
        return "<u2" if self.num_actions <= 1 << 16 else "<u4"

    def to_dict(self) -> dict[str, Any]:
        """The fields for a file's header."""
        return asdict(self) | {"observation_shape": list(self.observation_shape)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Layout:
        """The layout from the fields of `to_dict`.

        :raises ReplayError: a field is missing or invalid.
        """
        try:
            layout = cls(
                str(fields["game"]),
                dict(fields["params"]),
                int(fields["seats"]),
                int(fields["num_actions"]),
                bool(fields["native"]),
                tuple(int(size) for size in fields["observation_shape"]),
                str(fields["observation_dtype"]),
            )
            if layout.observation_dtype:
                np.dtype(layout.observation_dtype)
        except (KeyError, TypeError, ValueError) as error:
            raise ReplayError(f"The header of a shard is invalid: {error!r}.") from None
        return layout


def _first_choice(state: Game) -> Game:
    """The first state in which a seat moves; chance takes its first outcome."""
    while state.is_chance():
        state.apply(state.chance_outcomes()[0][0])
    return state


@dataclass(frozen=True, eq=False)
class Block:
    """Records as columns.

    n records with P plies, N of them searched; K entries in the policy targets; S seats.
    """

    plies: NDArray[np.int64]
    """`[n]` plies of each record."""
    endings: NDArray[np.uint8]
    """`[n]` codes of `ENDINGS`."""
    steps: NDArray[np.uint32]
    seeds: NDArray[np.uint64]
    starts: list[bytes]
    rewarded: NDArray[np.bool_]
    """`[n]` whether a record has rewards."""
    actions: NDArray[Any]
    """`[P]`"""
    seats: NDArray[np.int8]
    """`[P]`"""
    counts: NDArray[np.uint16]
    """`[P]` entries of each ply's policy target."""
    targets: NDArray[Any]
    """`[K]` actions of the policy targets."""
    weights: NDArray[np.uint16]
    """`[K]` their probabilities, not normalised."""
    policy_weights: NDArray[np.float32]
    """`[N]`"""
    surprise: NDArray[np.float32]
    """`[N]`"""
    returns: NDArray[np.float32]
    """`[n, S]`"""
    values: NDArray[np.float32]
    """`[N, S]`"""
    rewards: NDArray[np.float32] | None
    """`[P, S]`"""
    observations: NDArray[Any] | None
    """`[P, ...]`"""
    auxiliary: dict[str, NDArray[np.float32]]
    """Name to `[P, ...]`."""

    def __len__(self) -> int:
        return len(self.plies)

    @classmethod
    def of(cls, records: Sequence[GameRecord], layout: Layout) -> Block:
        """Pack records, at least one; probabilities are rounded as in a file.

        :raises ReplayError: a record's arrays do not fit each other or the game.
        """
        for record in records[:1] if isinstance(records, Games) else records:
            _check_shapes(record, layout, records[0])
        games = Games.of(records)
        counts, targets, policy = np.diff(games.edges), games.policy_actions, games.policy
        _check_numbers(games, layout, counts)
        weights = np.rint(policy.astype(np.float64) * ONE).astype(np.uint16)
        if layout.native:
            kept = weights > 0
            counts = np.bincount(np.repeat(np.arange(len(counts)), counts)[kept], None, len(counts))
            targets, weights = targets[kept], weights[kept]
        searched = counts > 0
        columns = {
            "returns": games.returns.astype(np.float32),
            "values": games.values[searched].astype(np.float32),
            "rewards": None if games.rewards is None else games.rewards.astype(np.float32),
        }
        if _mirrored(columns, layout):
            columns = {
                name: None if column is None else _both(column) for name, column in columns.items()
            }
        return cls(
            plies=np.diff(games.plies),
            endings=np.array(list(map(ENDINGS.index, games.endings)), np.uint8),
            steps=games.steps.astype(np.uint32),
            seeds=games.seeds.astype(np.uint64),
            starts=[start.encode() for start in games.starts],
            rewarded=games.rewarded,
            actions=games.actions.astype(layout.action_dtype[1:]),
            seats=games.seats.astype(np.int8),
            counts=counts.astype(np.uint16),
            targets=targets.astype(layout.action_dtype[1:]),
            weights=weights,
            policy_weights=games.weights[searched].astype(np.float32),
            surprise=games.surprise[searched].astype(np.float32),
            observations=None if layout.native else games.observations,
            auxiliary={name: array.astype(np.float32) for name, array in games.auxiliary.items()},
            **columns,  # type: ignore[arg-type]
        )

    def to_bytes(self, layout: Layout) -> bytes:
        """The bytes for a frame; see `from_bytes`."""
        paid = {"returns": self.returns, "values": self.values, "rewards": self.rewards}
        mirrored = _mirrored(paid, layout)
        width = 1 if mirrored else layout.seats
        flags = (
            _MIRRORED * mirrored
            | _OBSERVATIONS * (self.observations is not None)
            | _REWARDS * (self.rewards is not None)
        )
        parts = [
            bytes([flags, len(self.auxiliary)]),
            self.plies.astype("<u4").tobytes(),
            self.endings.tobytes(),
            self.steps.astype("<u4").tobytes(),
            self.seeds.astype("<u8").tobytes(),
            np.array([len(start) for start in self.starts], "<u2").tobytes(),
            b"".join(self.starts),
            self.actions.astype(layout.action_dtype).tobytes(),
            self.seats.tobytes(),
            self.counts.astype("<u2").tobytes(),
            self.targets.astype(layout.action_dtype).tobytes(),
            self.weights.astype("<u2").tobytes(),
            self.policy_weights.astype("<f4").tobytes(),
            self.surprise.astype("<f4").tobytes(),
            self.returns[:, :width].T.astype("<f4").tobytes(),
            self.values[:, :width].T.astype("<f4").tobytes(),
        ]
        if self.rewards is not None:
            parts.append(self.rewarded.astype(np.uint8).tobytes())
            parts.append(self.rewards[:, :width].T.astype("<f4").tobytes())
        if self.observations is not None:
            parts.append(self.observations.astype(layout.observation_dtype).tobytes())
        for name, array in self.auxiliary.items():
            text, shape = name.encode(), array.shape[1:]
            parts += [bytes([len(text)]), text, bytes([len(shape)])]
            parts += [np.array(shape, "<u4").tobytes(), array.astype("<f4").tobytes()]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes, count: int, layout: Layout) -> Block:
        """The block of `count` records in some bytes.

        :raises ReplayError: the bytes are not such a block.
        """
        try:
            return _read(_Reader(data), count, layout)
        except (ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
            raise ReplayError(f"A block of records is invalid: {error}.") from None

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """Some blocks of one game, at least one, as one."""

        def column(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(block, name) for block in blocks])

        seats = blocks[0].returns.shape[1]
        paid = [
            np.zeros((len(block.actions), seats), np.float32)
            if block.rewards is None
            else block.rewards
            for block in blocks
        ]
        return cls(
            plies=column("plies"),
            endings=column("endings"),
            steps=column("steps"),
            seeds=column("seeds"),
            starts=[start for block in blocks for start in block.starts],
            rewarded=(rewarded := column("rewarded")),
            actions=column("actions"),
            seats=column("seats"),
            counts=column("counts"),
            targets=column("targets"),
            weights=column("weights"),
            policy_weights=column("policy_weights"),
            surprise=column("surprise"),
            returns=column("returns"),
            values=column("values"),
            rewards=np.concatenate(paid) if rewarded.any() else None,
            observations=None if blocks[0].observations is None else column("observations"),
            auxiliary={
                name: np.concatenate([block.auxiliary[name] for block in blocks])
                for name in blocks[0].auxiliary
            },
        )

    def kept(self, keep: NDArray[np.bool_]) -> Block:
        """The records where the mask `keep`, `[n]`, is true."""
        plies = np.repeat(keep, self.plies)
        searched = plies[self.counts > 0]
        entries = np.repeat(plies, self.counts)
        return Block(
            self.plies[keep],
            self.endings[keep],
            self.steps[keep],
            self.seeds[keep],
            [start for start, is_kept in zip(self.starts, keep, strict=True) if is_kept],
            self.rewarded[keep],
            self.actions[plies],
            self.seats[plies],
            self.counts[plies],
            self.targets[entries],
            self.weights[entries],
            self.policy_weights[searched],
            self.surprise[searched],
            self.returns[keep],
            self.values[searched],
            None if self.rewards is None else self.rewards[plies],
            None if self.observations is None else self.observations[plies],
            {name: array[plies] for name, array in self.auxiliary.items()},
        )

    def records(self) -> Iterator[GameRecord]:
        """The records; for a native game only with actions of positive probability."""
        searched = self.counts > 0
        ply = np.concatenate([[0], np.cumsum(self.plies)])
        entry = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        row = np.concatenate([[0], np.cumsum(searched)])
        for number in range(len(self)):
            begin, end = ply[number], ply[number + 1]
            offsets = entry[begin : end + 1]
            entries = slice(offsets[0], offsets[-1])
            own, rows = searched[begin:end], slice(row[begin], row[end])
            seen, paid = self.observations, self.rewards
            yield GameRecord(
                actions=self.actions[begin:end].astype(np.int32),
                seats=self.seats[begin:end],
                policy_offsets=offsets - offsets[0],
                policy_actions=self.targets[entries].astype(np.int32),
                policy=_normalised(self.weights[entries], offsets - offsets[0]),
                values=_spread(self.values[rows], own),
                weights=_spread(self.policy_weights[rows], own),
                surprise=_spread(self.surprise[rows], own),
                returns=self.returns[number],
                rewards=paid[begin:end] if paid is not None and self.rewarded[number] else None,
                observations=None if seen is None else seen[begin:end],
                start=self.starts[number].decode(),
                ending=ENDINGS[self.endings[number]],
                step=int(self.steps[number]),
                seed=int(self.seeds[number]),
                auxiliary={name: array[begin:end] for name, array in self.auxiliary.items()},
            )


def _read(reader: _Reader, count: int, layout: Layout) -> Block:
    flags, others = reader.array("<u1", 2).tolist()
    plies = reader.array("<u4", count).astype(np.int64)
    endings = reader.array("<u1", count).astype(np.uint8)
    if endings.max(initial=0) >= len(ENDINGS):
        raise ValueError(f"ending {endings.max()} does not exist")
    steps, seeds = reader.array("<u4", count), reader.array("<u8", count)
    starts = [reader.text(length) for length in reader.array("<u2", count).tolist()]
    total = int(plies.sum())
    actions, seats = reader.array(layout.action_dtype, total), reader.array("<i1", total)
    counts = reader.array("<u2", total)
    entries = int(counts.sum(dtype=np.int64))
    targets, weights = reader.array(layout.action_dtype, entries), reader.array("<u2", entries)
    searched = int((counts > 0).sum())
    policy_weights, surprise = reader.array("<f4", searched), reader.array("<f4", searched)
    mirrored = bool(flags & _MIRRORED)

    def paid(rows: int) -> NDArray[np.float32]:
        width = 1 if mirrored else layout.seats
        column = reader.array("<f4", width * rows).reshape(width, rows).T.astype(np.float32)
        return _both(column) if mirrored else np.ascontiguousarray(column)

    returns, values, rewards = paid(count), paid(searched), None
    rewarded = np.zeros(count, bool)
    if flags & _REWARDS:
        rewarded, rewards = reader.array("<u1", count) > 0, paid(total)
    observations = None
    if flags & _OBSERVATIONS:
        shape, dtype = layout.observation_shape, np.dtype(layout.observation_dtype)
        size = total * int(np.prod(shape, dtype=np.int64))
        seen = reader.array(dtype, size).reshape(total, *shape)
        observations = seen.astype(dtype.newbyteorder("="))
    return Block(
        plies,
        endings,
        steps.astype(np.uint32),
        seeds.astype(np.uint64),
        starts,
        rewarded,
        actions.astype(layout.action_dtype[1:]),
        seats.astype(np.int8),
        counts.astype(np.uint16),
        targets.astype(layout.action_dtype[1:]),
        weights.astype(np.uint16),
        policy_weights.astype(np.float32),
        surprise.astype(np.float32),
        returns,
        values,
        rewards,
        observations,
        dict(_auxiliary(reader, total) for _ in range(others)),
    )


def _auxiliary(reader: _Reader, plies: int) -> tuple[str, NDArray[np.float32]]:
    name = reader.text(int(reader.array("<u1", 1)[0])).decode()
    shape = reader.array("<u4", int(reader.array("<u1", 1)[0])).tolist()
    size = int(np.prod([plies, *shape], dtype=np.int64))
    return name, reader.array("<f4", size).astype(np.float32).reshape(plies, *shape)


class _Reader:
    """Reads arrays from bytes, one after another."""

    def __init__(self, data: bytes) -> None:
        self.data, self.offset = data, 0

    def array(self, dtype: Any, count: int) -> NDArray[Any]:
        size = np.dtype(dtype).itemsize * count
        if self.offset + size > len(self.data):
            raise ValueError(f"{size} bytes are needed, {len(self.data) - self.offset} are left")
        found = np.frombuffer(self.data, dtype, count, self.offset)
        self.offset += size
        return found

    def text(self, length: int) -> bytes:
        return self.array("<u1", length).tobytes()


def _mirrored(columns: dict[str, Any], layout: Layout) -> bool:
    """Whether there are two seats and all values are zero-sum."""
    given = [column for column in columns.values() if column is not None]
    return layout.seats == 2 and all(np.array_equal(c[:, 1], -c[:, 0]) for c in given)


def _both(column: NDArray[np.float32]) -> NDArray[np.float32]:
    """`[n, 2]` from the first seat's values; the second seat's are the negatives."""
    return np.concatenate([column[:, :1], -column[:, :1]], axis=1)


def _spread(rows: NDArray[np.float32], searched: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Scatter rows to the searched plies; zeros elsewhere."""
    column = np.zeros((len(searched), *rows.shape[1:]), np.float32)
    column[searched] = rows
    return column


def _normalised(weights: NDArray[np.uint16], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    """Normalise weights to probabilities that sum to 1 within each ply."""
    upto = np.zeros(len(weights) + 1, np.int64)
    np.cumsum(weights, out=upto[1:])
    upto = upto[offsets]
    totals = np.maximum(upto[1:] - upto[:-1], 1)
    probabilities = weights / np.repeat(totals, offsets[1:] - offsets[:-1])
    return np.asarray(probabilities, np.float32)


def _check_shapes(record: GameRecord, layout: Layout, first: GameRecord) -> None:
    """:raises ReplayError: a field of the record does not fit the others or the game."""
    plies, seats = len(record), layout.seats
    offsets, entries = record.policy_offsets, len(record.policy)
    shapes = [
        ("seats", record.seats.shape, (plies,)),
        ("policy_offsets", offsets.shape, (plies + 1,)),
        ("policy_actions", record.policy_actions.shape, (entries,)),
        ("values", record.values.shape, (plies, seats)),
        ("weights", record.weights.shape, (plies,)),
        ("surprise", record.surprise.shape, (plies,)),
        ("returns", record.returns.shape, (seats,)),
    ]
    if record.rewards is not None:
        shapes.append(("rewards", record.rewards.shape, (plies, seats)))
    if not layout.native:
        seen = None if record.observations is None else record.observations.shape
        shapes.append(("observations", seen or (), (plies, *layout.observation_shape)))
    shapes += [(f"auxiliary[{n!r}]", a.shape[:1], (plies,)) for n, a in record.auxiliary.items()]
    for name, given, wanted in shapes:
        if given != wanted:
            raise ReplayError(
                f"A record of {layout.game} has {name} of shape {given}, but {plies} plies and "
                f"{seats} seats need {wanted}."
            )
    if offsets[0] != 0 or offsets[-1] != entries:
        raise ReplayError(
            f"A record of {layout.game} has policy_offsets that do not rise from 0 to {entries}."
        )
    if record.ending not in ENDINGS:
        raise ReplayError(f"A record has the ending {record.ending!r}: use one of {ENDINGS}.")
    if record.auxiliary.keys() != first.auxiliary.keys():
        raise ReplayError(
            f"A record has the auxiliary targets {sorted(record.auxiliary)}, another "
            f"{sorted(first.auxiliary)}: all records of a game need the same ones."
        )


def _check_numbers(games: Games, layout: Layout, counts: NDArray[np.int64]) -> None:
    """:raises ReplayError: a number of some record is out of its range."""
    if (counts < 0).any():
        raise ReplayError(f"A record of {layout.game} has policy_offsets that do not rise.")
    policy = games.policy
    for name, codes in (("actions", games.actions), ("policy_actions", games.policy_actions)):
        wrong = codes[(codes < 0) | (codes >= layout.num_actions)]
        if len(wrong):
            raise ReplayError(
                f"A record of {layout.game} has {wrong[0]} in {name}: the game's actions are 0 to "
                f"{layout.num_actions - 1}."
            )
    plies = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(plies, policy, len(counts))[counts > 0]
    floats = (games.values, games.weights, games.surprise, games.returns, sums)
    if not all(np.isfinite(array).all() for array in floats) or (policy < 0).any():
        raise ReplayError(
            f"A record of {layout.game} has numbers that are not finite, or negative probabilities."
        )
    if (np.abs(sums - 1) > 1e-3).any():
        raise ReplayError(
            f"A record of {layout.game} has a policy target that sums to "
            f"{sums[np.abs(sums - 1).argmax()]:.4f}, not to 1."
        )
