"""Pretrain a network on examples, before self-play.

The examples are stored as records in shards, like games of self-play, and streamed from there:
batches are drawn from a window in memory, which moves through the shards as fast as positions are
drawn from it. One record in fifty is held out for testing.

    runs/warm/
        pretrain.toml                   every setting
        examples/*.shard                the records; `imported.json` when they are complete
        networks/best.*, last.*         the network, for `sylvan train --from runs/warm` and others
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from sylvan import registry
from sylvan.errors import ConfigError
from sylvan.files import write_bytes
from sylvan.games.naming import GameSpec
from sylvan.learning.examples import ExamplesConfig, Format, Skipped, read_examples
from sylvan.learning.learner import Learner, LearnerConfig
from sylvan.learning.progress import LearnerWatcher
from sylvan.networks.header import NetworkHeader
from sylvan.replay.batches import Batch, BatchMaker
from sylvan.replay.packing import Block, Layout
from sylvan.replay.record import GameRecord
from sylvan.replay.shards import Damage, Shard, read_blocks
from sylvan.replay.targets import TargetConfig
from sylvan.replay.window import Window
from sylvan.settings import Section
from sylvan.settings.file import toml_text

if TYPE_CHECKING:
    from torch import nn

__all__ = [
    "ExampleStream",
    "Imported",
    "Lesson",
    "LessonStream",
    "PretrainConfig",
    "Scores",
    "import_examples",
    "is_held_out_record",
    "need_labelled_games",
    "pretrain",
    "score",
]

Progress = Callable[[float, float | None], None]

HELD_OUT = 50
"""One record in this many is held out."""

TEST_POSITIONS = 4096
"""Maximum positions of a test."""

REPORTS = 10
"""Number of times the network is tested and saved."""


class PretrainSection(Section):
    """The game, the network, and the length of the training."""

    game: str = Field(default="chess", description="game of the examples")
    params: dict[str, Any] = Field(
        default_factory=dict, description="arguments of the game's class, such as its encoder"
    )
    network: str = Field(default="6x64", description="network size: 6x64, t4x128, mlp2x256")
    epochs: float = Field(default=1.0, gt=0, description="times each position is drawn")
    window: int = Field(
        default=1_000_000, ge=1, description="positions in memory, from which batches are drawn"
    )
    temperature: float = Field(
        default=0.05,
        gt=0,
        description="temperature of the policy targets of rounds, p ~ exp(utility / temperature)",
    )
    seed: int = Field(default=0, ge=0, description="seed of the weights and of sampling")

    @classmethod
    def title(cls) -> str:
        """The section's name in files and messages."""
        return "pretrain"

    @property
    def spec(self) -> GameSpec:
        """The game."""
        return GameSpec(self.game, self.params)


class PretrainConfig(BaseModel):
    """All settings, by section."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pretrain: PretrainSection = PretrainSection()
    examples: ExamplesConfig = ExamplesConfig()
    targets: TargetConfig = TargetConfig()
    learner: LearnerConfig = LearnerConfig.model_validate({})


# --- examples to shards -----------------------------------------------------------------------


@dataclass(frozen=True)
class Imported:
    """Result of an import."""

    records: int
    positions: int
    """Usable positions."""
    held_out: int
    """Number of these that are held out."""
    skipped: int
    reasons: list[str]
    """Reasons of the first skipped examples."""
    bytes: int
    """Size of the shards."""

    def __str__(self) -> str:
        skipped = f"; {self.skipped:,} skipped" if self.skipped else ""
        each = self.bytes / max(self.positions, 1)
        return (
            f"{self.positions:,} positions of {self.records:,} records in {self.bytes / 1e6:.1f} "
            f"MB, {each:.1f} bytes each{skipped}"
        )


def import_examples(
    sources: Sequence[Path],
    folder: Path,
    spec: GameSpec,
    config: ExamplesConfig,
    kind: Format = "auto",
    progress: Progress | None = None,
    shard_bytes: int = 64 << 20,
) -> Imported:
    """Write the records of some files to shards in a folder; reuse an earlier import of them.

    :raises ConfigError: the files have no usable examples.
    """
    need_labelled_games(spec)
    note = folder / "imported.json"
    made_of = {
        "sources": [[str(path), path.stat().st_size if path.exists() else 0] for path in sources],
        "settings": config.model_dump(),
    }
    if note.exists():
        facts = json.loads(note.read_text())
        if facts.pop("made_of") == made_of:
            return Imported(**facts)
    folder.mkdir(parents=True, exist_ok=True)
    note.unlink(missing_ok=True)
    for path in folder.glob("*.shard"):
        path.unlink()
    skipped, records, positions, held_out, size = Skipped(), 0, 0, 0, 0
    layout, shard = Layout.of(spec), None
    for some in _batched(sources, spec, config, skipped, kind, progress):
        if shard is None or shard.length > shard_bytes:
            path = folder / f"{len(list(folder.glob('*.shard'))):06}.shard"
            shard = Shard(path, layout, (records, positions))
            size += shard.length
        before = shard.length
        shard.append(some, together=256)
        for record in some:
            positions += len(record.searched)
            held_out += len(record.searched) * is_held_out_record(records)
            records += 1
        size += shard.length - before
    if not positions:
        reason = f" ({skipped.first[0]})" if skipped.first else ""
        names = ", ".join(map(str, sources))
        raise ConfigError(f"No example in {names} is usable{reason}.")
    imported = Imported(records, positions, held_out, skipped.count, skipped.first, size)
    write_bytes(note, json.dumps(asdict(imported) | {"made_of": made_of}, indent=2).encode())
    return imported


def need_labelled_games(spec: GameSpec) -> None:
    """:raises ConfigError: the game is not a zero-sum game of two seats."""
    if spec.first().num_players != 2 or not spec.first().zero_sum:
        raise ConfigError(
            f"Examples have one value, but {spec.short_name} is not a zero-sum game of two seats: "
            "train it by self-play."
        )


def _batched(
    sources: Sequence[Path],
    spec: GameSpec,
    config: ExamplesConfig,
    skipped: Skipped,
    kind: Format,
    progress: Progress | None,
) -> Iterator[list[GameRecord]]:
    for path in sources:
        records = read_examples(path, spec, config, skipped, kind, progress)
        while some := list(itertools.islice(records, 256)):
            yield some


# --- shards to batches ------------------------------------------------------------------------


class LessonStream(Protocol):
    """Source of batches for pretraining."""

    positions: int
    """Positions to train on."""
    damage: list[str]
    """A message for each part of a file that cannot be read."""

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """Draw the next positions to train on."""

    def held_out(self) -> Batch | None:
        """The held-out positions; None if there are none."""


class Lesson(Protocol):
    """Reads the examples of one game; registered under its name (`sylvan.registry`)."""

    def __call__(
        self, sources: Sequence[Path], section: PretrainSection, tell: Callable[[str], None]
    ) -> LessonStream:
        """Open the files as a stream of batches; `tell` receives messages for the user."""


class ExampleStream:
    """Batches from shards that need not fit into memory; repeats them forever.

    :param folder: the folder of the shards.
    :param positions: number of positions to train on in all shards.
    :param header: the network's header, for its encoding.
    """

    def __init__(
        self,
        folder: Path,
        positions: int,
        config: PretrainConfig,
        header: NetworkHeader,
        threads: int = 1,
    ) -> None:
        self.damage: list[str] = []
        """A message for each part of a file that cannot be read."""
        self._folder, self._config, self._header = folder, config, header
        self._layout = Layout.of(config.pretrain.spec)
        self._most, self.positions = config.pretrain.window, positions
        spec = config.pretrain.spec
        self._maker = BatchMaker(spec, header.encoding, threads=threads)
        self._window, self._coming = self._empty(), self._endless()
        self._drawn = 0

    def _empty(self) -> Window:
        first = self._config.pretrain.spec.first()
        return Window(self._layout, (0, 0), self._header.value, self._config.targets, 0.0, first)

    def _stored(self, held_out: bool) -> Iterator[Block]:
        """The records that are held out, or the others."""
        number = 0
        for path in sorted(self._folder.glob("*.shard")):
            for block in read_blocks(path, self._layout, on_damage=self._note):
                numbers = np.arange(number, number + len(block))
                yield block.kept(is_held_out_record(numbers) == held_out)
                number += len(block)

    def _endless(self) -> Iterator[Block]:
        while True:
            yield from self._stored(held_out=False)

    def _note(self, damage: Damage) -> None:
        if str(damage) not in self.damage:
            self.damage.append(str(damage))

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """Add `count` new positions to the window, then draw `count` from it."""
        rows = self._window
        wanted = self.positions if self.positions <= self._most else self._most + self._drawn
        while rows.end < wanted:
            rows.add(next(self._coming))
        rows.drop(wanted - self._most)
        self._drawn += count
        drawn = rng.integers(rows.begin, rows.end, count)
        return self._maker.make(rows.pick(drawn), np.ones(count, np.float32), rng)

    def held_out(self) -> Batch | None:
        """The held-out positions; None if there are none."""
        rows = self._empty()
        for block in self._stored(held_out=True):
            rows.add(block)
            if rows.end >= TEST_POSITIONS:
                break
        count = min(rows.end, TEST_POSITIONS)
        if not count:
            return None
        maker = BatchMaker(self._config.pretrain.spec, self._header.encoding, symmetries=False)
        picked = rows.pick(np.arange(count))
        return maker.make(picked, np.ones(count, np.float32), np.random.default_rng(0))


def is_held_out_record(number: Any) -> Any:
    """Whether a record is held out, by its number; also for an array of numbers."""
    return number % HELD_OUT == HELD_OUT - 1


# --- training ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """Scores of a network on held-out positions."""

    positions: int
    best_move: float
    """Fraction of positions where its best action has the target's highest probability."""
    policy: float
    """Cross-entropy of the policy, in nats."""
    value_error: float
    """Mean absolute error of the expected result."""

    def __str__(self) -> str:
        return (
            f"best move {100 * self.best_move:.1f} %, policy {self.policy:.3f} nats, value error "
            f"{self.value_error:.3f} in {self.positions:,} positions"
        )


def pretrain(
    sources: Sequence[Path],
    folder: Path,
    config: PretrainConfig,
    *,
    kind: Format = "auto",
    device: str = "auto",
    threads: int | None = None,
    importing: Progress | None = None,
    watch: LearnerWatcher | None = None,
    tell: Callable[[str], None] = lambda _: None,
    start: Path | None = None,
) -> Scores | None:
    """Import examples, train a network on them and write it to a folder.

    :param sources: files: see `read_examples`.
    :param folder: the output folder, created if missing; an earlier import of the files is reused.
    :param importing: called with the progress of reading.
    :param watch: called with the progress of training.
    :param tell: called with messages for the user.
    :param start: the initial network: a file, or a folder with one.
    :return: scores on the held-out examples; None if there are none.
    :raises ConfigError: the files have no usable examples.
    """
    from sylvan.networks import export_onnx, save_network

    section = config.pretrain
    if (folder / "config.toml").exists():
        raise ConfigError(f"{folder} is a self-play run: give another folder with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / "pretrain.toml", toml_text(config, "Settings of a pretraining.").encode())
    network = _network(section, start)
    learner = Learner(network, config.learner, device, threads, folder)
    stream = _stream(sources, folder, config, kind, learner.header, importing, tell)
    positions = stream.positions
    networks = folder / "networks"
    networks.mkdir(exist_ok=True)
    newest: Scores | None = None
    updates = max(1, round(section.epochs * positions / config.learner.batch))
    for sentence, scores in _trained(learner, stream, updates, section.seed, watch):
        tell(sentence)
        newest, made = scores, learner.updates_made
        save_network(learner.averaged, networks / "last.safetensors", training_step=made)
    for sentence in stream.damage:
        tell(sentence)
    averaged = learner.averaged.cpu().eval()
    export_onnx(averaged, networks / "best.onnx")
    save_network(averaged, networks / "best.safetensors", training_step=learner.updates_made)
    return newest


def _network(section: PretrainSection, start: Path | None) -> nn.Module:
    """A new network, or the one in `start`."""
    from sylvan.evaluators.loading import network_file
    from sylvan.networks import build_network, load_network

    game = section.spec.first()
    if start is None:
        return build_network(section.network, game=game, seed=section.seed)
    network: nn.Module = load_network(network_file(start, "torch"), game=game)
    return network


def _stream(
    sources: Sequence[Path],
    folder: Path,
    config: PretrainConfig,
    kind: Format,
    header: NetworkHeader,
    importing: Progress | None,
    tell: Callable[[str], None],
) -> LessonStream:
    """Open the files as a stream of batches."""
    section = config.pretrain
    lesson: Lesson | None = registry.find("lessons", section.game)
    if lesson is not None:
        return lesson(sources, section, tell)
    examples = folder / "examples"
    imported = import_examples(sources, examples, section.spec, config.examples, kind, importing)
    tell(f"{imported}.")
    for reason in imported.reasons:
        tell(f"skipped: {reason.rstrip('.')}.")
    return ExampleStream(examples, imported.positions - imported.held_out, config, header)


def _trained(
    learner: Learner,
    stream: LessonStream,
    updates: int,
    seed: int,
    watch: LearnerWatcher | None,
) -> Iterator[tuple[str, Scores | None]]:
    """Train in `REPORTS` parts; after each give a message and the scores on held-out examples."""
    test, rng = stream.held_out(), np.random.Generator(np.random.Philox(seed))
    done = 0
    for part in range(1, REPORTS + 1):
        count = updates * part // REPORTS - done
        if not count:
            continue
        ramp = _ramp(done / updates, (done + count) / updates)
        losses = learner.train(stream, count, ramp, rng, watch)
        done += count
        scores = None if test is None else score(learner, test)
        parts = ", ".join(f"{name} {value:.3f}" for name, value in losses.parts.items())
        tested = f"; held out: {scores}" if scores else ""
        yield f"{done:,} of {updates:,} updates: {parts}{tested}.", scores


def _ramp(begin: float, end: float) -> Callable[[float], float]:
    return lambda share: begin + share * (end - begin)


def score(learner: Learner, test: Batch) -> Scores:
    """Score a learner's averaged network on a batch."""
    import torch

    from sylvan.learning.feed import PositionSender

    sender, network = PositionSender(learner.header, learner.device), learner.averaged.eval()
    hits = policy = error = 0.0
    for begin in range(0, len(test), 256):
        part = test.part(begin, begin + 256)
        with torch.inference_mode():
            output = network(sender.observations(part.observations))
        logits = np.where(part.legal, output.policy.float().cpu().numpy(), -np.inf)
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        found = np.take_along_axis(part.policy, logits.argmax(axis=1)[:, None], axis=1)[:, 0]
        hits += float((found == part.policy.max(axis=1)).sum())
        policy -= float((part.policy * np.where(part.legal, logs, 0.0)).sum())
        value = output.value.float()
        if learner.header.value == "wdl":
            value = value.softmax(dim=1)
        distance = _expected(value.cpu().numpy()) - _expected(part.value)
        error += float(np.abs(distance).sum())
    return Scores(len(test), hits / len(test), policy / len(test), error / len(test))


def _expected(value: NDArray[np.float32]) -> NDArray[np.float32]:
    """`[n]` the expected result for the seat to move."""
    return value[:, 0] - value[:, 2] if value.shape[1] == 3 else value[:, 0]
