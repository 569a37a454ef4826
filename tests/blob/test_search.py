"""Players of Blob that search: views, choices and names."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import Rng, SearchConfig
from sylvan.blob.match import BlobReport, play_match
from sylvan.blob.players import Bot, bot_named
from sylvan.blob.search import SEARCHES, SearchPlayer, search_named
from sylvan.errors import ConfigError
from sylvan.evaluators import Rollout
from sylvan.games import Blob
from sylvan.games.blob import FIRST_BID

SMALL = ("information_set:40", "determinised:5x8", "information_set:40:uniform")


@given(st.integers(3, 5), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from(SMALL))
def test_no_search_peeks(players, cards, seed, name):
    """A player does the same in every deal with the same view."""
    game, rng = Blob(players, cards, seed=seed), random.Random(seed)
    for _ in range(rng.randrange(players * (cards + 1))):
        game.apply(rng.choice(game.legal_actions()))
    view = game.observe(game.to_play())
    views = [view, *(view.sample(number).observe(game.to_play()) for number in range(3))]
    choices = {bot_named(name).choose(view, Rng(5)) for view in views}
    assert len(choices) == 1
    assert choices <= set(game.legal_actions())


@pytest.mark.parametrize("name", ["information_set:400", "determinised:40x10"])
def test_the_last_bidder_of_one_card_knows(name):
    """The ace of trumps wins in every deal, the two of a side suit almost never."""
    for card, bid in (("AH", 1), ("2S", 0)):
        game = Blob(3, 1, sequence="single", trump="hearts", hook="off", seed=None)
        view = game.enter(0, [card])
        view.bid(1, 1)
        view.bid(2, 0)
        assert bot_named(name).choose(view, Rng(1)) == FIRST_BID + bid


def test_it_plays_for_what_it_is_told():
    """Two cards are left and the seat has missed its bid: only rivalry makes a difference."""
    game = Blob(3, 2, sequence="single", trump="none", hook="off", seed=None)
    view = game.enter(1, ["AH", "2C"])
    view.bid(1, 0)
    view.bid(2, 1)
    view.bid(0, 1)
    result = SearchPlayer(SearchConfig(simulations=500)).search(view, Rng(1))
    assert result.game.value_range == (-1.0, 1.0) and sum(result.values) == pytest.approx(0)
    selfish = SearchPlayer(SearchConfig(simulations=500), rivalry=0.0).search(view, Rng(1))
    assert selfish.game.value_range == (0.0, 1.0) and min(selfish.values) >= 0


def test_another_evaluator_takes_the_card_counters_place():
    game = Blob(3, 2, seed=1)
    player = SearchPlayer(SearchConfig(simulations=50), evaluate=Rollout())
    assert player.choose(game.observe(game.to_play()), Rng(1)) in game.legal_actions()


def test_names():
    for name, effort in SEARCHES.items():
        assert bot_named(name).name == f"{name}:{effort}"
    for name in ("information_set:7", "determinised:3x5", "information_set:9:uniform"):
        assert bot_named(name).name == name == str(bot_named(name))
    assert search_named("determinised:3x5").config.deals == 3
    assert search_named("determinised:uniform").candidates == 1
    for name in ("information_set:0", "information_set:3x4", "determinised:9", "determinised:3x",
                 "information_set:5:5", "information_set:5:uniform:5", "search"):  # fmt: skip
        with pytest.raises(ConfigError, match="information_set:4000"):
            search_named(name)


def test_matches_of_single_deals_add_up():
    rules = Blob(3, 2)
    player = bot_named("information_set:30")
    whole = play_match(player, Bot("counter"), 3, first=4, rules=rules)
    parts = [play_match(player, Bot("counter"), 1, first=4 + i, rules=rules) for i in range(3)]
    assert BlobReport.joined(parts).to_json() == whole.to_json()
    with pytest.raises(ConfigError, match="deals"):
        BlobReport.joined(parts[::2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "deals"), [("information_set:60", 60), ("determinised:16x20", 60)]
)
def test_searches_are_better_than_what_they_ask(name, deals):
    """The deals are fixed, so the result never varies; benchmarks/blob.py is more precise."""
    report = play_match(bot_named(name), Bot("counter"), deals, rules=Blob(3, 3))
    assert report.difference > max(1, report.half_width)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["information_set:200", "determinised:32x30"])
def test_searches_of_more_cards_are_better_than_what_they_ask(name):
    report = play_match(bot_named(name), Bot("counter"), 40, rules=Blob(4, 4))
    assert report.difference > 1
