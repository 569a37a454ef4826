"""Leases of a cluster: a part of a step's games, as a record that any worker can play.

A step's lease (`sylvan.selfplay.leases`) is cut into parts, which are handed out, and so is each
pairing of a rating (`sylvan.ratings.pairings`); the searches of a batch's new targets
(`sylvan.muzero.reanalyse`) are leases too. Everything that
determines the games of a part stands in its record, as numbers and hashes, so playing it twice
gives the same bytes on any worker. Its name contains a hash of the whole record: two records with
one name are one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

__all__ = ["PROTOCOL", "Done", "Lease", "content_hash", "cut"]

PROTOCOL = 3
"""Version of the messages, shards and leases; workers with another one are refused."""


def content_hash(data: bytes) -> str:
    """The name of some bytes in the storage.

    >>> content_hash(b"weights")
    '873ac3c6df553eaa62331fd4ff9b521a'
    """
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Lease:
    """Games `first` to `first + count` of a run."""

    run: str
    """The run's identity."""
    step: int
    """The step whose games these are; leases of lower steps go first."""
    first: int
    """The first game; no two leases of a run share a game of self-play, so it numbers the lease
    too. The games of each pairing begin with 0, and so do the positions of each search job."""
    count: int
    network: str
    """Hash of the network's file."""
    settings: str
    """Hash of the recipe: game, self-play, search, evaluation profile."""
    positions: str = ""
    """Hash of the positions to start from; empty: there are none."""
    unfinished: str = ""
    """Hash of the episodes that its first games continue; empty: there are none."""
    kind: Literal["selfplay", "rating", "reanalysis"] = "selfplay"
    other: str = ""
    """Hash of the file of the opponent's network in a rating; empty: it has none."""
    task: str = ""
    """Hash of what else is given: a rating's pairing, or the positions to search again."""
    protocol: int = PROTOCOL

    @cached_property
    def name(self) -> str:
        """The name of its shard: leases sort by it."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return f"{self.step:07d}-{self.first:010d}-{content_hash(text.encode())[:12]}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Lease:
        """The lease from `to_dict`."""
        return cls(**fields)


@dataclass(frozen=True)
class Done:
    """A lease that a worker has played: what it reports, a few hundred bytes."""

    name: str
    """Of the lease."""
    worker: str
    checksum: str
    """Of the games in the shard."""
    size: int
    """Bytes of the shard."""
    seconds: float
    """From the first game's start to the last one's end, by the worker's clock."""
    games: int = 0
    positions: int = 0
    simulations: int = 0
    figures: dict[str, float] = field(default_factory=dict)
    """Sums for the run's metrics: batches, rows, seconds in the network, ..."""
    machine: str = ""
    """Of the worker."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def cut(first: int, count: int, size: int) -> Iterator[tuple[int, int]]:
    """First game and number of games of each part; sizes differ by at most one.

    >>> list(cut(100, 10, 4))
    [(100, 4), (104, 3), (107, 3)]
    """
    parts = max(1, -(-count // size))
    small, larger = divmod(count, parts)
    for part in range(parts):
        games = small + (part < larger)
        yield first, games
        first += games
