"""Read games and labelled positions from files as records.

- **PGN**: the played move is the policy target, the result the value target. A comment
  `[%eval 0.17]`, as in Lichess games, is the root value of the position after the move.
- **Labelled positions**, one per line of JSON or row of CSV: `fen` (or `start`, a position in the
  game's own notation), `move` or `policy` (moves to probabilities), and one of `value` (-1 to 1),
  `cp` (centipawns) and `mate` (moves to it), all for the side to move.
- **Puzzles**: rows with a solution, or lines of EPD (`puzzles`).

A centipawn evaluation becomes tanh(cp / scale). Unusable examples are skipped and counted.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from pydantic import Field

from sylvan.errors import ConfigError, SylvanError
from sylvan.games.naming import GameSpec
from sylvan.learning.pgn_stream import PgnGame, pgn_games
from sylvan.learning.puzzles import epd_rows, is_puzzle, puzzle_record
from sylvan.replay.record import GameRecord
from sylvan.settings import Section

__all__ = ["ExamplesConfig", "Skipped", "labelled_records", "pgn_records", "read_examples"]

Format = Literal["auto", "pgn", "jsonl", "csv", "epd"]

VARIANTS = ("standard", "chess", "chess960", "fischerandom", "from position")
"""Accepted values of the PGN tag `Variant`."""


class ExamplesConfig(Section):
    """Which examples to use."""

    min_elo: int = Field(default=0, ge=0, description="minimum rating of both players")
    skip_plies: int = Field(
        default=0, ge=0, description="skip this many first plies of a game: opening theory"
    )
    max_centipawns: int | None = Field(
        default=None,
        ge=1,
        description="skip positions with a larger absolute evaluation: they are decided",
    )
    scale: float = Field(
        default=400.0, gt=0, description="centipawns that give the value tanh(1) = 0.76"
    )

    def value(self, centipawns: float) -> float:
        """Convert an evaluation to a value between -1 and 1.

        >>> round(ExamplesConfig().value(100), 3)
        0.245
        """
        return math.tanh(centipawns / self.scale)


@dataclass
class Skipped:
    """Counts skipped examples, with the first reasons."""

    count: int = 0
    first: list[str] = field(default_factory=list)
    """The reasons of the first five."""

    def note(self, reason: str) -> None:
        """Count one example."""
        self.count += 1
        if len(self.first) < 5:
            self.first.append(reason)


def read_examples(
    path: Path,
    spec: GameSpec,
    config: ExamplesConfig,
    skipped: Skipped,
    kind: Format = "auto",
    progress: Callable[[float, float | None], None] | None = None,
) -> Iterator[GameRecord]:
    """Iterate over the records of a file, read lazily.

    :param path: `.pgn`, `.jsonl`, `.csv` or `.epd`, also with `.gz`; `-` is the standard input.
    :param skipped: counts skipped examples.
    :param kind: the format; `auto`: by the file's name.
    :param progress: called with the bytes read so far and the size.
    :raises ConfigError: the file cannot be read, or its format is unknown.
    """
    kind = _kind(path) if kind == "auto" else kind
    with _OpenFile(path) as (raw_lines, bytes_read, size):
        lines = _with_progress(raw_lines, bytes_read, size, progress)
        if kind == "pgn":
            yield from pgn_records(lines, spec, config, skipped)
        else:
            readers = {"csv": _csv_rows, "epd": epd_rows}
            rows = readers.get(kind, _json_rows)(lines, skipped)
            yield from labelled_records(rows, spec, config, skipped)


# --- games ------------------------------------------------------------------------------------


def pgn_records(
    lines: Iterable[str], spec: GameSpec, config: ExamplesConfig, skipped: Skipped
) -> Iterator[GameRecord]:
    """Iterate over the games of a PGN as records."""
    for game in pgn_games(lines):
        where = f"game {game.number}"
        if game.result is None:
            skipped.note(f"{where} has no result")
        elif (variant := game.tags.get("Variant", "Standard")).lower() not in VARIANTS:
            skipped.note(f"{where} is of the variant {variant}")
        elif game.elo() < config.min_elo:
            skipped.note(f"{where} has a player rated below {config.min_elo}")
        elif game.moves:
            try:
                yield _game_record(game, spec, config)
            except SylvanError as error:
                skipped.note(f"{where}: {error}")


def _game_record(game: PgnGame, spec: GameSpec, config: ExamplesConfig) -> GameRecord:
    start = game.tags.get("FEN", "")
    state = spec.first(start)
    actions, seats = [], []
    for move in game.moves:
        state.set_root()  # people play on after a draw could be claimed
        if state.is_terminal():
            break  # insufficient material: people play on here too
        action = state.string_to_action(move.replace("0-0", "O-O").replace("O-0", "O-O"))
        actions.append(action)
        seats.append(state.to_play())
        state.apply(action)
    plies = len(actions)
    assert game.result is not None
    before = [None, *game.evaluations][:plies]  # of the position before each move
    learned = [
        ply >= config.skip_plies and not _decided(centipawns, config)
        for ply, centipawns in enumerate(before)
    ]
    whites = [game.result if cp is None else config.value(cp) for cp in before]
    values = np.array([[white, -white] for white in whites], np.float32).reshape(-1, 2)
    learned_from = np.array(learned, bool)
    state.set_root()
    return GameRecord(
        actions=np.array(actions, np.int32),
        seats=np.array(seats, np.int8),
        policy_offsets=np.concatenate([[0], np.cumsum(learned_from)]).astype(np.int64),
        policy_actions=np.array(actions, np.int32)[learned_from],
        policy=np.ones(int(learned_from.sum()), np.float32),
        values=values * learned_from[:, None],
        weights=learned_from.astype(np.float32),
        surprise=np.zeros(plies, np.float32),
        returns=np.array([game.result, -game.result], np.float32),
        start=start,
        ending="end" if state.is_terminal() else "labelled",
    )


def _decided(centipawns: float | None, config: ExamplesConfig) -> bool:
    limit = config.max_centipawns
    return limit is not None and centipawns is not None and abs(centipawns) > limit


# --- positions --------------------------------------------------------------------------------


def labelled_records(
    rows: Iterable[tuple[int, dict[str, Any]]],
    spec: GameSpec,
    config: ExamplesConfig,
    skipped: Skipped,
) -> Iterator[GameRecord]:
    """Iterate over labelled positions as records of one ply, and over puzzles.

    :param rows: with their line numbers.
    """
    for line, row in rows:
        try:
            record = (_puzzle if is_puzzle(row) else _labelled)(row, spec, config)
        except (SylvanError, ValueError, TypeError, KeyError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            skipped.note(f"line {line}: {reason}")
            continue
        if record is None:
            skipped.note(f"line {line} is decided")
        else:
            yield record


def _labelled(row: dict[str, Any], spec: GameSpec, config: ExamplesConfig) -> GameRecord | None:
    start = str(row["fen"] if row.get("fen") else row["start"])
    state = spec.first(start)
    state.set_root()
    if row.get("policy"):
        given = json.loads(row["policy"]) if isinstance(row["policy"], str) else row["policy"]
        chosen = {state.string_to_action(move): float(part) for move, part in given.items()}
    else:
        chosen = {state.string_to_action(str(row["move"])): 1.0}
    total = sum(chosen.values())
    if not total > 0 or min(chosen.values()) < 0:
        raise ValueError(f"its policy sums to {total}")
    if _given(row, "cp") is not None and _decided(float(row["cp"]), config):
        return None
    value, seat = _checked_value(row, config), state.to_play()
    values = np.full((1, 2), -value, np.float32)
    values[0, seat] = value
    seen = None if spec.is_native else state.observation()[None]
    codes = sorted(chosen)
    return GameRecord(
        actions=np.array([max(chosen, key=chosen.__getitem__)], np.int32),
        seats=np.array([seat], np.int8),
        policy_offsets=np.array([0, len(codes)], np.int64),
        policy_actions=np.array(codes, np.int32),
        policy=np.array([chosen[code] / total for code in codes], np.float32),
        values=values,
        weights=np.ones(1, np.float32),
        surprise=np.zeros(1, np.float32),
        returns=values[0],
        observations=seen,
        start=start,
        ending="labelled",
    )


def _puzzle(row: dict[str, Any], spec: GameSpec, config: ExamplesConfig) -> GameRecord:
    labels = [_given(row, name) for name in ("value", "cp", "mate")]
    is_labelled = any(label is not None for label in labels)
    return puzzle_record(row, spec, _checked_value(row, config) if is_labelled else None)


def _checked_value(row: dict[str, Any], config: ExamplesConfig) -> float:
    value = _value(row, config)
    if not -1 <= value <= 1:
        raise ValueError(f"its value {value} is not between -1 and 1")
    return value


def _value(row: dict[str, Any], config: ExamplesConfig) -> float:
    """The value of a labelled position for the side to move."""
    if _given(row, "value") is not None:
        return float(row["value"])
    if _given(row, "mate") is not None:
        return 1.0 if float(row["mate"]) > 0 else -1.0
    if _given(row, "cp") is not None:
        return config.value(float(row["cp"]))
    raise ValueError("it has no value, cp or mate")


def _given(row: dict[str, Any], name: str) -> Any:
    """A field; None if it is missing or empty, as in CSV files."""
    found = row.get(name)
    return None if found == "" else found


# --- files ------------------------------------------------------------------------------------


def _kind(path: Path) -> Format:
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    kinds: dict[str, Format] = {".pgn": "pgn", ".jsonl": "jsonl", ".ndjson": "jsonl"}
    kinds |= {".csv": "csv", ".epd": "epd"}
    if suffix not in kinds:
        raise ConfigError(
            f"{path} has an unknown suffix: give .pgn, .jsonl, .csv or .epd, or name the format "
            "with --format."
        )
    return kinds[suffix]


class _OpenFile:
    """Opens a text file: gives its lines, a function that counts the bytes read, and its size."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: list[IO[Any]] = []

    def __enter__(self) -> tuple[Iterable[str], Callable[[], int], float | None]:
        if str(self._path) == "-":
            return sys.stdin, lambda: 0, None
        try:
            raw = self._path.open("rb")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConfigError(f"{self._path} cannot be read: {reason}.") from None
        self._files.append(raw)
        data: Any = raw
        if self._path.suffix == ".gz":
            data = gzip.open(raw)
            self._files.insert(0, data)
        # Old PGN files are in Latin-1; only names of players have such letters.
        text = io.TextIOWrapper(data, encoding="utf-8", errors="replace", newline="")
        self._files.insert(0, text)
        return text, raw.tell, float(self._path.stat().st_size)

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()


def _with_progress(
    lines: Iterable[str],
    bytes_read: Callable[[], int],
    size: float | None,
    progress: Callable[[float, float | None], None] | None,
) -> Iterator[str]:
    for number, line in enumerate(lines):
        if progress is not None and number % 1000 == 0:
            progress(bytes_read(), size)
        yield line


def _csv_rows(
    lines: Iterable[str],
    skipped: Skipped,  # noqa: ARG001 (every row can be read)
) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = csv.DictReader(lines)
    for row in rows:
        yield rows.line_num, row


def _json_rows(lines: Iterable[str], skipped: Skipped) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            skipped.note(f"line {number} is not JSON: {error}")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            skipped.note(f"line {number} is not a JSON object")
