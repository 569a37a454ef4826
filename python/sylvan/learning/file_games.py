"""Learn from games of files beside self-play, so that a network does not forget them.

Each batch of a run with `learner.games` has rows of the replay first, then rows of these games: the
fraction `learner.games_share`. Rows are drawn uniformly, with the generator of the run's batches,
so a resumed run draws the same ones.

    policy target   the played move
    value target    the result, mixed with a known evaluation by `targets.value_mix`

The files, the held-out games and the probabilities behind an evaluation are those of
`sylvan pretrain`. All positions stay in memory, about 53 bytes each; observations are rebuilt for
each batch in the encoding of the run.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sylvan.errors import ConfigError, RunError
from sylvan.games.naming import GameSpec
from sylvan.learning.centipawns import UNKNOWN, OutcomeCurve, fit_outcomes
from sylvan.learning.examples import ExamplesConfig, Skipped, read_examples
from sylvan.learning.game_files import game_columns, is_game_file, is_held_out
from sylvan.learning.pretrain import is_held_out_record, need_labelled_games
from sylvan.networks.header import NetworkHeader
from sylvan.replay.batches import Batch, BatchMaker
from sylvan.replay.buffer import Replay
from sylvan.replay.columns import Column
from sylvan.replay.config import ReplayConfig
from sylvan.replay.packing import ONE, Block, Layout
from sylvan.replay.targets import TargetConfig, network_values
from sylvan.replay.window import Window
from sylvan.selfplay.auxiliary import offers_auxiliary

__all__ = ["FileGames", "MixedExamples"]

RECORDS_AT_ONCE = 256
"""Records that are packed together."""

_DARK_SQUARES = np.uint64(0xAA55AA55AA55AA55)


class MixedExamples:
    """Batches of the replay's positions, followed by positions of files.

    :param share: the files' fraction of each batch.
    """

    def __init__(self, replay: Replay, games: FileGames, share: float) -> None:
        self.replay, self.games, self.share = replay, games, share

    @property
    def config(self) -> ReplayConfig:
        """The settings of the replay."""
        return self.replay.config

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """Draw `count` positions."""
        ours = round(count * self.share)
        own = self.replay.sample(count - ours, rng)
        own = replace(own, from_file=np.zeros(len(own), np.bool_))
        return Batch.joined(own, self.games.sample(ours, rng))

    def update_priorities(
        self, positions: NDArray[np.int64], priorities: NDArray[np.floating[Any]]
    ) -> None:
        """Set the priorities of the replay's positions; the files' have none."""
        own = positions[:, 0] >= 0
        self.replay.update_priorities(positions[own], priorities[own])


class FileGames:
    """The positions of some files, which are read in the background.

    :param paths: packed games (`.bin`, `.bin.xz`), or the other files of `sylvan pretrain`.
    :param header: the network's header, for its encoding and value output.
    :param targets: settings of the value target.
    :param threads: threads that read packed games.
    :param remaking: threads that rebuild the positions of a batch.
    :raises ConfigError: a file cannot be opened, or the game is not one of files.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        spec: GameSpec,
        header: NetworkHeader,
        targets: TargetConfig,
        threads: int | None = None,
        remaking: int = 1,
    ) -> None:
        need_labelled_games(spec)
        if offers_auxiliary(spec.first()):
            raise ConfigError(
                f"{spec.short_name} has auxiliary targets, which files of games lack: omit "
                "learner.games."
            )
        if any(map(is_game_file, paths)) and spec.name != "chess":
            raise ConfigError(
                f"learner.games has packed games of chess, but the run is of {spec.short_name}: "
                "give .pgn, .jsonl or .csv."
            )
        self.checksums = {str(path): _checksum(path) for path in paths}
        """File to checksum."""
        self._spec, self._header, self._targets, self._threads = spec, header, targets, threads
        self._maker = BatchMaker(spec, header.encoding, threads=remaking)
        self._read: Future[_Positions] = Future()
        threading.Thread(target=self._fulfil, name="sylvan-games", daemon=True).start()

    def need_same(self, before: Mapping[str, str]) -> None:
        """Check the files against the checksums of an earlier session.

        :raises RunError: a file has changed.
        """
        for path, checksum in self.checksums.items():
            if before.get(path, checksum) != checksum:
                raise RunError(
                    f"{path} has changed since the run's last step: restore the file, or give "
                    "another one with --set learner.games."
                )

    def wait(self) -> list[str]:
        """Wait until all files are read; return a message for each, but only once.

        :raises ConfigError: a file cannot be read, or the files have no usable positions.
        """
        positions = self._read.result()
        notes, positions.notes = positions.notes, []
        return notes

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """Draw positions that are not held out, with replacement."""
        positions = self._read.result()
        rows = rng.integers(0, positions.window.end, count)
        batch = self._maker.make(positions.window.pick(rows), np.ones(count, np.float32), rng)
        return replace(
            batch,
            value=positions.mixed(batch.value, rows),
            positions=np.full_like(batch.positions, -1),
            from_file=np.ones(count, np.bool_),
        )

    def _fulfil(self) -> None:
        try:
            self._read.set_result(self._positions())
        except BaseException as error:
            self._read.set_exception(error)

    def _positions(self) -> _Positions:
        positions = _Positions(self._spec, self._header, self._targets)
        tell = positions.notes.append
        paths = [Path(path) for path in self.checksums]
        for path in filter(is_game_file, paths):
            for columns in game_columns(path, self._threads, tell):
                positions.add(*_packed(columns, positions.layout))
        others = [path for path in paths if not is_game_file(path)]
        for block in _recorded(others, self._spec, positions.layout, tell):
            positions.add(block, np.full(len(block.values), UNKNOWN, np.int16))
        if not positions.window.end:
            raise ConfigError(f"No game in {', '.join(self.checksums)} is usable.")
        positions.fit()
        return positions


class _Positions:
    """Positions in memory, with their evaluations."""

    def __init__(self, spec: GameSpec, header: NetworkHeader, targets: TargetConfig) -> None:
        self.notes: list[str] = []
        self.layout = Layout.of(spec)
        self._kind, self._mix = header.value, targets.value_mix
        self.window = Window(self.layout, (0, 0), header.value, targets, 0.0, spec.first())
        self._evaluations, self._results = Column(np.int16), Column(np.uint8)
        self._chances: NDArray[np.float32] | None = None

    def add(self, block: Block, evaluations: NDArray[np.int16]) -> None:
        """Add games.

        :param evaluations: of each row, in centipawns for its mover.
        """
        self.window.add(block)
        self._evaluations.extend(evaluations)
        self._results.extend(_results(block))

    def fit(self) -> None:
        """Fit the chances of an evaluation to the results."""
        curve = fit_outcomes(self._evaluations.flat, self._results.flat)
        if curve is not None and self._mix:
            self._chances = _values_of(curve, self._kind)

    def mixed(self, value: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Mix known evaluations into the results of some rows."""
        if self._chances is None:
            return value
        evaluations = self._evaluations[rows].astype(np.int64)
        share = np.float32(self._mix) * (evaluations != UNKNOWN)[:, None]
        found: NDArray[np.float32] = value + share * (self._chances[evaluations - UNKNOWN] - value)
        return found


def _values_of(curve: OutcomeCurve, kind: Any) -> NDArray[np.float32]:
    """`[65536, width]` the network's value for every evaluation."""
    chances = curve.table()
    if kind == "wdl":
        return chances
    expected = chances[:, 0] - chances[:, 2]
    both = np.stack([expected, -expected], axis=1)
    return network_values(both, np.zeros(len(both), np.int8), kind)


def _results(block: Block) -> NDArray[np.uint8]:
    """The result of each row: 0 the mover lost, 1 draw, 2 the mover won."""
    searched = block.counts > 0
    game = np.repeat(np.arange(len(block)), block.plies)[searched]
    returns = block.returns[game, block.seats[searched]]
    return (1 + np.sign(returns)).astype(np.uint8)


def _packed(columns: dict[str, NDArray[Any]], layout: Layout) -> tuple[Block, NDArray[np.int16]]:
    """The games of a packed file that are not held out, and their evaluations."""
    ends = np.cumsum(columns["choices"], dtype=np.int64)
    actions = columns["legal"][ends - columns["choices"] + columns["played"]]
    last = np.flatnonzero(columns["plies_left"] == 1)
    plies = np.diff(last, prepend=-1)
    first = last - plies + 1
    rows, games = len(actions), len(plies)
    ply = np.arange(rows) - np.repeat(first, plies)
    result = columns["results"][first].astype(np.float32) - 1.0  # for White, who moves first
    returns = np.stack([result, -result], axis=1)
    # In a dead position the game is over by the rules, though it was played on.
    learned = ~_is_dead(columns["boards"])
    count = int(learned.sum())
    block = Block(
        plies=plies,
        endings=np.zeros(games, np.uint8),
        steps=np.zeros(games, np.uint32),
        seeds=np.zeros(games, np.uint64),
        starts=[b""] * games,
        rewarded=np.zeros(games, np.bool_),
        actions=actions.astype(layout.action_dtype[1:]),
        seats=(ply & 1).astype(np.int8),
        counts=learned.astype(np.uint16),
        targets=actions[learned].astype(layout.action_dtype[1:]),
        weights=np.full(count, ONE, np.uint16),
        policy_weights=np.ones(count, np.float32),
        surprise=np.zeros(count, np.float32),
        returns=returns,
        values=np.repeat(returns, plies, axis=0)[learned],
        rewards=None,
        observations=None,
        auxiliary={},
    )
    kept = ~is_held_out(columns["games"][first])
    return block.kept(kept), columns["evaluations"][learned & np.repeat(kept, plies)]


def _is_dead(boards: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether no side can mate: bare kings, one knight, or bishops on squares of one colour.

    :param boards: `[n, 4]` as in `GameTable.boards`.
    """
    low, middle, high = boards[:, 0], boards[:, 1], boards[:, 2]
    heavy = (high & ~middle & ~low) | (middle & ~high)  # pawns; rooks and queens
    knights, bishops = high & low & ~middle, low & ~high & ~middle
    one_knight = (knights != 0) & (knights & (knights - np.uint64(1)) == 0) & (bishops == 0)
    one_colour = (bishops & _DARK_SQUARES == 0) | (bishops & ~_DARK_SQUARES == 0)
    dead: NDArray[np.bool_] = (heavy == 0) & (one_knight | ((knights == 0) & one_colour))
    return dead


def _recorded(
    paths: Sequence[Path], spec: GameSpec, layout: Layout, tell: Callable[[str], None]
) -> Iterator[Block]:
    """The games and labelled positions of other files that are not held out."""
    number = 0
    for path in paths:
        skipped, positions, before = Skipped(), 0, number
        records = read_examples(path, spec, ExamplesConfig(), skipped)
        while some := list(itertools.islice(records, RECORDS_AT_ONCE)):
            numbers = np.arange(number, number + len(some))
            number += len(some)
            block = Block.of(some, layout).kept(~is_held_out_record(numbers))
            positions += len(block.values)
            yield block
        tell(f"{path.name}: {positions:,} positions of {number - before:,} games to learn from.")
        for reason in skipped.first:
            tell(f"skipped: {reason.rstrip('.')}.")


def _checksum(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise ConfigError(
            f"{path} of learner.games cannot be opened ({reason}): restore it, or give its new "
            "path with --set learner.games."
        ) from None
