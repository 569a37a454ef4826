"""Rounds of Blob played by bots: training data for the time before self-play.

`make_rounds` plays them in Rust threads and stores the deal and the actions of every round, with
the value of each legal action if rollouts were used (see
`crates/sylvan-games/src/blob/bots/examples.rs`). Observations are recomputed when a batch is drawn.
A round is determined by the seed and its number, so an interrupted call can be resumed.

    folder/000000.rounds, 000001.rounds, ...    at most 15 MiB each
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sylvan import _native
from sylvan.errors import ConfigError, ReplayError
from sylvan.files import write_bytes
from sylvan.replay.batches import Batch
from sylvan.settings import Section

if TYPE_CHECKING:
    from sylvan.learning.pretrain import PretrainSection

__all__ = ["BlobRounds", "BlobStream", "RoundsConfig", "lesson", "make_rounds", "read_rounds"]

FILE_BYTES = 15 << 20
SUFFIX = ".rounds"
CHUNK_SECONDS = 3.0
"""The work that an interruption loses, and that Ctrl-C waits for."""

_PARTS = ("tables", "hands", "actions", "marks", "verdicts", "counts")


class RoundsConfig(Section):
    """Settings of the played rounds."""

    deals: int = Field(
        24,
        ge=0,
        le=4096,
        description="sampled deals in which the card counter plays out every legal action: the "
        "best is played, and all values are training data; 0: the card counter plays, and its "
        "choices are the data",
    )
    explore: float = Field(
        0.05, ge=0, le=1, description="share of random actions, for more varied data"
    )
    usual: float = Field(
        0.6, ge=0, le=1, description="share of rounds with five players and up to seven cards"
    )
    most_cards: int = Field(
        13,
        ge=1,
        le=13,
        description="cards per hand in the largest rounds; fewer are learned faster",
    )
    seed: int = Field(0, ge=0, description="seed of all rounds")


class BlobRounds:
    """The columns of R rounds."""

    def __init__(self, **parts: NDArray[Any]) -> None:
        """Take the arrays of `_native.blob_rounds` by name."""
        self.parts = {name: np.ascontiguousarray(parts[name]) for name in _PARTS}
        tables = parts["tables"].astype(np.int64)
        self.hand_at = _begins(tables[:, 0] * tables[:, 1])
        self.ply_at = _begins(tables[:, 0] * (tables[:, 1] + 1))
        self.verdict_at = _begins(parts["counts"].astype(np.int64))
        ends = (self.hand_at[-1], self.ply_at[-1], self.ply_at[-1], self.verdict_at[-1])
        names = ("hands", "actions", "marks", "verdicts")
        if any(len(parts[name]) != end for name, end in zip(names, ends, strict=True)):
            raise ReplayError("The rounds of Blob are truncated: make them again.")
        learned = np.concatenate([[0], np.cumsum(self.parts["marks"] > 0)])
        self.lessons = np.diff(learned[self.ply_at])
        """`[R]` training positions of each round."""

    def __len__(self) -> int:
        return len(self.parts["tables"])

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays, in memory and in a file."""
        return sum(part.nbytes for part in self.parts.values())

    @staticmethod
    def joined(some: Sequence[BlobRounds]) -> BlobRounds:
        """Concatenate rounds."""
        parts = {name: np.concatenate([each.parts[name] for each in some]) for name in _PARTS}
        return BlobRounds(**parts)

    @staticmethod
    def played(first: int, count: int, config: RoundsConfig, threads: int = 1) -> BlobRounds:
        """Play the rounds number `first` to `first + count - 1`."""
        settings = config.model_dump()
        arrays: Sequence[NDArray[Any]] = _native.blob_rounds(
            settings.pop("seed"), first, count, threads=threads, **settings
        )
        return BlobRounds(**dict(zip(_PARTS, arrays, strict=True)))

    def rows(self, numbers: NDArray[np.int64], temperature: float, threads: int = 1) -> Batch:
        """Return a batch with all training positions of some rounds.

        :raises ReplayError: a round breaks the rules.
        """
        part = self.parts
        observations, policy, legal, value = _native.blob_rows(
            part["tables"],
            part["hands"],
            part["actions"],
            part["marks"],
            part["verdicts"],
            self.hand_at,
            self.ply_at,
            self.verdict_at,
            numbers,
            temperature=temperature,
            threads=threads,
        )
        count = len(value)
        ones = np.ones(count, np.float32)
        where = np.stack([np.repeat(numbers, self.lessons[numbers]), np.zeros(count, np.int64)], 1)
        return Batch(observations, policy, legal, ones, value, ones, None, where)


def make_rounds(
    folder: Path,
    config: RoundsConfig,
    *,
    rounds: int | None = None,
    minutes: float | None = None,
    threads: int = 1,
    most_bytes: int | None = None,
    progress: Callable[[float, float | None], None] | None = None,
) -> tuple[int, int]:
    """Play rounds and append them to the files in a folder.

    :param rounds: stop at this number of rounds in the folder.
    :param minutes: stop after this time.
    :param most_bytes: stop when the files are larger than this.
    :param progress: called with the minutes or rounds done, and their total.
    :return: rounds and training positions in all files.
    :raises ConfigError: the folder has rounds with other settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(folder.glob(f"*{SUFFIX}"))
    stored = [_read(path, config) for path in files]
    done, lessons = sum(map(len, stored)), sum(int(each.lessons.sum()) for each in stored)
    size = sum(each.nbytes for each in stored)
    open_, number = (stored[-1], len(files) - 1) if stored else (None, -1)
    began, count = time.perf_counter(), 16 * threads
    while True:
        passed = time.perf_counter() - began
        if progress is not None:
            progress(passed / 60 if minutes else done, minutes or rounds)
        left = None if rounds is None else rounds - done
        over = minutes is not None and passed >= 60 * minutes
        if over or (left is not None and left <= 0) or (most_bytes or size) < size:
            return done, lessons
        count = count if left is None else min(count, left)
        asked = time.perf_counter()
        new = BlobRounds.played(done, count, config, threads)
        took = max(1e-3, time.perf_counter() - asked)
        if open_ is None or open_.nbytes + new.nbytes > FILE_BYTES:
            open_, number = new, number + 1
        else:
            open_ = BlobRounds.joined([open_, new])
        _write(folder / f"{number:06}{SUFFIX}", open_, config)
        done, lessons, size = done + count, lessons + int(new.lessons.sum()), size + new.nbytes
        rest = CHUNK_SECONDS if minutes is None else 60 * minutes - (asked + took - began)
        count = max(threads, int(count * min(4.0, min(CHUNK_SECONDS, max(rest, 0.1)) / took)))


def read_rounds(sources: Sequence[Path]) -> BlobRounds:
    """Read the rounds of files, or of all files in folders.

    :raises ConfigError: there are none.
    :raises ReplayError: a file has no rounds, or is truncated.
    """
    paths = [path for source in sources for path in _files(source)]
    if not paths:
        names = ", ".join(map(str, sources))
        raise ConfigError(
            f"There are no rounds of Blob in {names}: make some with `sylvan examples blob`."
        )
    return BlobRounds.joined([_read(path) for path in paths])


def _files(source: Path) -> Iterator[Path]:
    return iter(sorted(source.glob(f"*{SUFFIX}"))) if source.is_dir() else iter([source])


def _write(path: Path, rounds: BlobRounds, config: RoundsConfig) -> None:
    from safetensors.numpy import save

    about = json.dumps({"rounds_of": "blob", "settings": config.model_dump()})
    write_bytes(path, save(rounds.parts, metadata={"sylvan": about}))


def _read(path: Path, config: RoundsConfig | None = None) -> BlobRounds:
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import load_file

    try:
        with safe_open(path, "numpy") as file:
            about = json.loads((file.metadata() or {}).get("sylvan", "{}"))
        arrays = load_file(path) if about.get("rounds_of") == "blob" else None
    except (OSError, SafetensorError, ValueError) as error:
        raise ReplayError(f"{path} cannot be read ({error}): make it again.") from None
    if arrays is None or set(arrays) != set(_PARTS):
        raise ReplayError(f"{path} has no rounds of Blob: give files of `sylvan examples blob`.")
    if config is not None and about["settings"] != config.model_dump():
        raise ConfigError(
            f"{path} was made with {about['settings']}: go on with these settings, or give another "
            "folder."
        )
    return BlobRounds(**arrays)


def _begins(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `[n + 1]` offsets: the start of each part, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


class BlobStream:
    """Draws batches from rounds, in a new order every epoch; one round in fifty is held out.

    :param temperature: verdicts become probabilities in proportion to exp(utility / temperature).
    """

    def __init__(self, rounds: BlobRounds, temperature: float, threads: int = 1) -> None:
        self.damage: list[str] = []
        self._rounds, self._temperature, self._threads = rounds, temperature, threads
        numbers = np.flatnonzero(rounds.lessons > 0)
        held_out = np.arange(len(numbers)) % HELD_OUT == HELD_OUT - 1
        self._trained, self._held_out = numbers[~held_out], numbers[held_out]
        self._order = self._trained[:0]
        self._left: Batch | None = None
        self.positions = int(rounds.lessons[self._trained].sum())
        """The number of training positions."""

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """Return the next positions, in a shuffled order of rounds."""
        parts = [] if self._left is None else [self._left]
        have = sum(map(len, parts))
        while have < count:
            if not len(self._order):
                self._order = rng.permutation(self._trained)
            enough = np.cumsum(self._rounds.lessons[self._order[: count - have]])
            take = int(np.searchsorted(enough, count - have)) + 1
            parts.append(self._rounds.rows(self._order[:take], self._temperature, self._threads))
            have += len(parts[-1])
            self._order = self._order[take:]
        batch = parts[0] if len(parts) == 1 else _joined(parts)
        self._left = batch.part(count, have) if have > count else None
        return batch.part(0, count)

    def held_out(self) -> Batch | None:
        """Return the held-out positions; None if there are none."""
        if not len(self._held_out):
            return None
        enough = np.searchsorted(np.cumsum(self._rounds.lessons[self._held_out]), TESTED) + 1
        return self._rounds.rows(self._held_out[:enough], self._temperature).part(0, TESTED)


def lesson(
    sources: Sequence[Path], section: PretrainSection, tell: Callable[[str], None]
) -> BlobStream:
    """Open the data of `sylvan pretrain --game blob`: folders made by `sylvan examples`."""
    rounds = BlobStream(read_rounds(sources), section.temperature)
    tell(f"{rounds.positions:,} decisions to learn from.")
    return rounds


HELD_OUT = 50
"""One round in this many is held out."""

TESTED = 8192
"""The most held-out positions for a test."""


def _joined(parts: Sequence[Batch]) -> Batch:
    def all_(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    return Batch(
        all_("observations"),
        all_("policy"),
        all_("legal"),
        all_("policy_weight"),
        all_("value"),
        all_("weight"),
        None,
        all_("positions"),
    )
