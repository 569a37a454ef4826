"""A cache of evaluations: evaluate each position once.

*Key.* The observation, the legal actions and the seat to move: all that a network depends on, so a
search finds the same with and without the cache. A chess observation includes up to eight boards,
so a position reached by another order of moves has another key, and usually another evaluation.
With `boards=1` the key ignores earlier boards, as in other engines: more positions are found, each
with the evaluation of the order of moves that came first. The search is then faster, but depends on
earlier searches.

Keys are 128-bit hashes: among ten million positions, a collision has probability 1e-25. A full
cache drops the least recently used entries.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError
from sylvan.evaluators.mates import MateFinder
from sylvan.evaluators.native import NativeEvaluator
from sylvan.evaluators.network import NetworkEvaluator
from sylvan.evaluators.protocol import Evaluator, Refreshable, encoding_of, name_of
from sylvan.evaluators.some_leaves import SomeLeaves

if TYPE_CHECKING:
    from torch import nn

    from sylvan.evaluators.protocol import Leaves
    from sylvan.games.encoding import Encoding

__all__ = ["Cached", "cache_of", "network_of"]

Floats = NDArray[np.float32]

OVERHEAD = 300
"""Bytes of an entry besides its numbers, measured by tracemalloc: key, `bytes` objects, tuple and
dictionary slot."""

Key = bytes
Entry = tuple[bytes, bytes]
"""Logits of the legal actions, and the value or values, as float32."""

HISTORY = {"lc0_112": (13, 8), "az119": (14, 8)}
"""Encoders whose planes include earlier boards: planes per board, and number of boards."""


class Cached:
    """An evaluator with a cache in front of it.

    Other attributes, such as `header`, `infer` and `preferred_batch`, are the evaluator's.

    :param evaluator: an evaluator that gives equal leaves equal answers.
    :param bytes: maximum memory of the entries.
    :param boards: boards of a chess observation that the key includes, the latest first; None: all.
    :raises ConfigError: a number is out of range, or the evaluator runs inside the core.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        bytes: int = 64 * 2**20,  # noqa: A002 (as in SearchConfig)
        *,
        boards: int | None = None,
    ) -> None:
        if bytes < 1:
            raise ConfigError(f"bytes is {bytes}: a cache needs memory; leave it out for none.")
        if boards is not None and not 1 <= boards <= 8:
            raise ConfigError(f"boards is {boards}: give 1 to 8, or None for all.")
        if isinstance(evaluator, NativeEvaluator):
            raise ConfigError(
                f"{evaluator!r} runs inside the search, faster than a cache: use it directly."
            )
        self.evaluator = evaluator
        self.bytes = bytes
        self.boards = boards
        self.lookups = 0
        """Number of leaves looked up."""
        self.hits = 0
        """Number of leaves found, in the cache or earlier in their batch."""
        self.used = 0
        """Current memory of the entries, in bytes."""
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._value_shape: tuple[int, ...] = ()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The evaluator's name."""
        return name_of(self.evaluator)

    @property
    def encoding(self) -> Encoding | None:
        """The evaluator's encoding."""
        return encoding_of(self.evaluator)

    @property
    def hit_rate(self) -> float:
        """Fraction of leaves found."""
        return self.hits / self.lookups if self.lookups else 0.0

    def __getattr__(self, name: str) -> Any:
        """Any other attribute of the evaluator."""
        # `evaluator` is missing while an object is copied; the others would bypass the cache.
        if name in ("evaluator", "submit", "collect"):
            raise AttributeError(name)
        return getattr(self.evaluator, name)

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        return True

    def clear(self) -> None:
        """Remove all entries and reset the counts."""
        with self._lock:
            self._entries.clear()
            self.lookups = self.hits = self.used = 0

    def refresh(self, network: nn.Module) -> None:
        """Load new weights into the evaluator, and remove all entries.

        :raises ConfigError: the evaluator has no `refresh`.
        """
        if not isinstance(self.evaluator, Refreshable):
            raise ConfigError(f"{self.name} has no refresh(): make a new evaluator instead.")
        self.evaluator.refresh(network)
        self.clear()

    def __call__(self, leaves: Leaves) -> tuple[Floats, Floats]:
        """Return logits of the legal actions and values, from the cache where possible."""
        keys = self._keys(leaves)
        new: dict[Key, int] = {}  # the first row of each new position
        with self._lock:
            entries = list(map(self._entries.get, keys))
            for row, key in enumerate(keys):
                if entries[row] is None:
                    new.setdefault(key, row)
                else:
                    self._entries.move_to_end(key)
            self.lookups += len(keys)
            self.hits += len(keys) - len(new)
        fresh: dict[Key, Entry] = {}
        if new:
            fresh = dict(zip(new, self._evaluated(leaves, list(new.values())), strict=True))
            self._remember(fresh)
        found = [entry or fresh[key] for key, entry in zip(keys, entries, strict=True)]
        logits = np.frombuffer(b"".join([entry[0] for entry in found]), np.float32)
        values = np.frombuffer(b"".join([entry[1] for entry in found]), np.float32)
        return logits, values.reshape(len(keys), *self._value_shape)

    def _keys(self, leaves: Leaves) -> list[Key]:
        """Hash each leaf. Slicing `bytes` is faster than slicing NumPy arrays."""
        count = len(leaves)
        observations = self._compared(leaves.observations).tobytes()
        moves, seats = leaves.actions.tobytes(), leaves.seats.tobytes()
        width = len(observations) // max(1, count)
        ends = (leaves.offsets * leaves.actions.itemsize).tolist()
        keys = []
        for row in range(count):
            data = (
                observations[row * width : (row + 1) * width]
                + moves[ends[row] : ends[row + 1]]
                + seats[8 * row : 8 * row + 8]
            )
            keys.append(blake2b(data, digest_size=16).digest())
        return keys

    def _compared(self, observations: NDArray[Any]) -> NDArray[Any]:
        """The part of observations that the key includes, with contiguous rows."""
        encoder = self.encoding.encoder if self.encoding is not None else None
        if self.boards is not None and encoder in HISTORY:
            planes, boards = HISTORY[encoder]
            old = np.arange(self.boards * planes, boards * planes)
            observations = np.delete(observations, old, axis=1)
        return np.ascontiguousarray(observations)

    def _evaluated(self, leaves: Leaves, rows: list[int]) -> list[Entry]:
        """Evaluate some leaves, and return their entries."""
        some: Leaves = leaves if len(rows) == len(leaves) else SomeLeaves(leaves, np.array(rows))
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
                if key not in self._entries:  # another thread may have added it
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


def cache_of(evaluator: Evaluator) -> Cached | None:
    """The cache in front of an evaluator's network; None if it has none."""
    inner = evaluator.evaluator if isinstance(evaluator, MateFinder) else evaluator
    return inner if isinstance(inner, Cached) else None


def network_of(evaluator: Evaluator) -> NetworkEvaluator | None:
    """The network that an evaluator runs, with or without a cache; None if it runs none."""
    while isinstance(evaluator, Cached | MateFinder):
        evaluator = evaluator.evaluator
    return evaluator if isinstance(evaluator, NetworkEvaluator) else None
