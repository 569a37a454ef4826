"""Exact bids on one card, compared with all deals."""

import itertools

import pytest

from benchmarks.blob_one_card import gains
from sylvan import Rng
from sylvan._native import blob_one_card_bid
from sylvan.blob.players import Bot
from sylvan.blob.search import SearchPlayer
from sylvan.games import Blob


def table(players, trump, **options):
    return Blob(players, 1, sequence=[1], trump=trump, seed=None, dealer=players - 1, **options)


@pytest.mark.parametrize("trump", ["spades", "none"])
def test_nobody_gains_by_another_bid(trump):
    assert gains(SearchPlayer(), 3, trump) == pytest.approx([0, 0, 0], abs=1e-12)


def test_who_does_not_read_the_table_gives_something_away():
    assert gains(Bot("counter"), 3, "spades")[0] > 0.3
    assert min(gains(Bot("rule"), 3, "none")[:2]) > 0.3


@pytest.mark.parametrize(
    ("card", "trump", "chance"),
    [
        ("2♥", "none", (39 * 38) / (51 * 50)),  # no other seat may have a heart
        ("5♠", "spades", (42 * 41) / (51 * 50)),  # nor a higher trump
        ("A♥", "spades", (38 * 37) / (51 * 50)),  # nor any trump
    ],
)
def test_the_leaders_chances_by_hand(card, trump, chance):
    _, found = blob_one_card_bid(table(3, trump).enter(0, [card]))
    assert found == pytest.approx(chance, abs=1e-12)


def test_a_side_card_wins_only_where_its_suit_is_led():
    """Seat 0 leads and bids one: with spades trump it does so with trumps and high side cards."""
    view = table(3, "spades").enter(1, ["K♥"])
    view.bid(0, 1)
    leads = [
        card
        for card in range(52)
        if blob_one_card_bid(table(3, "spades").enter(0, [card]))[0] == 53
    ]
    wins = total = 0
    king = 13 + 11
    for led, last in itertools.permutations(set(range(52)) - {king}, 2):
        if led in leads:
            total += 1
            wins += led // 13 == 1 and led < king and last // 13 != 0 and last != king + 1
    assert blob_one_card_bid(view)[1] == pytest.approx(wins / total, abs=1e-12)


def test_the_card_that_is_turned_up_is_out():
    game = Blob(3, 1, sequence=[1], trump="turned_up", seed=5)
    seat = game.to_play()
    _, chance = blob_one_card_bid(game.observe(seat))
    (card,), trump = game.hand(seat), game.trump
    others = set(range(52)) - {card, game.turned_up}
    beats = {
        other
        for other in others
        if other // 13 == trump != card // 13 or (other // 13 == card // 13 and other > card)
    }
    loses = len(others - beats)
    assert chance == pytest.approx(loses * (loses - 1) / (len(others) * (len(others) - 1)))


def test_other_states_have_no_exact_bid():
    assert blob_one_card_bid(Blob(3, 2, seed=1)) is None
    game = Blob(3, 1, sequence=[1], seed=1)
    for _ in range(3):
        game.apply(SearchPlayer().choose(game.observe(game.to_play()), Rng(1)))
    assert blob_one_card_bid(game) is None  # all have bid


@pytest.mark.parametrize("players", range(3, 9))
def test_the_hook_is_kept_at_tables_of_all_sizes(players):
    for seed in range(30):
        game = Blob(players, 1, sequence=[1], seed=seed)
        while game.bids.count(None):
            view = game.observe(game.to_play())
            action, chance = blob_one_card_bid(view)
            assert action in view.legal_actions() and 0 <= chance <= 1
            game.apply(action)
