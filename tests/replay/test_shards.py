"""Shards: intact records are read back, also from damaged files."""

import contextlib
import errno
import struct
import subprocess
import sys
import zlib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan.errors import ReplayError
from sylvan.games.naming import GameSpec
from sylvan.replay.buffer import Replay
from sylvan.replay.packing import Block, Layout
from sylvan.replay.record import GameRecord
from sylvan.replay.shards import MAGIC, MARKER, Shard, complete, records_of
from tests.replay.random_records import random_record

GAMES = [
    GameSpec("connect4"),
    GameSpec("connect4", {"columns": 5, "rows": 4}),
    GameSpec("tictactoe"),
    GameSpec("chess"),
    GameSpec("examples/pig.py:Pig"),
    GameSpec("examples/three_seats.py:ThreeSeats"),
    GameSpec("examples/nim.py:Nim"),
]


def assert_same(one: GameRecord, two: GameRecord, tolerance: float = 1e-4) -> None:
    """Equal records, except for the rounding of probabilities."""
    for name in (field.name for field in fields(GameRecord)):
        a, b = getattr(one, name), getattr(two, name)
        if name == "policy":
            assert np.abs(a - b).max(initial=0) <= tolerance
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and np.array_equal(a, b), name
        elif name == "auxiliary":
            assert a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)
        else:
            assert a == b, name


@pytest.mark.parametrize("spec", GAMES, ids=str)
def test_records_are_read_back(spec, tmp_path):
    rng = np.random.default_rng(1)
    records = [random_record(spec, rng, opening=i, step=i) for i in range(5)]
    shard = Shard(tmp_path / "0.shard", Layout.of(spec))
    shard.append(records[:2])
    shard.append(records[2:], together=2)
    found = list(records_of(tmp_path / "0.shard"))
    assert len(found) == 5
    for one, two in zip(records, found, strict=True):
        assert_same(one, two)


@pytest.mark.parametrize("spec", GAMES, ids=str)
def test_packing_is_idempotent(spec):
    """Blocks in memory are equal to the blocks that a resumed run reads."""
    rng = np.random.default_rng(2)
    layout = Layout.of(spec)
    block = Block.of([random_record(spec, rng, opening=i) for i in range(4)], layout)
    again = Block.from_bytes(block.to_bytes(layout), 4, layout)
    for name, one in vars(block).items():
        two = getattr(again, name)
        if isinstance(one, np.ndarray):
            assert one.dtype == two.dtype and one.tobytes() == two.tobytes(), name
        else:
            assert one == two, name
    for one, two in zip(
        block.records(), Block.of(list(block.records()), layout).records(), strict=True
    ):
        assert_same(one, two)


@pytest.mark.parametrize("spec", GAMES, ids=str)
def test_a_mask_selects_records_of_a_block(spec):
    rng = np.random.default_rng(7)
    layout = Layout.of(spec)
    records = [random_record(spec, rng, opening=2 * i) for i in range(6)]
    keep = np.array([True, False, True, True, False, False])
    part = Block.of(records, layout).kept(keep)
    expected = Block.of([records[i] for i in (0, 2, 3)], layout)
    for one, two in zip(part.records(), expected.records(), strict=True):
        assert_same(one, two)
    assert len(Block.of(records, layout).kept(~keep & False)) == 0


# --- damage -----------------------------------------------------------------------------------

SPEC = GameSpec("connect4", {"columns": 5, "rows": 4})
LAYOUT = Layout.of(SPEC)
TESTED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Eight records in a shard: its bytes, its records and the offset of each."""
    path = tmp_path_factory.mktemp("sound") / "000000.shard"
    rng = np.random.default_rng(3)
    shard = Shard(path, LAYOUT)
    begins = []
    for _ in range(8):
        begins.append(shard.length)
        shard.append([random_record(SPEC, rng)])
    begins.append(shard.length)
    return path.read_bytes(), list(records_of(path)), begins


def seeds(records):
    """The seeds, which identify the records in these tests."""
    return [record.seed for record in records]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_shard_truncated_anywhere_keeps_its_complete_records(sound, tmp_path, data):
    """A process killed during a write leaves any number of bytes."""
    whole, records, begins = sound
    cut = data.draw(st.integers(begins[0], len(whole)))
    path = tmp_path / "cut.shard"
    path.write_bytes(whole[:cut])
    kept = sum(end <= cut for end in begins[1:])
    assert seeds(records_of(path)) == seeds(records[:kept])
    shard = Shard(path, LAYOUT)
    assert shard.length == begins[kept]
    shard.append(records[kept : kept + 1])
    assert seeds(records_of(path)) == seeds(records[: kept + 1])
    assert path.stat().st_size == begins[min(kept + 1, 8)]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_loses_only_the_damaged_records(sound, tmp_path, data):
    whole, records, begins = sound
    first = data.draw(st.integers(begins[0], len(whole) - 1))
    length = data.draw(st.integers(1, 40))
    noise = data.draw(st.binary(min_size=length, max_size=length))
    broken = bytearray(whole)
    broken[first : first + length] = noise[: len(whole) - first]
    path = tmp_path / "broken.shard"
    path.write_bytes(broken)
    changed = [i for i, (a, b) in enumerate(zip(whole, broken, strict=True)) if a != b]
    hit = {sum(begin <= i for begin in begins) - 1 for i in changed}
    noted = []
    found = list(records_of(path, noted.append))
    assert seeds(found) == [record.seed for n, record in enumerate(records) if n not in hit]
    assert bool(noted) == bool(hit)
    if hit and not noted[0].tail:
        assert noted[0].begin == begins[min(hit)] and noted[0].record == min(hit)
        with pytest.raises(ReplayError, match=rf"byte {begins[min(hit)]} "):
            list(records_of(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_header_is_reported_and_loses_no_record(sound, tmp_path, data):
    whole, records, begins = sound
    offset = data.draw(st.integers(0, begins[0] - 1))
    change = data.draw(st.integers(1, 255))
    broken = bytearray(whole)
    broken[offset] ^= change
    folder = tmp_path / "damaged"
    folder.mkdir(exist_ok=True)
    path = folder / "000000.shard"
    path.write_bytes(broken)
    with pytest.raises(ReplayError):
        list(records_of(path))
    replay = Replay(folder, SPEC)
    assert replay.records == len(records)
    assert len(replay.damage) >= 1 and "header" in replay.damage[0]
    for later in folder.glob("*.shard"):
        later.unlink()


@pytest.mark.parametrize("more", [b"x", MARKER, MARKER[:1], MARKER * 100 + b"other things"])
def test_bytes_between_frames_are_skipped(more, sound, tmp_path):
    whole, records, begins = sound
    path = tmp_path / "more.shard"
    path.write_bytes(whole[: begins[3]] + more + whole[begins[3] :])
    assert seeds(records_of(path, lambda _: None)) == seeds(records)


@given(data=st.binary(max_size=300), count=st.integers(0, 5))
def test_any_bytes_raise_only_a_replay_error(data, count):
    with contextlib.suppress(ReplayError):
        Block.from_bytes(data, count, LAYOUT)


def test_a_record_that_does_not_fit_is_refused_and_nothing_is_written(tmp_path):
    rng = np.random.default_rng(4)
    good = random_record(SPEC, rng)
    shard = Shard(tmp_path / "0.shard", LAYOUT)
    length = shard.length
    for changes, message in [
        ({"actions": good.actions + 5}, "actions are 0 to 4"),
        ({"values": good.values[:-1]}, "values of shape"),
        ({"policy": good.policy * 2}, "2.0000"),
        ({"values": np.full_like(good.values, np.nan)}, "not finite"),
        ({"policy_offsets": good.policy_offsets[::-1].copy()}, "policy_offsets"),
        ({"ending": "boredom"}, "boredom"),
    ]:
        with pytest.raises(ReplayError, match=message):
            shard.append([good, replace(good, **changes)])
        assert shard.length == length == shard.path.stat().st_size


def test_a_full_disk_is_reported_and_the_file_stays_intact(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    records = [random_record(SPEC, rng) for _ in range(3)]
    shard = Shard(tmp_path / "0.shard", LAYOUT)
    shard.append(records[:2])
    whole = shard.path.stat().st_size
    opened = Path.open

    class Full:
        """A file on a disk with 50 free bytes."""

        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            if self.file.tell() >= whole + 50:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.file.write(data[:50])

    monkeypatch.setattr(Path, "open", lambda *args, **more: Full(opened(*args, **more)))
    with pytest.raises(ReplayError, match="full") as caught:
        shard.append(records[2:])
    assert str(caught.value).count(". ") == 0
    monkeypatch.undo()
    assert shard.path.stat().st_size == whole
    assert seeds(records_of(shard.path)) == seeds(records[:2])
    shard.append(records[2:])  # space was freed
    assert seeds(records_of(shard.path)) == seeds(records)


def test_a_shard_of_another_game_or_a_later_format_is_refused(tmp_path):
    path = tmp_path / "000000.shard"
    Shard(path, LAYOUT)
    with pytest.raises(ReplayError, match=r"connect4\(columns=5, rows=4\).*connect4"):
        Replay(tmp_path, GameSpec("connect4"))
    data = path.read_bytes()
    text = data[16:].replace(b'"format": 1', b'"format": 9')
    path.write_bytes(struct.pack("<8sII", MAGIC, len(text), zlib.crc32(text)) + text)
    with pytest.raises(ReplayError, match="format 9"):
        Replay(tmp_path, SPEC)


def test_auxiliary_targets_are_read_back(tmp_path):
    rng = np.random.default_rng(6)
    record = random_record(SPEC, rng)
    extra = {
        "owner": rng.random((len(record), 4, 5)).astype(np.float32),
        "score": rng.random((len(record),)).astype(np.float32),
    }
    record = replace(record, auxiliary=extra)
    others = [random_record(SPEC, rng)]
    with pytest.raises(ReplayError, match="same"):
        Block.of([record, *others], LAYOUT)
    block = Block.from_bytes(Block.of([record], LAYOUT).to_bytes(LAYOUT), 1, LAYOUT)
    assert_same(record, complete(next(block.records()), SPEC))


def test_records_are_read_without_pytorch(sound, tmp_path):
    path = tmp_path / "0.shard"
    path.write_bytes(sound[0])
    code = (
        "import sys; from sylvan.replay.buffer import Replay; "
        f"print(sum(len(record) for record in Replay.read({str(tmp_path)!r}))); "
        "print([name for name in ('torch', 'onnxruntime', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == [str(sum(len(r) for r in sound[1])), "[]"]
