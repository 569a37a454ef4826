"""The replay: sampling frequencies, the window, and a resume bit for bit."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ConfigError, ReplayError
from sylvan.games.naming import GameSpec
from sylvan.replay.buffer import Replay, ReplayConfig
from sylvan.replay.draws import WeightedDraw
from tests.replay.random_records import random_record

SPEC = GameSpec("tictactoe")
SMALL = ReplayConfig(window_min=200, window_max=600, shard_megabytes=0.004, symmetries=False)


def games(count, seed=0, spec=SPEC):
    rng = np.random.default_rng(seed)
    return [random_record(spec, rng) for _ in range(count)]


def generator(seed=0):
    return np.random.Generator(np.random.Philox(seed))


def same(one, two):
    names = ("observations", "policy", "legal", "policy_weight", "value", "weight", "positions")
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


def chi_square(counts, expected):
    """The chi-square statistic of counts, in standard deviations from its mean."""
    freedom = len(counts) - 1
    distance = float(((counts - expected) ** 2 / expected).sum())
    return (distance - freedom) / np.sqrt(2 * freedom)


def drawn_counts(replay, draws=100):
    """How often each (record, ply) of the window is drawn in `draws` batches of 1000."""
    rng, counts = generator(), {}
    for _ in range(draws):
        positions, number = np.unique(
            replay.sample(1000, rng).positions, axis=0, return_counts=True
        )
        for key, times in zip(map(tuple, positions.tolist()), number.tolist(), strict=True):
            counts[key] = counts.get(key, 0) + times
    return counts


def test_every_position_is_drawn_equally_often(tmp_path):
    replay = Replay(tmp_path, SPEC)
    replay.append(games(20))
    counts = drawn_counts(replay)
    assert len(counts) == replay.window == replay.positions
    expected = np.full(len(counts), 100_000 / len(counts))
    assert abs(chi_square(np.array(list(counts.values())), expected)) < 4


def test_surprising_positions_are_drawn_more_often(tmp_path):
    """Half of a game's draws are uniform, half are proportional to surprise."""
    records = games(20)
    replay = Replay(tmp_path, SPEC, ReplayConfig(surprise_share=0.5))
    replay.append(records)
    counts = drawn_counts(replay)
    weights = {}
    for number, record in enumerate(records):
        share = record.surprise / record.surprise.sum()
        for ply in record.searched:
            weights[number, int(ply)] = 0.5 + 0.5 * len(record.searched) * share[ply]
    total = sum(weights.values())
    assert total == pytest.approx(replay.positions, rel=1e-5)
    found = np.array([counts.get(key, 0) for key in weights])
    expected = 100_000 * np.array(list(weights.values())) / total
    assert abs(chi_square(found, expected)) < 4
    assert (replay.sample(10, generator()).weight == 1).all()


@pytest.mark.parametrize(("alpha", "beta"), [(0.6, 0.4), (1.0, 1.0), (0.0, 1.0)])
def test_prioritised_draws_and_their_weights(alpha, beta, tmp_path):
    replay = Replay(tmp_path, SPEC, ReplayConfig(prioritised=True, alpha=alpha, beta=beta))
    replay.append(games(20))
    every = np.unique(replay.sample(20_000, generator(1)).positions, axis=0)
    assert len(every) == replay.window
    priorities = np.random.default_rng(2).exponential(size=len(every)) + 0.01
    replay.update_priorities(every, priorities)
    chances = priorities**alpha / (priorities**alpha).sum()
    counts = drawn_counts(replay)
    found = np.array([counts.get(key, 0) for key in map(tuple, every.tolist())])
    assert abs(chi_square(found, 100_000 * chances)) < 4
    batch = replay.sample(500, generator(3))
    rows = [int(np.flatnonzero((every == key).all(axis=1))[0]) for key in batch.positions]
    expected = (1 / (len(every) * chances[rows])) ** beta
    np.testing.assert_allclose(batch.weight, expected / expected.max(), rtol=1e-4)
    assert batch.weight.max() == 1


def test_new_positions_have_the_highest_priority(tmp_path):
    replay = Replay(tmp_path, SPEC, ReplayConfig(prioritised=True, alpha=1.0))
    replay.append(games(2))
    positions = replay.sample(500, generator()).positions
    replay.update_priorities(positions, np.full(len(positions), 0.001))
    replay.update_priorities(positions[:1], np.array([5.0]))
    replay.append(games(1, seed=1))
    drawn = replay.sample(1000, generator()).positions
    new = (drawn[:, 0] == 2).mean()
    plies = (np.unique(drawn[drawn[:, 0] == 2], axis=0)).shape[0]
    assert new == pytest.approx(plies / (plies + 1), abs=0.03)


def test_priorities_must_be_positive_and_one_per_position(tmp_path):
    replay = Replay(tmp_path, SPEC, ReplayConfig(prioritised=True))
    replay.append(games(2))
    positions = replay.sample(3, generator()).positions
    for wrong in ([1.0, 2.0], [1.0, 0.0, 1.0], [1.0, np.nan, 1.0]):
        with pytest.raises(ReplayError, match="3 positive numbers"):
            replay.update_priorities(positions, np.array(wrong))
    gone = np.array([[10**6, 3]])
    replay.update_priorities(gone, np.array([9.0]))  # left the window: ignored


@given(
    weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=300),
    first=st.integers(0, 1000),
    seed=st.integers(0, 100),
)
def test_only_rows_with_a_positive_weight_are_drawn(weights, first, seed):
    given_weights = np.array(weights)
    if given_weights.sum() == 0:
        given_weights[-1] = 1.0
    draw = WeightedDraw(given_weights, first)
    rows, chances = draw(50, np.random.default_rng(seed))
    assert (rows >= first).all() and (rows < first + len(weights)).all()
    assert (given_weights[rows - first] > 0).all()
    np.testing.assert_allclose(chances, draw.chance(rows))


# --- the window -------------------------------------------------------------------------------


def test_the_window_grows_slower_than_the_run():
    config = ReplayConfig(window_min=1000, window_max=100_000)
    sizes = [config.window(positions) for positions in range(0, 400_000, 100)]
    assert sizes[:11] == list(range(0, 1001, 100)), "at first the window has all positions"
    steps = np.diff(sizes[10:])
    assert (steps >= 0).all() and (steps <= 41).all(), "at most 0.41 of the new positions"
    # c (1 + b ((N/c)^a - 1) / a) with c = 1000, a = 0.75, b = 0.4 at N = 16000: 8 - 1 = 7.
    assert config.window(16_000) == int(1000 * (1 + 0.4 * 7 / 0.75))
    assert config.window(10**9) == 100_000
    with pytest.raises(ConfigError, match=r"window_min.*5.*window_max"):
        ReplayConfig(window_min=5, window_max=4)


def test_only_positions_of_the_window_are_drawn_and_in_memory(tmp_path):
    replay = Replay(tmp_path, SPEC, SMALL)
    for seed in range(40):
        replay.append(games(10, seed))
    assert replay.records == 400 and replay.window == SMALL.window(replay.positions) < 700
    batch = replay.sample(5000, generator())
    lengths = np.cumsum([len(record) for record in replay])
    first = lengths[-1] - replay.window  # every ply was searched
    oldest = int(np.searchsorted(lengths, first, side="right"))
    assert batch.positions[:, 0].min() == oldest and batch.positions[:, 0].max() == 399
    assert replay.nbytes < 400_000
    assert len(list(replay.folder.glob("*.shard"))) > 5


def test_shards_out_of_the_window_can_be_deleted(tmp_path):
    config = SMALL.replace(keep_shards=False)
    replay = Replay(tmp_path, SPEC, config)
    marks = []
    for seed in range(40):
        replay.append(games(10, seed))
        marks.append(replay.mark())
    files = sorted(path.name for path in tmp_path.glob("*.shard"))
    assert files[0] != "000000.shard" and len(files) < 15
    # The checkpoint before the last can still be restored.
    replay.append(games(10, 99))
    again = Replay(tmp_path, SPEC, config)
    again.restore(marks[-2])
    assert again.records == 390 and again.damage == []
    fresh = Replay(tmp_path / "fresh", SPEC, config.replace(keep_shards=True))
    for seed in range(39):
        fresh.append(games(10, seed))
    assert same(again.sample(100, generator()), fresh.sample(100, generator()))


# --- resuming ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [SMALL, SMALL.replace(surprise_share=0.5), SMALL.replace(prioritised=True, symmetries=True)],
    ids=["uniform", "surprise", "prioritised"],
)
def test_a_restored_mark_resumes_bit_for_bit(config, tmp_path):
    """Appends, draws and damage after the mark do not change the next batches."""

    def train(replay, steps):
        batches = []
        for step in steps:
            replay.append(games(8, step))
            for update in range(3):
                batch = replay.sample(64, generator(100 * step + update))
                replay.update_priorities(batch.positions, 0.1 + batch.value[:, 0])
                batches.append(batch)
        return batches

    straight = Replay(tmp_path / "straight", SPEC, config)
    expected = train(straight, range(30))
    replay = Replay(tmp_path / "broken", SPEC, config)
    train(replay, range(20))
    mark = json.loads(json.dumps(replay.mark()))
    train(replay, range(20, 25))
    last = sorted(replay.folder.glob("*.shard"))[-1]
    last.write_bytes(last.read_bytes() + b"\xc5\x5c torn")
    resumed = Replay(tmp_path / "broken", SPEC, config)
    resumed.restore(mark)
    assert resumed.damage == []
    found = train(resumed, range(20, 30))
    assert all(same(one, two) for one, two in zip(expected[60:], found, strict=True))
    assert resumed.mark() == straight.mark()
    one, two = (sorted(r.folder.glob("*.shard")) for r in (straight, resumed))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_without_a_mark_an_incomplete_end_is_truncated(tmp_path):
    Replay(tmp_path, SPEC).append(games(5), together=1)
    path = tmp_path / "000000.shard"
    path.write_bytes(path.read_bytes()[:-10])
    replay = Replay(tmp_path, SPEC)
    assert replay.records == 4 and replay.damage == []
    replay.append(games(5)[4:])
    assert [record.seed for record in Replay.read(tmp_path)] == [r.seed for r in games(5)]


def test_a_damaged_record_is_reported_and_the_run_continues(tmp_path):
    replay = Replay(tmp_path, SPEC, SMALL)
    replay.append(games(20), together=1)
    mark = replay.mark()
    path = tmp_path / "000000.shard"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    replay = Replay(tmp_path, SPEC, SMALL)
    replay.restore(mark)
    assert len(replay.damage) == 1
    assert "000000.shard is damaged from byte" in replay.damage[0]
    assert replay.records == 20, "the count includes the damaged record"
    replay.sample(32, generator())
    replay.append(games(5, seed=1))
    assert replay.records == 25
    assert sum(1 for _ in replay) == 24


def test_a_missing_or_truncated_shard_is_reported(tmp_path):
    replay = Replay(tmp_path, SPEC, SMALL)
    for seed in range(8):
        replay.append(games(8, seed))
    mark = replay.mark()
    names = sorted(mark["shards"])
    assert len(names) >= 3
    (tmp_path / names[0]).unlink()
    short = tmp_path / names[1]
    short.write_bytes(short.read_bytes()[:-5])
    replay = Replay(tmp_path, SPEC, SMALL)
    replay.restore(mark)
    assert len(replay.damage) == 2
    assert names[0] in replay.damage[0] and "0 bytes of the" in replay.damage[0]
    replay.sample(10, generator())


def test_an_empty_replay_is_an_error(tmp_path):
    with pytest.raises(ReplayError, match="positions"):
        Replay(tmp_path, SPEC).sample(1, generator())
    with pytest.raises(ReplayError, match="shards"):
        list(Replay.read(tmp_path))


def test_records_without_searches_are_stored_but_not_drawn(tmp_path):
    rng = np.random.default_rng(0)
    idle = random_record(SPEC, rng, opening=9)
    replay = Replay(tmp_path, SPEC, SMALL)
    replay.append([idle, *games(3), idle, idle])
    assert replay.records == 6 and replay.positions == sum(len(r) for r in games(3))
    assert set(replay.sample(200, generator()).positions[:, 0].tolist()) == {1, 2, 3}


def test_threads_append_and_draw_concurrently(tmp_path):
    replay = Replay(tmp_path, SPEC, SMALL.replace(prioritised=True))
    replay.append(games(5))
    faults = []

    def work(number):
        try:
            for step in range(15):
                if number == 0:
                    replay.append(games(6, step))
                else:
                    batch = replay.sample(64, generator(number * 100 + step))
                    assert np.allclose(batch.policy.sum(axis=1), 1, atol=1e-4)
                    assert (batch.policy[~batch.legal] == 0).all()
                    replay.update_priorities(batch.positions, np.ones(64))
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and replay.records == 95


def test_a_games_file_may_move(tmp_path):
    """A run that was copied elsewhere can read its games."""
    source = Path("examples/nim.py").read_text()
    specs = []
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "nim.py").write_text(source)
        specs.append(GameSpec(f"{tmp_path / folder / 'nim.py'}:Nim"))
    Replay(tmp_path / "replay", specs[0]).append(games(3, spec=specs[0]))
    assert Replay(tmp_path / "replay", specs[1]).records == 3


def test_rows_are_found_by_record_and_ply(tmp_path):
    rng = np.random.default_rng(0)
    replay = Replay(tmp_path, SPEC, SMALL)
    for number in range(60):
        replay.append([random_record(SPEC, rng, opening=number % 12) for _ in range(3)])
    rows = replay._loaded()
    every = np.arange(rows.begin, rows.end)
    positions = rows.pick(every).positions
    mixed = rng.permutation(len(every))
    assert np.array_equal(rows.rows_of(positions[mixed]), every[mixed])
    strange = np.array([[10**6, 0], [0, 0], [-1, 3], [int(positions[-1, 0]), 99], [179, 9]])
    assert (rows.rows_of(strange) == -1).all()


def test_observations_are_int8_until_a_number_does_not_fit(tmp_path):
    """Boards take one byte per cell; other numbers keep their own type."""
    spec = GameSpec("examples/nim.py:Nim")
    small, large = games(10, spec=spec), games(10, 1, spec)
    replay = Replay(tmp_path, spec)
    replay.append(small)
    assert replay._loaded()._observations.flat.dtype == np.int8
    batch = replay.sample(50, generator())
    assert batch.observations.dtype == np.float32
    for odd in (0.5, 1000.0, np.nan):
        changed = []
        for record in large:
            seen = record.observations.copy()
            seen[0] = odd
            changed.append(replace(record, observations=seen))
        replay.append(changed)
        records = [*small, *changed]
        batch = replay.sample(300, generator())
        newest = batch.positions[:, 0] >= replay.records - 10
        for row in np.flatnonzero(newest | (batch.positions[:, 0] < 10)):
            number, ply = batch.positions[row]
            source = records[number] if number < 10 else changed[number - (replay.records - 10)]
            np.testing.assert_array_equal(batch.observations[row], source.observations[ply])
