"""An evaluator that remembers: a position that was evaluated before is not evaluated again.

Two leaves are the same if their observation, their legal actions and the seat to move are. That is
all a network sees, so the search finds what it would have found without a cache. Observations of
chess show up to eight boards; a position that is reached by another order of moves looks different,
and its evaluation usually is. `boards=1` leaves older boards out of the comparison, as other
engines do: more positions are found again, each with the evaluation of the order of moves that came
first. Search is then faster, and its result depends on what was searched before.

Entries are found by a hash of 128 bits; of ten million positions two share one with probability
1e-25. The least recently used go when the cache is full.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.evaluators.protocol import Leaves
    from sylvan.games import Game
    from sylvan.games.encoding import Encoding

__all__ = ["Cached"]

Floats = NDArray[np.float32]

# Memory of an entry beside its numbers, as measured by tracemalloc: the hash, the two rows of
# numbers and their pair, its place in the dictionary and in the order of use.
OVERHEAD = 300

Key = bytes
Entry = tuple[bytes, bytes]
"""The logits of the legal actions and the value or values, as float32."""

# Encoders whose planes show earlier boards: how many planes a board takes, and how many there are.
HISTORY = {"lc0_112": (13, 8), "az119": (14, 8)}


class Cached:
    """Another evaluator, with a memory of so many bytes.

    :param evaluator: any function from leaves to logits and values whose answers repeat.
    :param bytes: that entries may take.
    :param boards: of a chess observation, now and before, that must be equal; None for all.
    """

    def __init__(
        self,
        evaluator: Any,
        bytes: int = 64 * 2**20,  # noqa: A002 (as in SearchConfig)
        *,
        boards: int | None = None,
    ) -> None:
        if bytes < 1:
            raise ConfigError(f"bytes is {bytes}: a cache needs memory; leave it out for none.")
        if boards is not None and not 1 <= boards <= 8:
            raise ConfigError(f"boards is {boards}: give 1 to 8, or None for all.")
        if hasattr(evaluator, "native"):
            raise ConfigError(
                f"{evaluator!r} runs inside the search, quicker than a cache: use it as it is."
            )
        self.evaluator = evaluator
        self.bytes = bytes
        self.boards = boards
        self.lookups = 0
        """Leaves that were looked up."""
        self.hits = 0
        """Leaves that were found, in the cache or earlier in their own batch."""
        self.used = 0
        """Bytes that entries take now."""
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._value_shape: tuple[int, ...] = ()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of what is cached."""
        return str(getattr(self.evaluator, "name", type(self.evaluator).__name__))

    @property
    def encoding(self) -> Encoding | None:
        """How a game must show itself."""
        encoding: Encoding | None = getattr(self.evaluator, "encoding", None)
        return encoding

    @property
    def hit_rate(self) -> float:
        """Share of leaves that were found."""
        return self.hits / self.lookups if self.lookups else 0.0

    def __getattr__(self, name: str) -> Any:
        """Whatever else the evaluator has: `header`, `infer`, `preferred_batch`."""
        # `evaluator` is not set yet while copying; the others would go past the cache.
        if name in ("evaluator", "submit", "collect"):
            raise AttributeError(name)
        return getattr(self.evaluator, name)

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        return True

    def clear(self) -> None:
        """Forget everything, counts too."""
        with self._lock:
            self._entries.clear()
            self.lookups = self.hits = self.used = 0

    def refresh(self, network: Any) -> None:
        """Let the evaluator take over another network, and forget what the old one said."""
        self.evaluator.refresh(network)
        self.clear()

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Logits of the legal actions and values, evaluated or remembered."""
        keys = self._keys(leaves)
        new: dict[Key, int] = {}  # the row where a position comes first
        with self._lock:
            entries = list(map(self._entries.get, keys))
            for row, key in enumerate(keys):
                if entries[row] is None:
                    new.setdefault(key, row)
                else:
                    self._entries.move_to_end(key)
            self.lookups += len(keys)
            self.hits += len(keys) - len(new)
        found: Any = entries
        if new:
            fresh = dict(zip(new, self._evaluated(leaves, list(new.values())), strict=True))
            self._remember(fresh)
            found = [entry or fresh[key] for key, entry in zip(keys, entries, strict=True)]
        logits = np.frombuffer(b"".join([entry[0] for entry in found]), np.float32)
        values = np.frombuffer(b"".join([entry[1] for entry in found]), np.float32)
        return logits, values.reshape(len(keys), *self._value_shape)

    def _keys(self, leaves: Leaves) -> list[Key]:
        """A hash of each leaf. Bytes are cut by Python, which is quicker at it than NumPy."""
        count = len(leaves)
        seen, moves = self._compared(leaves.observations).tobytes(), leaves.actions.tobytes()
        seats, width = leaves.seats.tobytes(), len(seen) // max(1, count)
        ends = (leaves.offsets * leaves.actions.itemsize).tolist()
        keys = []
        for row in range(count):
            data = (
                seen[row * width : (row + 1) * width]
                + moves[ends[row] : ends[row + 1]]
                + seats[8 * row : 8 * row + 8]
            )
            keys.append(blake2b(data, digest_size=16).digest())
        return keys

    def _compared(self, observations: NDArray[Any]) -> NDArray[Any]:
        """What must be equal of observations, a contiguous row each."""
        encoder = self.encoding.encoder if self.encoding is not None else None
        if self.boards is not None and encoder in HISTORY:
            planes, most = HISTORY[encoder]
            old = np.arange(self.boards * planes, most * planes)
            observations = np.delete(observations, old, axis=1)
        return np.ascontiguousarray(observations)

    def _evaluated(self, leaves: Leaves, rows: list[int]) -> list[Entry]:
        """Entries of some leaves."""
        some: Any = leaves if len(rows) == len(leaves) else _Some(leaves, np.array(rows))
        policy, values = (np.asarray(each, np.float32) for each in self.evaluator(some))
        if policy.ndim == 2:
            counts = np.diff(some.offsets)
            policy = policy[np.repeat(np.arange(len(some)), counts), some.logit_indices]
        self._value_shape = values.shape[1:]
        logits, worth, size = policy.tobytes(), values.tobytes(), values.nbytes // len(some)
        ends = (some.offsets * policy.itemsize).tolist()
        return [
            (logits[ends[row] : ends[row + 1]], worth[row * size : (row + 1) * size])
            for row in range(len(some))
        ]

    def _remember(self, entries: dict[Key, Entry]) -> None:
        with self._lock:
            for key, entry in entries.items():
                if key not in self._entries:  # another thread may have been first
                    self.used += _size(entry)
                self._entries[key] = entry
            while self.used > self.bytes:
                _, old = self._entries.popitem(last=False)
                self.used -= _size(old)

    def __repr__(self) -> str:
        return (
            f"Cached({self.evaluator!r}, {self.hit_rate:.0%} of {self.lookups:,} found, "
            f"{self.used / 2**20:.1f} of {self.bytes / 2**20:.1f} MiB)"
        )


def _size(entry: Entry) -> int:
    return OVERHEAD + len(entry[0]) + len(entry[1])


class _Some:
    """Some rows of `Leaves`, for an evaluator that cannot tell the difference."""

    def __init__(self, leaves: Leaves, rows: NDArray[np.int64]) -> None:
        self.leaves, self.rows = leaves, rows
        self.forest, self.num_logits = leaves.forest, leaves.num_logits
        self.trees, self.seats, self.tickets = (
            each[rows] for each in (leaves.trees, leaves.seats, leaves.tickets)
        )
        counts = np.diff(leaves.offsets)[rows]
        self.offsets = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(leaves.offsets[rows] - self.offsets[:-1], counts)
        places += np.arange(len(places))
        self.actions, self.logit_indices = leaves.actions[places], leaves.logit_indices[places]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def observations(self) -> NDArray[Any]:
        return self.leaves.observations[self.rows]

    def observe(self, out: NDArray[Any]) -> None:
        out[...] = self.observations

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        return self.leaves.mask[self.rows]

    def legal(self, leaf: int) -> NDArray[np.int64]:
        return self.leaves.legal(int(self.rows[leaf]))

    def state(self, leaf: int) -> Game:
        return self.leaves.state(int(self.rows[leaf]))

    @property
    def states(self) -> list[Game]:
        return [self.state(leaf) for leaf in range(len(self))]
