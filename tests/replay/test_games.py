"""Games as columns are the same games as records, and are packed into the same bytes."""

from pathlib import Path

import numpy as np
import pytest

from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.replay.games import Games
from sylvan.replay.packing import Block, Layout
from sylvan.selfplay.actors import Actors
from sylvan.selfplay.config import SelfPlayConfig
from tests.replay.random_records import random_record

GAMES = Path(__file__).parents[1] / "selfplay" / "selfplay_games.py"
SPECS = {
    "connect4": GameSpec("connect4"),
    "rewards": GameSpec(f"{GAMES}:Alone"),
    "chance": GameSpec(f"{GAMES}:Dealt"),
}


def same(one, other):
    """Whether two records are equal to the bit."""
    for name, value in vars(one).items():
        twin = getattr(other, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == twin.dtype
            np.testing.assert_array_equal(value, twin)
        else:
            assert value == twin


@pytest.fixture(params=SPECS.values(), ids=SPECS)
def played(request):
    config = SelfPlayConfig(games=4, opening_share=0.5, full_share=0.5, fast_simulations=3)
    actors = Actors(request.param, config, 1, None, SearchConfig(simulations=5, noise=True))
    return request.param, actors.play("uniform", 0, 20).records(3)


def test_columns_of_self_play_are_packed_like_their_records(played):
    spec, games = played
    layout = Layout.of(spec)
    for part in (slice(None), slice(5, 13), slice(19, 20)):
        records = list(games)[part]
        assert not isinstance(records, Games) and isinstance(games[part], Games)
        one, other = (Block.of(each, layout).to_bytes(layout) for each in (games[part], records))
        assert one == other


def test_items_are_records(played):
    _, games = played
    records = list(games)
    assert len(records) == len(games) == 20 and {record.step for record in records} == {3}
    same(games[-1], records[19])
    for index, wanted in ((slice(4, 9), records[4:9]), (slice(9, 4, -2), records[9:4:-2])):
        for one, other in zip(games[index], wanted, strict=True):
            same(one, other)
    for one, other in zip(Games.of(records), records, strict=True):
        same(one, other)
    assert Games.of(games) is games and not games[7:7]
    with pytest.raises(IndexError):
        games[20]


def test_joined_blocks_are_one_block(played):
    spec, games = played
    layout = Layout.of(spec)
    parts = [Block.of(games[i : i + 6], layout) for i in range(0, 20, 6)]
    assert Block.joined(parts).to_bytes(layout) == Block.of(games, layout).to_bytes(layout)


def test_records_from_elsewhere_are_joined():
    rng = np.random.default_rng(1)
    records = [random_record(GameSpec("connect4"), rng, opening=i) for i in range(5)]
    for one, other in zip(Games.of(records), records, strict=True):
        same(one, other)
