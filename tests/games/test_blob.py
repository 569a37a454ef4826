"""Blob: against a second implementation of its rules, against OpenSpiel, and case by case."""

import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import _native
from sylvan.errors import (
    ConfigError,
    GameOver,
    HiddenCards,
    IllegalAction,
    IllegalBid,
    IllegalCard,
    IllegalPosition,
    WrongPhase,
    WrongPlayer,
)
from sylvan.games import Blob
from sylvan.games.blob import FIRST_BID, card_code, card_name
from sylvan.games.naming import GameSpec
from sylvan.testing import check_game
from tests.games.blob_twin import Twin, rounds_of

sizes = st.integers(3, 8).flatmap(
    lambda players: st.tuples(st.just(players), st.integers(1, min(13, 52 // players)))
)
seeds = st.integers(0, 2**32)


def hands_of(game: Blob) -> list[list[int]]:
    return [game.hand(seat) for seat in range(game.num_players)]


def moved(game: Blob, steps: int, rng: random.Random) -> Blob:
    """The game after some random moves, or at its end."""
    for _ in range(steps):
        if game.is_terminal():
            break
        game.apply(rng.choice(game.legal_actions()))
    return game


# --- the rules --------------------------------------------------------------------------------


@given(sizes, seeds)
def test_whole_games_equal_a_second_implementation(size, seed):
    players, cards = size
    game, twin, rng = Blob(players, cards, seed=seed), Twin(players, cards), random.Random(seed)
    assert game.sequence == twin.rounds == rounds_of(players, cards)
    for number, dealt in enumerate(twin.rounds):
        assert (game.round, game.cards) == (number, dealt)
        twin.deal(hands_of(game))
        over = False
        while not over:
            assert game.to_play() == twin.turn
            assert game.legal_actions() == twin.legal()
            action = rng.choice(twin.legal())
            game.apply(action)
            over = twin.apply(action)
            if not over:
                assert game.tricks == twin.taken
        assert game.points == twin.points
    assert game.is_terminal()


@given(sizes, seeds)
def test_rewards_and_returns_are_the_points(size, seed):
    players, cards = size
    game, rng = Blob(players, cards, seed=seed), random.Random(seed)
    paid = np.zeros(players)
    while not game.is_terminal():
        moved(game, 1, rng)
        if any(game.rewards()):
            paid += np.array(game.rewards()) * (10 + game.sequence[game.round - 1])
    paid += np.array(game.returns()) * (10 + cards)
    assert np.allclose(paid, game.points)


def test_a_game_of_five_with_seven_cards():
    game = Blob(5, 7)
    assert len(game.sequence) == 17
    assert len(Blob(5, 8).sequence) == 19
    assert len(Blob(5, 7, legacy_extra_one_card_round=True).sequence) == 18
    dealers, trumps = [], []
    rng = random.Random(1)
    for number in range(17):
        assert game.round == number
        dealers.append(game.dealer)
        trumps.append(game.trump)
        assert game.to_play() == (game.dealer + 1) % 5
        while game.round == number and not game.is_terminal():
            moved(game, 1, rng)
    assert dealers == [number % 5 for number in range(17)]
    assert trumps == ([0, 1, 2, 3, None] * 4)[:17]


@pytest.mark.slow
def test_the_games_keep_the_contract():
    check_game(lambda: Blob(3, 2))
    check_game(lambda: Blob(3, 1, seed=None, sequence="single", trump="turned_up"))
    check_game(lambda: Blob(4, 2, seed=3).observe(1).sample(1))
    check_game(GameSpec("blob", {"players": 3, "cards": 2}).first)


def test_episodes_differ_by_their_seed_alone():
    spec = GameSpec("blob", {"players": 4, "cards": 3})
    assert spec.episode(5) == spec.episode(5)
    assert hands_of(spec.episode(5)) != hands_of(spec.episode(6))
    assert spec.episode(6).sequence == spec.first().sequence


@pytest.mark.parametrize(("players", "cards", "points"), [(4, 5, 3), (3, 13, 4), (7, 7, 1)])
def test_points_of_the_scorings(players, cards, points):
    """The points of each scoring rule for the same bids and tricks."""
    rules = {
        "exact_10_plus_bid": lambda b, t: 10 + b if b == t else 0,
        "tricks_plus_10": lambda b, t: t + 10 * (b == t),
        "tricks_plus_5": lambda b, t: t + 5 * (b == t),
        "square": lambda b, t: 10 + b * b if b == t else -5 * sum(range(abs(b - t) + 1)),
        "minus_missed": lambda b, t: 10 + b if b == t else -abs(b - t),
    }
    for name, rule in rules.items():
        game = Blob(players, cards, sequence="single", scoring=name, seed=points)
        moved(game, 1000, random.Random(points))
        assert game.points == [rule(b, t) for b, t in zip(game.bids, game.tricks, strict=True)]
        low, high = game.value_range
        assert all(low <= value <= high for value in game.returns())


@pytest.mark.parametrize("rivalry", [0.0, 0.5, 1.0])
def test_utility_is_relative_to_the_others(rivalry):
    game = moved(Blob(4, 5, sequence="single", rivalry=rivalry), 1000, random.Random(2))
    share = np.array(game.points) / 15
    others = (share.sum() - share) / 3
    assert game.returns() == pytest.approx(share - rivalry * others)
    assert game.value_range == (-rivalry, 1.0)


def test_hook_and_its_variants():
    for hook, refused in (("dealer", [True, True]), ("off", [False] * 2)):
        game = Blob(3, 1, sequence=[1, 1], hook=hook)
        for number in range(2):
            game.apply(FIRST_BID)
            game.apply(FIRST_BID)
            assert (game.forbidden_bid is not None) == refused[number]
            moved(game, 4, random.Random(1))
    game = Blob(3, 1, sequence=[1, 1], hook="off_in_last")
    moved(game, 2, random.Random(1))
    assert game.forbidden_bid is not None or sum(b or 0 for b in game.bids) > 1
    moved(game, 4, random.Random(1))
    moved(game, 2, random.Random(1))
    assert game.round == 1 and game.forbidden_bid is None


# --- OpenSpiel --------------------------------------------------------------------------------


def theirs(card: int) -> int:
    """OpenSpiel's code of a card: rank * 4 + suit, suits C D S H."""
    suit, rank = divmod(card, 13)
    return rank * 4 + (2, 3, 0, 1)[suit]


@pytest.mark.parametrize("players", [3, 4, 5, 7])
def test_rounds_equal_open_spiel(players):
    pyspiel = pytest.importorskip("pyspiel")
    rng = random.Random(players)
    for _ in range(25):
        cards = rng.randint(1, min(13, 51 // players))
        dealer = rng.randrange(players)
        game = Blob.oh_hell(players, cards, dealer, seed=rng.randrange(2**32))
        state = pyspiel.load_game(f"oh_hell(players={players})").new_initial_state()
        state.apply_action(cards)
        state.apply_action(dealer)
        hands = hands_of(game)
        for place in range(cards):
            for hand in hands:
                state.apply_action(theirs(hand[place]))
        state.apply_action(theirs(game.turned_up))
        while not state.is_terminal():
            assert game.to_play() == state.current_player()
            actions = game.legal_actions()
            legal = [a if a >= FIRST_BID else theirs(a) for a in actions]
            assert sorted(legal) == state.legal_actions()
            action = rng.choice(actions)
            state.apply_action(action if action >= FIRST_BID else theirs(action))
            game.apply(action)
        assert game.is_terminal()
        assert game.points == state.returns()


# --- views ------------------------------------------------------------------------


@given(sizes, seeds, st.integers(0, 120))
def test_permuting_hidden_hands_leaves_the_view_as_it_is(size, seed, steps):
    players, cards = size
    game = moved(Blob(players, cards, seed=seed), steps, random.Random(seed))
    if game.is_terminal():
        return
    for seat in range(players):
        view = game.observe(seat)
        for deal in (view.sample(number) for number in range(3)):
            assert deal.observe(seat) == view
            assert deal.hand(seat) == game.hand(seat)
            assert deal.hand_sizes == game.hand_sizes
            for other in range(players):
                assert not any(card // 13 in game.voids[other] for card in deal.hand(other))
        assert str(seed) not in str(view.to_json()["seed"])
        assert [view.sample(1) == view.sample(1), view.viewer, view.is_view] == [True, seat, True]


def test_a_view_ends_with_its_round():
    game = Blob(3, 2, seed=1)
    deal = moved(game.observe(0).sample(1), 1000, random.Random(0))
    assert deal.is_terminal() and deal.round == 0
    assert game.value_range == (0.0, 5.0)
    assert deal.value_range == (0.0, 1.0)
    assert deal.seed is None


def test_two_seeds_with_one_deal_look_alike():
    """Later deals cannot be seen."""
    one, two = (Blob(3, 2, seed=None) for _ in range(2))
    for game in (one, two):
        game.deal(seed=5)
    one, two = one.seeded(1), two.seeded(2)
    assert one != two
    assert all(one.observe(seat) == two.observe(seat) for seat in range(3))
    assert all(one.observe(s).observation().tobytes() == two.observe(s).observation().tobytes()
               for s in range(3))  # fmt: skip


def test_hidden_things_are_refused():
    view = Blob(3, 2, seed=1).observe(0)
    with pytest.raises(HiddenCards, match=r"seat 1.*seat 0"):
        view.hand(1)
    with pytest.raises(HiddenCards):
        view.observe(1)
    with pytest.raises(HiddenCards, match="hidden"):
        Blob().sample(1)
    with pytest.raises(WrongPhase, match="deal"):
        Blob(seed=None).observe(0)
    assert view.observe(0) == view


def test_generators_that_sample():
    view = Blob(4, 5, seed=1).observe(2)
    assert view.sample(7) == view.sample(_native.Rng(7))
    drawn = [view.sample(rng) for rng in [np.random.default_rng(3)] * 2]
    assert drawn[0] != drawn[1]


# --- bad input: one sentence, and nothing changes ---------------------------------------------


def refused(game: Blob, error, sentence, call):
    before = game.clone()
    with pytest.raises(error, match=sentence) as caught:
        call(game)
    assert game == before
    assert str(caught.value).endswith(".")


def by_hand(*hands: str, dealer: int = 0, **options) -> Blob:
    game = Blob(len(hands), len(hands[0].split()), sequence="single", seed=None, dealer=dealer,
                **options)  # fmt: skip
    game.deal([hand.split() for hand in hands])
    return game


def test_moves_that_are_refused():
    game = by_hand("AS 2H 3D", "KS QS 4C", "2S AD 5C", trump="hearts")
    refused(game, WrongPlayer, "^It is seat 1's turn, not seat 0's", lambda g: g.bid(0, 1))
    refused(game, IllegalBid, "^Seat 1 cannot bid 4: .* 0 to 3", lambda g: g.bid(1, 4))
    refused(game, IllegalBid, "^Seat 1 cannot bid -1", lambda g: g.bid(1, -1))
    refused(game, WrongPhase, "does not fit the phase bidding: make a bid", lambda g: g.play(1, 11))
    game.bid(1, 1)
    game.bid(2, 1)
    refused(game, IllegalBid, "^Seat 0 cannot bid 1: it deals, and", lambda g: g.bid(0, 1))
    game.bid(0, 2)
    refused(game, WrongPhase, "^The bid 1 does not fit the phase playing", lambda g: g.bid(1, 1))
    refused(game, IllegalCard, "^There is no card -1", lambda g: g.apply(-1))
    refused(game, IllegalAction, "no action 18446744073709551616", lambda g: g.apply(2**64))
    game.play(1, "K♠")
    refused(
        game,
        IllegalCard,
        "^Seat 2 cannot play A♦: spades was led and it holds 2♠, so it must follow suit",
        lambda g: g.play(2, "AD"),
    )
    refused(game, IllegalCard, "^Seat 2 cannot play A♠: it does not hold", lambda g: g.play(2, 12))
    refused(game, WrongPlayer, "^It is seat 2's turn", lambda g: g.play(0, "AS"))
    refused(game, IllegalAction, "^There is no seat 3: seats are 0 to 2", lambda g: g.play(3, 0))
    refused(game, IllegalAction, "1x. is not a card", lambda g: g.play(2, "1x"))
    for card in ("2S", "AS", "3D", "4C", "AD", "5C", "2H", "QS"):
        game.play(game.to_play(), card)
    assert game.is_terminal() and game.points == [12, 0, 11]
    refused(game, GameOver, "^The game is over", lambda g: g.apply(0))


@pytest.mark.parametrize(
    ("hands", "sentence"),
    [
        ([["AS"], ["AS"], ["2C"]], "^Seat 1 cannot have A♠: seat 0 has it"),
        ([["AS", "2S"], ["KS"], ["2C"]], "seat 0 has 2 cards, but the round deals 1"),
        ([["AS"], ["KS"]], "2 hands for 3 seats"),
    ],
)
def test_deals_that_are_refused(hands, sentence):
    game = Blob(3, 1, seed=None)
    refused(game, IllegalPosition, sentence, lambda g: g.deal(hands))
    with pytest.raises(WrongPhase, match="already"):
        Blob(3, 1).deal(hands)


def table(hand: str, **options) -> Blob:
    """Seat 0's view at a table of three; all bid 0 and seat 1 leads."""
    cards = hand.split()
    view = Blob(3, len(cards), sequence="single", trump="none", seed=None, **options)
    view = view.enter(0, cards)
    for seat in (1, 2, 0):
        view.bid(seat, 0)
    return view


def test_observations_that_cannot_be():
    view = table("AS 2H 3D")
    refused(view, IllegalPosition, "^Seat 1 cannot have A♠: seat 0 holds", lambda g: g.play(1, 12))
    view.play(1, "KS")
    refused(
        view, IllegalPosition, "^Seat 2 cannot have K♠: seat 1 played it", lambda g: g.play(2, "KS")
    )
    view.play(2, "4H")  # seat 2 has shown that it has no spades
    view.play(0, "AS")
    view.play(0, "2H")
    view.play(1, "3H")
    assert view.voids == [[], [], [0]]
    refused(
        view,
        IllegalPosition,
        "^Seat 2 cannot have 9♠: it did not follow spades before, so it has none",
        lambda g: g.play(2, "9S"),
    )
    assert not any(card // 13 == 0 for card in view.possible(2))
    view.play(2, "AH")


def test_a_card_that_leaves_no_deal():
    """Six cards, three each of two suits: one void determines the other hands."""
    view = Blob(3, 2, sequence="single", suits=2, ranks=3, trump="none", seed=None)
    view = view.enter(0, ["2S", "2H"])  # the others hold 3♠ 4♠ 3♥ 4♥
    for seat, bid in ((1, 0), (2, 0), (0, 0)):
        view.bid(seat, bid)
    view.play(1, "3S")
    assert sorted(map(card_name, view.legal_actions())) == ["3♥", "4♠", "4♥"]
    view.play(2, "3H")  # so seat 2 holds 4♥ and seat 1 the 4♠
    assert view.num_deals() == 1
    view.play(0, "2S")
    refused(
        view,
        IllegalPosition,
        "^No deal fits what seat 0 has seen: after 4♥ of seat 1",
        lambda g: g.play(1, "4H"),
    )
    assert view.legal_actions() == [card_code("4S")]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"players": 2}, r"players.*2"),
        ({"players": 9}, r"players.*9"),
        ({"cards": 14}, r"cards.*14"),
        ({"cards": 0}, r"cards.*0"),
        ({"players": 5, "cards": 11}, r"55.*52"),
        ({"sequence": "zigzag"}, r'sequence.*"zigzag"'),
        ({"sequence": [3, 14]}, r"cards.*14"),
        ({"sequence": []}, "36"),
        ({"trump": "stars"}, r'trump.*"stars"'),
        ({"hook": "on"}, r'hook.*"on"'),
        ({"scoring": "none"}, r'scoring.*"none"'),
        ({"rivalry": 2.0}, r"rivalry.*2"),
        ({"rivalry": float("nan")}, r"rivalry.*NaN"),
        ({"dealer": 5}, r"dealer.*5"),
        ({"suits": 2, "trump": "clubs"}, r"trump.*2"),
        ({"players": -1}, r"players.*-1"),
    ],
)
def test_options_that_do_not_fit(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Blob(**options)
    with pytest.raises(ConfigError, match="cards is 13"):
        Blob.oh_hell(4, 13)


# --- words and files --------------------------------------------------------------------------


def test_names_of_actions():
    game = Blob(3, 4, seed=2)
    assert [game.string_to_action(text) for text in ("2", "bid 2", "Bid2")] == [54] * 3
    assert game.action_to_string(54) == "bid 2"
    moved(game, 3, random.Random(0))
    for action in game.legal_actions():
        assert game.string_to_action(game.action_to_string(action)) == action
    with pytest.raises(IllegalCard):
        game.string_to_action(card_name(next(c for c in range(52) if c not in game.hand(1))))


@given(sizes, seeds, st.integers(0, 150), st.booleans())
def test_states_are_saved_and_restored(size, seed, steps, hidden):
    game = moved(Blob(*size, seed=seed, rivalry=0.5), steps, random.Random(seed))
    if hidden and not game.is_terminal():
        game = game.observe(seed % size[0])
    again = Blob.from_json(game.to_json())
    assert again == game and again.key() == game.key()
    assert pickle.loads(pickle.dumps(game)) == game  # noqa: S301
    if not game.is_view:
        assert moved(again, 60, random.Random(1)) == moved(game, 60, random.Random(1))


@pytest.mark.parametrize("hidden", [False, True])
def test_a_card_turned_up_is_restored_with_the_rest(hidden):
    game = Blob(4, 3, trump="turned_up", seed=5)
    game = game.observe(1) if hidden else game
    assert Blob.from_json(game.to_json()) == game


def test_a_half_dealt_state_is_saved_too():
    game = Blob(3, 3, seed=None)
    for card in (5, 17, 40, 2):
        game.apply(card)
    assert Blob.from_json(game.to_json()) == game


@pytest.mark.parametrize("broken", [None, 3, {}, {"rules": 3}, {"plays": [99]}, {"bids": [1, 1, 9]},
                                    {"hands": {}}, {"round": 99}, {"points": [1]}])  # fmt: skip
def test_a_broken_save_is_refused(broken):
    document = broken
    if isinstance(broken, dict) and broken:
        document = Blob(3, 2, seed=1).to_json() | broken
    with pytest.raises(IllegalPosition, match="Blob"):
        Blob.from_json(document)


def test_what_is_printed():
    view = table("AS 2H 3D")
    view.play(1, "KS")
    view.play(2, "4H")
    assert str(view).splitlines() == [
        "Round 1 of 1: 3 cards, trump none, dealer seat 0",
        "> seat 0   A♠ 2♥ 3♦   bid 0, took 0",
        "  seat 1   ? ?   bid 0, took 0",
        "  seat 2   ? ?   bid 0, took 0   no ♠",
        "Trick: seat 1 K♠, seat 2 4♥",
    ]
