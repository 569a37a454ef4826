"""Deals: every consistent deal is drawn with the same probability, and no other."""

import itertools
import random
import time
from collections import Counter

import pytest

from sylvan import _native
from sylvan.blob.deals import weight, weighted_deals
from sylvan.blob.players import Bot
from sylvan.errors import ConfigError
from sylvan.games import Blob


def all_deals(view: Blob) -> list[tuple[tuple[int, ...], ...]]:
    """The hands of the hidden seats in every consistent deal, by enumeration."""
    hidden = [seat for seat in range(view.num_players) if seat != view.viewer]
    found = []

    def fill(place: int, left: frozenset[int], hands: list[tuple[int, ...]]) -> None:
        if place == len(hidden):
            found.append(tuple(hands))
            return
        seat = hidden[place]
        fitting = sorted(card for card in left if card // 13 not in view.voids[seat])
        for hand in itertools.combinations(fitting, view.hand_sizes[seat]):
            fill(place + 1, left - set(hand), [*hands, hand])

    fill(0, frozenset(view.unseen()), [])
    return found


def views(players: int, cards: int, seed: int, **options) -> list[Blob]:
    """Views of random moments of a round, those with the most voids first."""
    rng = random.Random(seed)
    found = []
    for number in range(40):
        game = Blob(players, cards, sequence="single", seed=seed * 1000 + number, **options)
        for _ in range(rng.randint(players, players * (cards + 1) - 1)):
            game.apply(rng.choice(game.legal_actions()))
        found.append(game.observe(rng.randrange(players)))
    return sorted(found, key=lambda view: -sum(map(len, view.voids)))


SMALL = [
    (3, 3, {"suits": 3, "ranks": 4}),
    (3, 4, {"suits": 4, "ranks": 3}),
    (4, 2, {"suits": 4, "ranks": 3}),
    (4, 3, {"suits": 4, "ranks": 3, "trump": "turned_up"}),
    (4, 3, {"suits": 3, "ranks": 5, "break_trump": True, "trump": "hearts"}),
    (5, 2, {"suits": 2, "ranks": 6}),
]


@pytest.mark.parametrize(("players", "cards", "options"), SMALL, ids=str)
def test_deals_are_counted(players, cards, options):
    for view in views(players, cards, 1, **options):
        if view.num_deals() > 5000:
            continue  # too many to try
        assert view.num_deals() == len(all_deals(view))


@pytest.mark.parametrize(("players", "cards", "options"), SMALL, ids=str)
def test_deals_are_uniform(players, cards, options):
    """Chi-square against full enumeration, for the views with most voids and up to 400 deals."""
    tested = 0
    for number, view in enumerate(views(players, cards, 2, **options)):
        if not 2 <= view.num_deals() <= 400 or tested == 4:
            continue
        deals = all_deals(view)
        tested += 1
        rng, hidden = _native.Rng(number), [s for s in range(players) if s != view.viewer]
        draws = 30 * len(deals)
        counts: Counter[tuple[tuple[int, ...], ...]] = Counter()
        for _ in range(draws):
            deal = view.sample(rng)
            counts[tuple(tuple(deal.hand(seat)) for seat in hidden)] += 1
        assert set(counts) == set(deals)
        chi = sum((counts[deal] - 30) ** 2 / 30 for deal in deals)
        freedom = len(deals) - 1
        # Wilson and Hilferty's cube root is standard normal to within a percent here.
        spread = 2 / (9 * freedom)
        z = ((chi / freedom) ** (1 / 3) - (1 - spread)) / spread**0.5
        assert abs(z) < 4.5, (chi, freedom)
    assert tested


def test_the_largest_count_fits():
    """Eight players with six cards: more deals than any other view has."""
    view = Blob(8, 6, sequence="single").observe(0)
    expected, left = 1, 46
    for _ in range(7):
        for i in range(6):
            expected = expected * (left - i)
        expected //= 720
        left -= 6
    assert view.num_deals() == expected
    assert view.sample(1).hand_sizes == [6] * 8


@pytest.mark.alone
def test_a_million_deals_a_second():
    """In the middle of a round of five players with seven cards, with random voids."""
    for view in views(5, 7, 3)[::8]:
        rng = _native.Rng(1)
        best = 0.0
        for _ in range(5):
            began = time.perf_counter()
            view.sample_many(20_000, rng)
            best = max(best, 20_000 / (time.perf_counter() - began))
        assert best > 1e6, (view, best)


# --- weighted deals ------------------------------------------------------


def certain(view: Blob) -> dict[int, float]:
    """Bids one with an ace, otherwise 0, and plays the lowest card."""
    legal = view.legal_actions()
    if view.phase == "playing":
        return {legal[0]: 1.0}
    aces = any(card % 13 == 12 for card in view.hand(view.to_play()))
    wanted = 52 + int(aces)
    return {wanted if wanted in legal else legal[0]: 1.0}


def test_weighted_deals_agree_with_enumeration():
    """Bids of one and of 0: the exact probability that seat 1 holds an ace."""
    game = Blob(3, 1, sequence="single", trump="none", seed=None).enter(0, ["5H"])
    game.bid(1, 1)
    game.bid(2, 0)
    noise = 0.2
    weights = {}
    for one, two in itertools.permutations(game.unseen(), 2):
        likes = [noise / 2 + (1 - noise) * ((card % 13 == 12) == bid) for card, bid in
                 ((one, True), (two, False))]  # fmt: skip
        weights[one, two] = likes[0] * likes[1]
    exact = sum(w for (one, _), w in weights.items() if one % 13 == 12) / sum(weights.values())
    deals = weighted_deals(game, 600, certain, _native.Rng(1), candidates=8, noise=noise)
    share = sum(deal.hand(1)[0] % 13 == 12 for deal in deals) / len(deals)
    assert exact == pytest.approx(0.43, abs=0.02)  # against 4 / 51 without weights
    assert share == pytest.approx(exact, abs=0.06)
    one = next(deal for deal in deals if deal.hand(1)[0] % 13 == 12 and deal.hand(2)[0] % 13 != 12)
    assert weight(one, 0, certain, noise) == pytest.approx((1 - noise / 2) ** 2)


def test_a_model_that_is_certain_and_wrong_rules_nothing_out():
    view = Blob(3, 1, sequence="single", trump="none", seed=None).enter(0, ["AH"])
    view.bid(1, 1)
    view.bid(2, 1)
    deals = weighted_deals(view, 5, lambda _: {}, _native.Rng(1), noise=0.0)
    assert len(deals) == 5 and all(deal.observe(0) == view for deal in deals)
    with pytest.raises(ConfigError, match=r"count.*0.*candidates 8"):
        weighted_deals(view, 0, certain, _native.Rng(1))


def counted(view: Blob) -> dict[int, float]:
    """The card counter without noise."""
    return {Bot("counter").choose(view, _native.Rng(0)): 1.0}


@pytest.mark.parametrize(("bid_noise", "play_noise"), [(0.1, 1.0), (0.3, 0.2)])
def test_views_with_a_belief_draw_deals_by_their_weights(bid_noise, play_noise):
    """Against the weights of all deals of a small deck, after bids and two cards."""
    view = Blob(3, 2, sequence="single", suits=2, ranks=4, trump="hearts", seed=None)
    view = view.enter(0, ["2S", "4H"])
    for seat, bid in ((1, 1), (2, 0), (0, 0)):
        view.bid(seat, bid)
    view.play(1, "3S")
    view.play(2, "5S")
    weights = {}
    for one, two in itertools.permutations(view.unseen(), 2):
        hands = [[0, 15], sorted([1, one]), sorted([3, two])]
        game = Blob(3, 2, sequence="single", suits=2, ranks=4, trump="hearts", seed=None)
        game.deal(hands)
        product = 1.0
        for action in (53, 52, 52, 1, 3):
            seat, legal = game.to_play(), game.legal_actions()
            noise = bid_noise if action >= 52 else play_noise
            if seat != 0 and len(legal) > 1 and noise < 1:  # 1 ignores such moves
                chosen = action in counted(game.observe(seat))
                product *= (1 - noise) * chosen + noise / len(legal)
            game.apply(action)
        weights[one, two] = product
    assert len(set(weights.values())) > 2 and len(weights) == view.num_deals()
    believing, rng = view.with_belief(60, bid_noise, play_noise), _native.Rng(1)
    draws = Counter(
        (deal.hand(1)[0], deal.hand(2)[0]) for deal in (believing.sample(rng) for _ in range(4000))
    )
    total = sum(weights.values())
    for deal, weight_ in weights.items():
        assert draws[deal] / 4000 == pytest.approx(weight_ / total, abs=0.03)


def test_a_belief_is_kept():
    view = Blob(3, 2, seed=1).observe(1).with_belief(4, 0.25, 0.5)
    assert view.belief == (4, 0.25, 0.5) != Blob(3, 2).belief
    assert Blob.from_json(view.to_json()).belief == view.belief
    assert view.clone().belief == view.sample(3).belief == view.belief
    assert "belief" not in Blob(3, 2).to_json()
    with pytest.raises(ConfigError, match=r"[Cc]andidates.*0"):
        view.with_belief(0, 0.1, 0.1)
    with pytest.raises(ConfigError, match=r"[Pp]lay_noise.*2"):
        view.with_belief(4, 0.1, 2.0)
    with pytest.raises(ConfigError, match="rivalry"):
        view.with_rivalry(1.5)
    assert view.with_rivalry(0.5).value_range == (-0.5, 1.0)
