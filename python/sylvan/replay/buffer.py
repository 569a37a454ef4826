"""The replay: games on the disk, the newest of them in memory, batches drawn from those.

Batches are drawn from a window of the newest positions, which grows with the run (`ReplayConfig`).
A batch depends on the records, the settings and the generator alone. All methods may be called from
several threads.
"""

from __future__ import annotations

import base64
import itertools
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ReplayError
from sylvan.games.encoding import Encoding
from sylvan.games.naming import GameSpec
from sylvan.networks.header import NetworkHeader, ValueKind
from sylvan.replay.batches import Batch, BatchMaker
from sylvan.replay.columns import Column
from sylvan.replay.config import ReplayConfig
from sylvan.replay.draws import WeightedDraw
from sylvan.replay.packing import Block, Layout
from sylvan.replay.record import GameRecord
from sylvan.replay.shards import (
    Damage,
    DamagedHeader,
    Shard,
    read_blocks,
    read_header,
    records_of,
)
from sylvan.replay.targets import TargetConfig
from sylvan.replay.window import Window

__all__ = ["Replay", "ReplayConfig"]


class Replay:
    """The games of a run.

    :param folder: of the shards; made if it is not there.
    :param spec: the game.
    :param config: what to keep and how to draw.
    :param targets: what the value shall be learned from.
    :param value: what the network's value output is; by default what suits the game.
    :param encoding: what the network sees, where the game has several ways to show itself.
    :raises ReplayError: the folder has games of another game.
    """

    _window_class: type[Window] = Window

    def __init__(
        self,
        folder: str | PathLike[str],
        spec: GameSpec,
        config: ReplayConfig | None = None,
        *,
        targets: TargetConfig | None = None,
        value: ValueKind | None = None,
        encoding: Encoding | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.spec, self.config = spec, config or ReplayConfig()
        self.damage: list[str] = []
        """A sentence for each place of a file that could not be read; its records are left out."""
        self._targets = targets or TargetConfig()
        self._layout = Layout.of(spec)
        self._maker = BatchMaker(
            spec, encoding, symmetries=self.config.symmetries, threads=self.config.threads
        )
        self._kind = value or NetworkHeader.for_game(_seen(spec)).value
        self._lock = threading.RLock()
        self._records = self._positions = 0
        self._marked = 0  # the window's first row at the last mark
        self._window: Window | None = None
        self._shard: Shard | None = None
        self._draw: WeightedDraw | None = None
        self._frequencies = 0.0  # of all rows in the window
        self._priorities = Column(np.float32)
        self._highest = 1.0
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self._paths():
            self._head(path)

    # --- what is there ------------------------------------------------------------------------

    @property
    def records(self) -> int:
        """Games so far."""
        with self._lock:
            self._loaded()
            return self._records

    @property
    def positions(self) -> int:
        """Positions so far that can be learned from, those that left the window included."""
        with self._lock:
            self._loaded()
            return self._positions

    @property
    def window(self) -> int:
        """Positions that batches are drawn from."""
        with self._lock:
            rows = self._loaded()
            return rows.end - self._begin(rows)

    @property
    def nbytes(self) -> int:
        """Memory that the window takes."""
        with self._lock:
            return self._loaded().nbytes

    def __iter__(self) -> Iterator[GameRecord]:
        """The records on the disk, the oldest first."""
        return self.read(self.folder, on_damage=lambda _: None)

    @staticmethod
    def read(
        folder: str | PathLike[str], on_damage: Callable[[Damage], None] | None = None
    ) -> Iterator[GameRecord]:
        """The records of a run's replay folder, the oldest first; see `records_of`."""
        paths = sorted(Path(folder).glob("*.shard"))
        if not paths:
            raise ReplayError(f"{folder} has no shards: give the folder 'replay' of a run.")
        for path in paths:
            yield from records_of(path, on_damage)

    # --- writing ------------------------------------------------------------------------------

    def append(self, records: Sequence[GameRecord], together: int = 8) -> None:
        """Store games and let them into the window.

        :param together: records per frame of a file: so many are lost where a byte is damaged.
        :raises ReplayError: one does not fit the game, or the disk is full; nothing is stored.
        """
        with self._lock:
            rows = self._loaded()
            if not records:
                return
            rows.check_auxiliary(records[0].auxiliary)
            # What is learned from is what a resumed run will read, rounding included.
            for block in self._open_shard().append(records, together):
                self._add(block, rows)
            rows.drop(self._begin(rows))
            self._priorities.drop(rows.begin)
            self._draw = None

    def _add(self, block: Block, rows: Window) -> None:
        added = rows.add(block)
        self._priorities.extend(np.full(added, self._highest, np.float32))
        self._records += len(block)
        self._positions += added

    def _open_shard(self) -> Shard:
        """The file to append to: the last one, or the next if that is full."""
        if self._shard is None:
            paths = self._paths()
            path = paths[-1] if paths else self.folder / _name(0)
            if paths and self._head(path) is None:
                path = self.folder / _name(int(path.stem) + 1)
            self._shard = Shard(path, self._layout, (self._records, self._positions))
        if self._shard.length > self.config.shard_megabytes * 2**20:
            number = int(self._shard.path.stem) + 1
            self._shard.sync()
            path = self.folder / _name(number)
            self._shard = Shard(path, self._layout, (self._records, self._positions))
        return self._shard

    # --- checkpoints --------------------------------------------------------------------------

    def mark(self) -> dict[str, Any]:
        """What a checkpoint must say to come back here: plain data for JSON.

        Everything appended so far is on the disk afterwards. Files that had left the window at the
        mark before this one are deleted, unless they are to be kept.
        """
        with self._lock:
            rows = self._loaded()
            if self._shard is not None:
                self._shard.sync()
            if not self.config.keep_shards:
                self._delete_before(self._marked)
            self._marked = self._begin(rows)
            mark: dict[str, Any] = {
                "shards": {path.name: path.stat().st_size for path in self._paths()},
                "records": self._records,
                "positions": self._positions,
            }
            if self.config.prioritised:
                begin = np.arange(self._marked, rows.end)
                packed = zlib.compress(self._priorities[begin].astype("<f4").tobytes())
                mark["priorities"] = base64.b64encode(packed).decode()
                mark["highest_priority"] = self._highest
            return mark

    def restore(self, mark: dict[str, Any]) -> None:
        """Go back to a mark: what was appended since is cut off.

        Files that are missing or too short are named in `damage`; the others are used.
        """
        with self._lock:
            self.close()
            lengths: dict[str, int] = mark["shards"]
            for path in self._paths():
                if path.name not in lengths:
                    path.unlink()
                elif path.stat().st_size > lengths[path.name]:
                    with path.open("r+b") as file:
                        file.truncate(lengths[path.name])
            for name, length in lengths.items():
                path = self.folder / name
                found = path.stat().st_size if path.exists() else 0
                if found < length:
                    self.damage.append(
                        f"{path} has {found} bytes of the {length} that it had at the last "
                        "checkpoint: games that were there are lost."
                    )
            self._load()
            self._records, self._positions = mark["records"], mark["positions"]
            if "priorities" in mark:
                self._set_priorities(mark)

    def _set_priorities(self, mark: dict[str, Any]) -> None:
        rows = self._loaded()
        self._highest = float(mark["highest_priority"])
        packed = zlib.decompress(base64.b64decode(mark["priorities"]))
        kept = np.frombuffer(packed, "<f4")
        count = min(len(kept), rows.end - rows.begin)
        self._priorities = Column(np.float32, (), rows.begin)
        self._priorities.extend(np.full(rows.end - rows.begin - count, self._highest, np.float32))
        self._priorities.extend(kept[len(kept) - count :])

    def close(self) -> None:
        """Let go of the memory; the next call that needs it reads the files again."""
        with self._lock:
            self._shard = self._window = self._draw = None

    def _delete_before(self, row: int) -> None:
        """Delete files whose positions all come before a row."""
        paths = self._paths()
        for path, following in itertools.pairwise(paths):
            header = self._head(following)
            if header is None or header[0]["positions_before"] > row:
                return
            path.unlink()

    # --- reading ------------------------------------------------------------------------------

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.shard"))

    def _loaded(self) -> Window:
        if self._window is None:
            self._load()
        assert self._window is not None
        return self._window

    def _load(self) -> None:
        """Read the window from the files."""
        self._draw, self._highest = None, 1.0
        paths = self._paths()
        heads = [self._head(path) for path in paths]
        self.damage += [
            f"{p} has a damaged header." for p, h in zip(paths, heads, strict=True) if not h
        ]
        paths, heads = self._needed(paths, heads)
        first = heads[0][0] if heads and heads[0] else {}
        self._records = first.get("records_before", 0)
        self._positions = first.get("positions_before", 0)
        self._window = rows = self._window_class(
            self._layout,
            (self._records, self._positions),
            self._kind,
            self._targets,
            self.config.surprise_share,
            self.spec.first(),
        )
        self._priorities = Column(np.float32, (), self._positions)
        for path, head in zip(paths, heads, strict=True):
            # A damaged header tells nothing that is not known, so its records are found without.
            begin = head[1] if head else 0
            noted: list[Damage] = []
            for block in read_blocks(path, self._layout, begin=begin, on_damage=noted.append):
                self._add(block, rows)
            rows.drop(self._begin(rows))
            self.damage += [str(damage) for damage in noted if not damage.tail]
        self._priorities.drop(rows.begin)
        self._marked = self._begin(rows)

    def _needed(self, paths: list[Path], heads: list[Any]) -> tuple[list[Path], list[Any]]:
        """The files that are not wholly before the window."""
        known = [head[0]["positions_before"] for head in heads if head]
        if not known:
            return paths, heads
        least = known[-1] - self.config.window(known[-1])
        skip = 0
        for number in range(1, len(paths)):
            head = heads[number]
            if head and head[0]["positions_before"] <= least:
                skip = number
        return paths[skip:], heads[skip:]

    def _head(self, path: Path) -> tuple[dict[str, Any], int] | None:
        """A file's header and where its frames begin; None if the header is damaged.

        :raises ReplayError: it has games of another game.
        """
        try:
            return read_header(path, self._layout)
        except DamagedHeader:
            return None

    # --- drawing ------------------------------------------------------------------------------

    def _begin(self, rows: Window) -> int:
        """The window's first row."""
        return max(rows.begin, rows.end - self.config.window(self._positions))

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """Draw positions from the window, with replacement.

        :param rng: says which ones, and how their symmetries fall.
        :raises ReplayError: nothing is stored yet.
        """
        with self._lock:
            rows = self._loaded()
            if rows.end == rows.begin:
                raise ReplayError(f"{self.folder} has no positions yet: play some games first.")
            drawn, weight = self._drawn(rows, count, rng)
            picked = rows.pick(drawn)
        return self._maker.make(picked, weight, rng)

    def _drawn(
        self, rows: Window, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and their importance weights."""
        begin, end = self._begin(rows), rows.end
        if not self.config.prioritised and self.config.surprise_share == 0:
            return rng.integers(begin, end, count), np.ones(count, np.float32)
        if self._draw is None:
            window = np.arange(begin, end)
            self._draw = WeightedDraw(self._draw_weights(rows, window), begin)
            self._frequencies = float(rows.frequency[window].sum(dtype=np.float64))
        drawn, chances = self._draw(count, rng)
        if not self.config.prioritised:
            return drawn, np.ones(count, np.float32)
        fair = rows.frequency[drawn] / self._frequencies
        weight = (fair / chances) ** self.config.beta
        return drawn, (weight / weight.max()).astype(np.float32)

    def _draw_weights(self, rows: Window, places: NDArray[np.int64]) -> NDArray[np.float64]:
        weights = rows.frequency[places].astype(np.float64)
        if self.config.prioritised:
            weights *= self._priorities[places].astype(np.float64) ** self.config.alpha
        return weights

    def update_priorities(
        self, places: NDArray[np.int64], priorities: NDArray[np.floating[Any]]
    ) -> None:
        """Say how much there is still to learn from some positions: their losses.

        :param places: `Batch.places`; those that have left the window are passed over.
        :param priorities: `[B]` positive.
        """
        given = np.asarray(priorities, np.float32)
        if given.shape != places.shape[:1] or not (np.isfinite(given) & (given > 0)).all():
            raise ReplayError(
                f"Priorities must be {len(places)} positive numbers, one for each place."
            )
        with self._lock:
            rows = self._loaded()
            found = rows.rows_of(places)
            known = found >= self._begin(rows)
            found, given = found[known], given[known]
            if not len(found):
                return
            self._priorities.flat[found - self._priorities.begin] = given
            self._highest = max(self._highest, float(given.max()))
            if self._draw is not None:
                self._draw.set(found, self._draw_weights(rows, found))


def _name(number: int) -> str:
    return f"{number:06}.shard"


def _seen(spec: GameSpec) -> Any:
    """A state in which a seat moves."""
    state = spec.first()
    while state.is_chance():
        state.apply(state.chance_outcomes()[0][0])
    return state
