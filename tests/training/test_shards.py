"""Shards: what was written is read again, whatever happened to the file."""

from dataclasses import fields

import numpy as np
import pytest

from sylvan.games.naming import GameSpec
from sylvan.training.packing import Layout, pack, unpack
from sylvan.training.record import GameRecord
from sylvan.training.shards import Shard, records_of
from tests.training.random_records import random_record

GAMES = [
    GameSpec("connect4"),
    GameSpec("connect4", {"columns": 5, "rows": 4}),
    GameSpec("tictactoe"),
    GameSpec("chess"),
    GameSpec("examples/pig.py:Pig"),
    GameSpec("examples/three_seats.py:ThreeSeats"),
    GameSpec("examples/nim.py:Nim"),
]


def assert_same(one: GameRecord, two: GameRecord, tolerance: float = 2e-5) -> None:
    """Equal records, but for the rounding of probabilities."""
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
def test_records_come_back(spec, tmp_path):
    rng = np.random.default_rng(1)
    records = [random_record(spec, rng, opening=i, step=i) for i in range(5)]
    shard = Shard(tmp_path / "0.shard", Layout.of(spec))
    shard.append(records[:2])
    shard.append(records[2:], together=2)
    shard.close()
    found = list(records_of(tmp_path / "0.shard"))
    assert len(found) == 5
    for one, two in zip(records, found, strict=True):
        assert_same(one, two)


@pytest.mark.parametrize("spec", GAMES, ids=str)
def test_packing_again_changes_nothing(spec):
    rng = np.random.default_rng(2)
    layout = Layout.of(spec)
    once = unpack(pack(random_record(spec, rng), layout), 0, layout)[0]
    assert_same(once, unpack(pack(once, layout), 0, layout)[0])
