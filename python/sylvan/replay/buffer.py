"""The replay: games on the disk, and the newest positions in memory to draw batches from.

Batches are drawn from a window of the newest positions, which grows with the run (`ReplayConfig`).
A batch depends only on the records, the settings and the generator. All methods are thread-safe.
"""

from __future__ import annotations

import base64
import itertools
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ReplayError
from sylvan.games.encoding import Encoding
from sylvan.games.game import Game
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


Head: TypeAlias = tuple[dict[str, Any], int]
"""A file's header, and the offset of its first frame."""


class Replay:
    """The games of a run.

    :param folder: the folder of the shards; created if missing.
    :param spec: the game.
    :param config: size of the window, and sampling.
    :param targets: settings of the value target.
    :param value: format of the network's value output; None: the game's default.
    :param encoding: the network's encoding, if the game has several.
    :raises ReplayError: the folder has records of another game.
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
        """A message for each damaged part of a file; its records are skipped."""
        self._targets = targets or TargetConfig()
        self._layout = Layout.of(spec)
        self._maker = BatchMaker(
            spec, encoding, symmetries=self.config.symmetries, threads=self.config.threads
        )
        self._kind = value or NetworkHeader.for_game(_first_decision(spec)).value
        self._lock = threading.RLock()
        self._records = self._positions = 0
        self._marked = 0  # first row of the window at the last `mark`
        self._window: Window | None = None
        self._shard: Shard | None = None
        self._draw: WeightedDraw | None = None
        self._frequencies = 0.0  # sum over all rows of the window
        self._priorities = Column(np.float32)
        self._highest = 1.0
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self._paths():
            self._head(path)

    # --- size and contents --------------------------------------------------------------------

    @property
    def records(self) -> int:
        """Games so far."""
        with self._lock:
            self._loaded()
            return self._records

    @property
    def positions(self) -> int:
        """Searched positions so far, including those that left the window."""
        with self._lock:
            self._loaded()
            return self._positions

    @property
    def window(self) -> int:
        """Number of positions in the window."""
        with self._lock:
            rows = self._loaded()
            return rows.end - self._begin(rows)

    @property
    def nbytes(self) -> int:
        """Memory of the window, in bytes."""
        with self._lock:
            return self._loaded().nbytes

    def __iter__(self) -> Iterator[GameRecord]:
        """Iterate over the records on the disk, oldest first."""
        return self.read(self.folder, on_damage=lambda _: None)

    @staticmethod
    def read(
        folder: str | PathLike[str], on_damage: Callable[[Damage], None] | None = None
    ) -> Iterator[GameRecord]:
        """Iterate over the records of a replay folder, oldest first; see `records_of`."""
        paths = sorted(Path(folder).glob("*.shard"))
        if not paths:
            raise ReplayError(f"{folder} has no shards: give the folder 'replay' of a run.")
        for path in paths:
            yield from records_of(path, on_damage)

    # --- writing ------------------------------------------------------------------------------

    def append(self, records: Sequence[GameRecord], together: int = 8) -> None:
        """Store games and add them to the window.

        :param together: records per frame; a damaged byte loses one frame.
        :raises ReplayError: a record does not fit the game, or the disk is full; none is stored.
        """
        with self._lock:
            rows = self._loaded()
            if not records:
                return
            rows.check_auxiliary(records[0].auxiliary)
            # Add the games as a resumed run will read them, with rounded probabilities.
            self._add(Block.joined(self._open_shard().append(records, together)), rows)
            rows.drop(self._begin(rows))
            self._priorities.drop(rows.begin)
            self._draw = None

    def _add(self, block: Block, rows: Window) -> None:
        added = rows.add(block)
        self._priorities.extend(np.full(added, self._highest, np.float32))
        self._records += len(block)
        self._positions += added

    def _open_shard(self) -> Shard:
        """The file to append to: the last one, or a new one if that is full."""
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
        """The state for a checkpoint, as data for JSON; see `restore`.

        Flushes everything appended so far to the disk. Without `keep_shards`, deletes files that
        had left the window at the previous mark.
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
        """Return to the state of a mark; later records are removed.

        Missing and truncated files are reported in `damage`; the others are used.
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
                        f"{path} has {found} bytes of the {length} at the last checkpoint: the "
                        "games in the missing part are lost."
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
        """Free the memory; the next call that needs it reads the files again."""
        with self._lock:
            self._shard = self._window = self._draw = None

    def _delete_before(self, row: int) -> None:
        """Delete files whose positions are all before a row."""
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
            # Records can be found without the header, whose fields are known.
            begin = head[1] if head else 0
            noted: list[Damage] = []
            for block in read_blocks(path, self._layout, begin=begin, on_damage=noted.append):
                self._add(block, rows)
            rows.drop(self._begin(rows))
            self.damage += [str(damage) for damage in noted if not damage.tail]
        self._priorities.drop(rows.begin)
        self._marked = self._begin(rows)

    def _needed(
        self, paths: list[Path], heads: list[Head | None]
    ) -> tuple[list[Path], list[Head | None]]:
        """The files with positions in the window."""
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

    def _head(self, path: Path) -> Head | None:
        """A file's header and the offset of its first frame; None if the header is damaged.

        :raises ReplayError: the file has records of another game.
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

        :param rng: draws the positions and their symmetries.
        :raises ReplayError: the window is empty.
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
        """Draw rows; return them and their importance weights."""
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

    def _draw_weights(self, rows: Window, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        weights = rows.frequency[numbers].astype(np.float64)
        if self.config.prioritised:
            weights *= self._priorities[numbers].astype(np.float64) ** self.config.alpha
        return weights

    def update_priorities(
        self, positions: NDArray[np.int64], priorities: NDArray[np.floating[Any]]
    ) -> None:
        """Set the priorities of some positions, usually their losses.

        :param positions: `Batch.positions`, record and ply; those that left the window are ignored.
        :param priorities: `[B]` positive.
        """
        given = np.asarray(priorities, np.float32)
        if given.shape != positions.shape[:1] or not (np.isfinite(given) & (given > 0)).all():
            raise ReplayError(
                f"Priorities must be {len(positions)} positive numbers, one for each position."
            )
        with self._lock:
            rows = self._loaded()
            found = rows.rows_of(positions)
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


def _first_decision(spec: GameSpec) -> Game:
    """The first state in which a seat moves; chance takes its first outcome."""
    state = spec.first()
    while state.is_chance():
        state.apply(state.chance_outcomes()[0][0])
    return state
