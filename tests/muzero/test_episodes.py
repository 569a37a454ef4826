"""Rating learned models by episodes, with an exact model."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sylvan import SearchConfig
from sylvan.errors import GameContractError
from sylvan.games.naming import GameSpec
from sylvan.muzero.episodes import EpisodeArena, Episodes, play_episodes
from sylvan.muzero.evaluation import LatentSide
from sylvan.ratings.arena import ArenaConfig
from tests.muzero.models import Corridor, ExactModel
from tests.muzero.toy_models import Hashed

CORRIDOR = GameSpec(f"{Path(__file__).parent / 'models.py'}:Corridor")
PLAY = SearchConfig(simulations=40, discount=0.9)


class RandomSide:
    name = "drawn"

    def choose(self, states, seeds):
        return [seed % 2 for seed in seeds]


class Always:
    name = "always"

    def __init__(self, action):
        self.action = action

    def choose(self, states, seeds):
        assert len(states) == len(seeds)
        return [self.action] * len(states)


def corridor_model():
    return ExactModel([Corridor(cell) for cell in range(1, 5)])


def test_episodes_add_up_what_is_paid():
    right = play_episodes(CORRIDOR, Always(1), 3)
    assert right.returns.tolist() == pytest.approx([0.8] * 3) and right.lengths.tolist() == [3] * 3
    left = play_episodes(CORRIDOR, Always(0), 1)
    assert left.mean == pytest.approx(-0.2) and left.interval == (-math.inf, math.inf)


def test_an_episode_stops_at_the_most_plies():
    found = play_episodes(CORRIDOR, Always(1), 2, max_plies=2)
    assert found.lengths.tolist() == [2, 2] and found.mean == pytest.approx(-0.2)


def test_the_interval_is_the_usual_one():
    found = Episodes(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, np.int64))
    half = 1.96 * math.sqrt(5 / 3) / 2
    assert found.interval == pytest.approx((2.5 - half, 2.5 + half))


def test_a_search_over_a_model_walks_to_the_reward():
    found = play_episodes(CORRIDOR, LatentSide("model", corridor_model(), PLAY), 2)
    assert found.returns.tolist() == pytest.approx([0.8, 0.8])


def test_progress_of_episodes_is_reported():
    reported = []
    play_episodes(CORRIDOR, Always(1), 2, watch=lambda over, count: reported.append((over, count)))
    assert reported == [(0, 2), (0, 2), (2, 2)]


# --- environments that fail -----------------------------------------------------------------------


@pytest.fixture
def environments():
    pytest.importorskip("gymnasium", reason="Gymnasium is not installed (sylvan[gym])")
    pytest.importorskip("tests.muzero.environments")


@pytest.mark.usefixtures("environments")
@pytest.mark.parametrize("kind", ["Unready", "Fickle"])
def test_an_episode_that_fails_is_dropped_and_the_others_count(kind):
    spec, reported = GameSpec(f"gym:test/{kind}-v0"), []
    found = play_episodes(spec, RandomSide(), 20, 3, watch=lambda *words: reported.append(words))
    whole = play_episodes(GameSpec("gym:test/Walk-v0"), RandomSide(), 20, 3)
    assert 0 < found.dropped < 20 and len(found.returns) == len(found.lengths) == 20 - found.dropped
    assert set(found.returns.tolist()) <= set(whole.returns.tolist())
    assert found.mean == found.returns.mean() and reported[-1] == (20, 20)
    rating = EpisodeArena(spec, ArenaConfig(games=20, simulations=4), 3).rate(Hashed(2), 1)
    assert rating.numbers()["rating.dropped"] == rating.dropped > 0


@pytest.mark.usefixtures("environments")
def test_if_every_episode_fails_one_error_is_raised():
    with pytest.raises(GameContractError, match=r"RuntimeError.*\(the wheel came off\)"):
        play_episodes(GameSpec("gym:test/Broken-v0"), Always(1), 3)


def test_the_arena_of_episodes_remembers_the_best(tmp_path):
    config = ArenaConfig(games=2, simulations=40)
    arena = EpisodeArena(CORRIDOR, config, 1, tmp_path, PLAY)
    good = arena.rate(corridor_model(), 3)
    assert good.is_best and good.numbers()["rating.return"] == pytest.approx(0.8)
    blind = ExactModel([Corridor(cell) for cell in range(1, 5)])
    blind.recurrent_inference = lambda hidden, actions: blind.output(
        [Corridor(2)] * len(actions), [[-float(a)] for a in actions]
    )
    bad = arena.rate(blind, 4)
    assert not bad.is_best and bad.mean < 0 and arena.best == 3
    table = json.loads((tmp_path / "ratings.json").read_text())
    assert table["best"] == "step-000003" and set(table["returns"]) == {
        "step-000003",
        "step-000004",
    }
    other = EpisodeArena(CORRIDOR, config, 1, None, PLAY)
    other.load_state_dict(arena.state_dict())
    assert (other.best, other.means) == (arena.best, arena.means)


def test_progress_of_a_rating_has_no_opponent():
    reported = []
    arena = EpisodeArena(CORRIDOR, ArenaConfig(games=2, simulations=40), 1, None, PLAY)
    arena.rate(corridor_model(), 1, watch=lambda *words: reported.append(words))
    assert reported[-1] == ("", 2, 2)
