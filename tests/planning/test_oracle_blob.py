"""Blob where the truth is known: last bids, last tricks, and small deals walked to their ends.

What follows a known deal is a game of max^n, in which ties are common: a seat whose bid is lost
does not mind who takes the rest. Where values are proven, the first of equal actions decides, as in
`exact.solve`; where they are means over visits, any mixture of equal actions may, so the value lies
within `exact.bounds`.
"""

import random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sylvan import Search, SearchConfig, reference
from sylvan.games import Blob
from tests.blob.test_deals import all_deals
from tests.planning import exact

QUIET = {"suppress_health_check": list(HealthCheck)}
EAGER = SearchConfig(hidden="cheating", c_puct=1e4, simulations=200_000)
"""Sees the whole tree of a small deal, and so proves it."""


def flat(states):
    """For the reference: nothing is known of any state."""
    return [([0.0] * len(state.legal_actions()), [0.0] * state.num_players) for state in states]


def forced(states):
    """The same where nobody has a choice any more: what the round will pay."""
    found = []
    for state in states:
        end = state.clone()
        while not end.is_terminal():
            (action,) = end.legal_actions()
            end.apply(action)
        found.append(([0.0] * len(state.legal_actions()), list(end.returns())))
    return found


@st.composite
def rounds(draw, players=(3, 3), cards=(1, 3), **options):
    """A single round, dealt from the whole deck or a small one."""
    count, each = draw(st.integers(*players)), draw(st.integers(*cards))
    options["rivalry"] = draw(st.sampled_from([0.0, 1.0]))
    options["trump"] = draw(st.sampled_from(["none", "spades"]))
    options["suits"] = draw(st.integers(2, 4))
    options["ranks"] = draw(st.integers(-(-count * each // options["suits"]), 13))
    options["dealer"] = draw(st.integers(0, count - 1))
    options["seed"] = draw(st.integers(0, 2**32))
    return Blob(count, each, sequence="single", **options)


def walk(game: Blob, seed: int, until) -> Blob:
    """Random moves until a state is what is wanted."""
    rng = random.Random(seed)
    while not until(game):
        game.apply(rng.choice(game.legal_actions()))
    return game


def last_bid(game: Blob) -> bool:
    """The dealer is to bid."""
    return game.bids.count(None) == 1


def last_trick(game: Blob) -> bool:
    """Everyone holds one card, or has played it."""
    return game.phase == "playing" and max(game.hand_sizes) == 1


# --- (iii) the last bidder, all cards known -------------------------------------------------------


@settings(**QUIET)
@given(game=rounds(), seed=st.integers(0, 2**32))
def test_each_last_bid_is_worth_its_exact_utility(game, seed):
    game = walk(game, seed, last_bid)
    worth = exact.action_values(game, memo={})
    root = Search("uniform", EAGER).run(game).tree.root
    for edge in root.edges:
        assert edge.proven == worth[edge.action][game.to_play()]


@settings(**QUIET)
@given(game=rounds(cards=(1, 2)), seed=st.integers(0, 2**32))
def test_each_last_bid_is_worth_its_exact_utility_in_the_reference(game, seed):
    game = walk(game, seed, last_bid)
    worth = exact.action_values(game)
    search = reference.Search(game, flat, EAGER)
    search.run()
    for action, child in search.root.children.items():
        assert tuple(child.proven) == worth[action]


@pytest.mark.slow
@settings(**QUIET)
@given(game=rounds(players=(3, 4), cards=(1, 1)), seed=st.integers(0, 2**32))
def test_the_last_bid_of_one_card_is_worth_its_mean_over_all_deals(game, seed):
    """Of what the seat cannot see, every deal counts the same; play is forced."""
    game = walk(game, seed, last_bid)
    seat = game.to_play()
    view = game.observe(seat)
    hidden = [other for other in range(game.num_players) if other != seat]
    worth = {action: [] for action in view.legal_actions()}
    for hands in all_deals(view):
        deal = game.at_round(0, [0] * game.num_players).this_round()
        dealt = dict(zip(hidden, hands, strict=True)) | {seat: game.hand(seat)}
        deal.deal([dealt[other] for other in range(game.num_players)])
        for other in [(game.dealer + 1 + i) % game.num_players for i in range(len(hidden))]:
            deal.bid(other, game.bids[other])
        for action, values in exact.action_values(deal).items():
            worth[action].append(values[seat])
    root = Search("rollout", simulations=20_000, c_puct=100.0).run(view).tree.root
    for edge in root.edges:
        exactly = sum(worth[edge.action]) / len(worth[edge.action])
        assert edge.Q == pytest.approx(exactly, abs=0.025)  # five standard errors


# --- (iv) the last trick --------------------------------------------------------------------------


@settings(**QUIET)
@given(
    game=rounds(players=(3, 5), cards=(1, 4)), seed=st.integers(0, 2**32), walks=st.integers(1, 9)
)
def test_the_last_trick_is_worth_what_it_pays(game, seed, walks):
    """All plays are forced, so every walk finds the same, in the core and in the reference."""
    game = walk(game, seed, last_trick)
    worth = exact.solve(game)
    config = SearchConfig(hidden="cheating", simulations=walks, proofs=False)
    assert Search("rollout", config).run(game).values == pytest.approx(worth, abs=1e-6)
    assert Search("uniform", EAGER).run(game).values == worth
    slow = reference.Search(game, forced, config)
    slow.run()
    assert [total / slow.root.N for total in slow.root.W] == pytest.approx(worth, abs=1e-6)


@settings(**QUIET)
@given(
    game=rounds(players=(3, 5), cards=(1, 4)), seed=st.integers(0, 2**32), walks=st.integers(1, 9)
)
def test_the_last_card_of_all_needs_no_guess(game, seed, walks):
    """Its player sees everything that matters, so searches of the view are exact, in every mode."""
    game = walk(game, seed, lambda state: sum(state.hand_sizes) == 1)
    worth, view = exact.solve(game), game.observe(game.to_play())
    for config in (
        SearchConfig(simulations=walks),
        SearchConfig(simulations=walks, hidden="determinised", deals=3),
    ):
        assert Search("rollout", config).run(view).values == pytest.approx(worth, abs=1e-6)
    slow = reference.DealSearch(view, forced, SearchConfig(simulations=walks))
    slow.run()
    assert [total / slow.root.N for total in slow.root.W] == pytest.approx(worth, abs=1e-6)


# --- (v) small deals ------------------------------------------------------------------------------


@pytest.mark.slow
@settings(**QUIET)
@given(game=rounds())
def test_small_deals_are_worth_what_max_n_says(game):
    """All bids and plays of up to three cards, ties included."""
    memo = {}
    result = Search("uniform", EAGER).run(game)
    assert result.stopped_by == "proven" and result.values == exact.solve(game, memo=memo)
    assert result.best in exact.best_actions(game, memo=memo)


@settings(max_examples=10, **QUIET)
@given(game=rounds(cards=(1, 2)))
def test_small_deals_are_worth_what_max_n_says_in_the_reference(game):
    search = reference.Search(game, flat, EAGER)
    search.run()
    assert search.stopped_by == "proven" and tuple(search.root.proven) == exact.solve(game)


def assert_within(found, state, seat, near):
    """The mean of a search is one that max^n allows, however ties are broken."""
    low, high = exact.bounds(state, {})
    assert low[seat] - near <= found <= high[seat] + near


@pytest.mark.slow
@settings(**QUIET)
@given(game=rounds(cards=(1, 2)))
@example(game=Blob(3, 2, sequence="single", trump="none", suits=4, ranks=2, rivalry=1.0, seed=121))
def test_means_of_many_simulations_come_to_max_n(game):
    # The example still prefers another bid after 100,000 simulations.
    config = SearchConfig(hidden="cheating", proofs=False, c_puct=1.0, simulations=300_000)
    result = Search("uniform", config).run(game)
    assert_within(result.value, game, game.to_play(), 0.1)
    after = game.clone()
    after.apply(result.best)
    assert_within(result.tree.root.edge(result.best).Q, after, game.to_play(), 0.1)


def without_secrets(count):
    """Moments of play in which only one deal fits what the seat to move has seen, and the deck is
    dealt out. They are rare: seeds are tried in turn.
    """
    for seed in range(10_000):
        rng = random.Random(seed)
        cards, suits = rng.choice([2, 3]), rng.choice([2, 3, 4])
        deck = {"suits": suits, "ranks": -(-3 * cards // suits)}
        rivalry = float(seed % 2)
        game = Blob(3, cards, sequence="single", seed=seed, rivalry=rivalry, **deck)
        while not game.is_terminal():
            view = game.observe(game.to_play())
            if len(game.legal_actions()) > 1 and view.num_deals() == 1:
                yield game, view
                count -= 1
                break
            game.apply(rng.choice(game.legal_actions()))
        if not count:
            return


def test_an_information_set_of_one_deal_comes_to_max_n():
    config = SearchConfig(simulations=3000, c_puct=1.0)
    for game, view in without_secrets(60):
        result = Search("uniform", config).run(view)
        assert_within(result.value, game, game.to_play(), 0.03)
        sure = max(low[game.to_play()] for low, _ in exact.action_bounds(game, {}).values())
        assert exact.action_bounds(game, {})[result.best][1][game.to_play()] >= sure - 1e-12


@pytest.mark.slow
def test_an_information_set_of_one_deal_comes_to_max_n_in_the_reference():
    config = SearchConfig(simulations=1000, c_puct=1.0)
    for game, view in without_secrets(12):
        search = reference.DealSearch(view, flat, config)
        search.run()
        seat = game.to_play()
        assert_within(search.root.W[seat] / search.root.N, game, seat, 0.1)
