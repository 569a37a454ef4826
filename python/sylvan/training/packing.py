"""Records as bytes: everything that a shard keeps of a game, and nothing that can be made again.

Probabilities are fractions of 65,535, as sixteen-bit numbers that are normalised again when read.
Of a game with native rules only actions with a probability are kept: what else was legal, and what
the seats saw, follows from the rules. `docs/record-format.md` has the layout byte by byte.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ReplayError
from sylvan.games.game import Game
from sylvan.games.naming import GameSpec
from sylvan.training.record import GameRecord

__all__ = ["ENDINGS", "Layout", "fractions", "pack", "unpack"]

ENDINGS = ("end", "limit", "resign", "labelled")
"""`GameRecord.ending` by its code."""

ONE = 65_535
"""The sixteen-bit number of probability 1."""

_REWARDS, _MIRRORED, _OBSERVATIONS, _AUXILIARY = 1, 2, 4, 8


@dataclass(frozen=True)
class Layout:
    """What all records of a game have in common."""

    game: str
    """`GameSpec.name`."""
    params: dict[str, Any]
    """`GameSpec.params`."""
    seats: int
    num_actions: int
    native: bool
    """The rules are in Rust: zero probabilities and observations are left out."""
    observation_shape: tuple[int, ...] = ()
    """Of one observation that is kept; empty where none are."""
    observation_dtype: str = ""

    @classmethod
    def of(cls, spec: GameSpec) -> Layout:
        """The layout of a game's records."""
        state = spec.first()
        common = (spec.name, dict(spec.params), state.num_players, state.num_actions)
        if spec.is_native:
            return cls(*common, native=True)
        seen = _first_choice(state).observation()
        # Byte order is the file's, not the machine's.
        dtype = seen.dtype.newbyteorder("<").str
        return cls(*common, False, tuple(seen.shape), dtype)

    @property
    def spec(self) -> GameSpec:
        """The game."""
        return GameSpec(self.game, dict(self.params))

    def fits(self, other: Layout) -> bool:
        """Whether records of one are records of the other: a game's file may have moved."""
        one, two = (replace(layout, game=layout.spec.short_name) for layout in (self, other))
        return one == two

    @property
    def action_dtype(self) -> str:
        """Two bytes where that is enough."""
        return "<u2" if self.num_actions <= 1 << 16 else "<u4"

    def to_dict(self) -> dict[str, Any]:
        """For the header of a file."""
        return asdict(self) | {"observation_shape": list(self.observation_shape)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Layout:
        """What `to_dict` gave.

        :raises ReplayError: a field is missing or makes no sense.
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
            raise ReplayError(f"The header of a shard cannot be understood: {error!r}.") from None
        return layout


def _first_choice(state: Game) -> Game:
    """A state in which a seat moves: the first one, unless chance opens the game."""
    while state.is_chance():
        state.apply(state.chance_outcomes()[0][0])
    return state


def fractions(policy: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Probabilities as sixteen-bit numbers."""
    return np.rint(np.asarray(policy, np.float64) * ONE).astype(np.uint16)


def pack(record: GameRecord, layout: Layout) -> bytes:
    """A record's bytes, before compression.

    :raises ReplayError: its arrays do not fit each other or the game.
    """
    _check(record, layout)
    searched = record.searched
    actions, weights = record.policy_actions, fractions(record.policy)
    counts = record.policy_offsets[1:] - record.policy_offsets[:-1]
    if layout.native:
        kept = weights > 0
        plies = np.repeat(np.arange(len(record)), counts)
        counts = np.bincount(plies[kept], minlength=len(record))
        actions, weights = actions[kept], weights[kept]
    paid = [record.returns[None], record.values[searched]]
    if record.rewards is not None:
        paid.append(record.rewards)
    mirrored = layout.seats == 2 and all(np.array_equal(p[:, 1], -p[:, 0]) for p in paid)
    seen = None if layout.native else record.observations
    flags = (
        _REWARDS * (record.rewards is not None)
        | _MIRRORED * mirrored
        | _OBSERVATIONS * (seen is not None)
        | _AUXILIARY * bool(record.auxiliary)
    )
    start = record.start.encode()
    head = bytes([flags, ENDINGS.index(record.ending)])
    numbers = (len(record), record.step, record.seed, len(start))
    parts = [head, *map(_varint, numbers), start]
    parts += [
        record.actions.astype(layout.action_dtype).tobytes(),
        record.seats.astype("<i1").tobytes(),
        counts.astype("<u2").tobytes(),
        actions.astype(layout.action_dtype).tobytes(),
        weights.astype("<u2").tobytes(),
        record.weights[searched].astype("<f4").tobytes(),
        record.surprise[searched].astype("<f4").tobytes(),
    ]
    kept_seats = 1 if mirrored else layout.seats
    parts += [np.ascontiguousarray(p[:, :kept_seats].T).astype("<f4").tobytes() for p in paid]
    if seen is not None:
        parts.append(seen.astype(layout.observation_dtype).tobytes())
    if record.auxiliary:
        parts.append(_varint(len(record.auxiliary)))
        for name, array in record.auxiliary.items():
            parts += [_varint(len(name.encode())), name.encode(), _varint(array.ndim - 1)]
            parts += [_varint(size) for size in array.shape[1:]]
            parts.append(array.astype("<f4").tobytes())
    return b"".join(parts)


def unpack(data: bytes | memoryview, place: int, layout: Layout) -> tuple[GameRecord, int]:
    """The record at a place of some bytes, and the place after it.

    Of a native game it has the actions with a probability only: `records_of` adds the others.

    :raises ReplayError: the bytes are no such record.
    """
    reader = _Reader(data, place)
    try:
        record = _unpacked(reader, layout)
    except (IndexError, ValueError, OverflowError, MemoryError) as error:
        raise ReplayError(f"A record cannot be understood: {error}.") from None
    return record, reader.place


def _unpacked(reader: _Reader, layout: Layout) -> GameRecord:
    flags, ending = reader.byte(), ENDINGS[reader.byte()]
    plies, step, seed, letters = (reader.varint() for _ in range(4))
    start = bytes(reader.array("<u1", letters)).decode()
    actions = reader.array(layout.action_dtype, plies).astype(np.int32)
    seats = reader.array("<i1", plies).astype(np.int8)
    offsets = np.zeros(plies + 1, np.int64)
    np.cumsum(reader.array("<u2", plies), out=offsets[1:])
    entries = int(offsets[-1])
    policy_actions = reader.array(layout.action_dtype, entries).astype(np.int32)
    policy = _normalised(reader.array("<u2", entries), offsets)
    searched = np.flatnonzero(offsets[1:] > offsets[:-1])

    def by_ply(width: int) -> NDArray[np.float32]:
        """Columns of the searched plies, zeros elsewhere."""
        column = np.zeros((plies, width), np.float32)
        column[searched] = reader.array("<f4", width * len(searched)).reshape(width, -1).T
        return column

    weights, surprise = by_ply(1)[:, 0], by_ply(1)[:, 0]
    mirrored = bool(flags & _MIRRORED)
    width = 1 if mirrored else layout.seats
    returns = _both(reader.array("<f4", width).astype(np.float32)[None], mirrored)[0]
    values = _both(by_ply(width), mirrored)
    rewards = None
    if flags & _REWARDS:
        rewards = reader.array("<f4", width * plies).reshape(width, -1).T
        rewards = _both(np.ascontiguousarray(rewards, np.float32), mirrored)
    observations = None
    if flags & _OBSERVATIONS:
        shape, dtype = layout.observation_shape, np.dtype(layout.observation_dtype)
        size = plies * int(np.prod(shape, dtype=np.int64))
        seen = reader.array(dtype, size).reshape(plies, *shape)
        observations = seen.astype(dtype.newbyteorder("="))
    return GameRecord(
        actions,
        seats,
        offsets,
        policy_actions,
        policy,
        values,
        weights,
        surprise,
        returns,
        rewards,
        observations,
        start,
        ending,
        step,
        seed,
        _auxiliary(reader, plies) if flags & _AUXILIARY else {},
    )


def _auxiliary(reader: _Reader, plies: int) -> dict[str, NDArray[np.float32]]:
    arrays = {}
    for _ in range(reader.varint()):
        name = bytes(reader.array("<u1", reader.varint())).decode()
        shape = (plies, *(reader.varint() for _ in range(reader.varint())))
        size = int(np.prod(shape, dtype=np.int64))
        arrays[name] = reader.array("<f4", size).astype(np.float32).reshape(shape)
    return arrays


def _both(column: NDArray[np.float32], mirrored: bool) -> NDArray[np.float32]:
    """`[n, S]` from `[n, S]`, or from one seat's where the other's is its opposite."""
    return np.concatenate([column, -column], axis=1) if mirrored else column


def _normalised(weights: NDArray[np.uint16], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    """Fractions as probabilities that add up to 1 in each ply."""
    upto = np.zeros(len(weights) + 1, np.int64)
    np.cumsum(weights, out=upto[1:])
    upto = upto[offsets]
    totals = np.maximum(upto[1:] - upto[:-1], 1)
    probabilities = weights / np.repeat(totals, offsets[1:] - offsets[:-1])
    return np.asarray(probabilities, np.float32)


class _Reader:
    """Goes through bytes from left to right."""

    def __init__(self, data: bytes | memoryview, place: int) -> None:
        self.data, self.place = data, place

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def varint(self) -> int:
        """Seven bits a byte, the lowest first; the eighth says that more follow."""
        number, shift = 0, 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise ValueError("a number has more than ten bytes")

    def array(self, dtype: Any, count: int) -> NDArray[Any]:
        size = np.dtype(dtype).itemsize * count
        if self.place + size > len(self.data):
            raise ValueError(f"{size} bytes are wanted, {len(self.data) - self.place} are left")
        found = np.frombuffer(self.data, dtype, count, self.place)
        self.place += size
        return found


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _check(record: GameRecord, layout: Layout) -> None:
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
                f"{seats} seats make it {wanted}."
            )
    if offsets[0] != 0 or offsets[-1] != entries or (offsets[1:] < offsets[:-1]).any():
        raise ReplayError(
            f"A record of {layout.game} has policy_offsets that do not rise from 0 to {entries}."
        )
    for name, codes in (("actions", record.actions), ("policy_actions", record.policy_actions)):
        wrong = codes[(codes < 0) | (codes >= layout.num_actions)]
        if len(wrong):
            raise ReplayError(
                f"A record of {layout.game} has {wrong[0]} in {name}: the game's actions are 0 to "
                f"{layout.num_actions - 1}."
            )
    if record.ending not in ENDINGS:
        raise ReplayError(f"A record has the ending {record.ending!r}: it is one of {ENDINGS}.")
    sums = np.add.reduceat(record.policy, offsets[record.searched]) if entries else np.ones(1)
    floats = [record.values, record.weights, record.surprise, record.returns, sums]
    if not all(np.isfinite(array).all() for array in floats) or (record.policy < 0).any():
        raise ReplayError(f"A record of {layout.game} has numbers that are not finite.")
    if (np.abs(sums - 1) > 1e-3).any():
        raise ReplayError(
            f"A record of {layout.game} has a policy target that adds up to "
            f"{sums[np.abs(sums - 1).argmax()]:.4f}, not to 1."
        )
