"""A person's game of Blob: opponents that cannot peek, advice, review, save and resume."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sylvan._native import Rng
from sylvan.blob.advice import Advice, Rollouts, Searched
from sylvan.blob.players import Bot, Verdict
from sylvan.blob.session import STRENGTHS, BlobSession
from sylvan.errors import ConfigError, IllegalAction
from sylvan.games.blob import Blob


def session_of(players=3, cards=2, seed=5, seat=0, opponents=("rule",), **options):
    names = list(opponents) * (players - 1) if len(opponents) == 1 else opponents
    start = Blob(players=players, cards=cards, seed=seed, **options)
    return BlobSession(start, seat, names, Rollouts(16), seed=seed)


def play_out(session, limit=10_000):
    """Play the person's first legal action every time; return the typed lines."""
    lines = []
    while not session.is_over and len(session.actions) < limit:
        if session.is_persons_turn:
            action = session.game.legal_actions()[0]
            lines.append(session.game.action_to_string(action))
            session.play(action)
        else:
            session.reply()
    return lines


# --- nobody peeks ---------------------------------------------------------------------------------


@given(
    strength=st.sampled_from(STRENGTHS),
    seed=st.integers(0, 2**31),
    moves=st.integers(0, 14),
    other=st.integers(0, 2**31),
)
def test_what_an_opponent_does_does_not_depend_on_cards_it_cannot_see(strength, seed, moves, other):
    game = Blob(players=4, cards=3, seed=seed)
    chance = Rng(seed, 9)
    for _ in range(moves):
        legal = game.legal_actions()
        game.apply(legal[chance.below(len(legal))])
    seat = game.to_play()
    permuted = game.observe(seat).sample(other)
    names = [strength] * 3
    here = BlobSession(game, (seat + 1) % 4, names, seed=seed)
    there = BlobSession(permuted, (seat + 1) % 4, names, seed=seed)
    assert here.reply() == there.reply()


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31), other=st.integers(0, 2**31))
def test_a_hint_does_not_depend_on_cards_the_person_cannot_see(seed, other):
    game = Blob(players=4, cards=3, seed=seed)
    seat = game.to_play()
    permuted = game.observe(seat).sample(other)
    advice = [
        BlobSession(state, seat, ["rule"] * 3, adviser, seed=1).hint()
        for adviser in (Rollouts(8), Searched(40))
        for state in (game, permuted)
    ]
    assert advice[0] == advice[1] and advice[2] == advice[3]


def test_a_refused_card_does_not_tell_who_holds_it():
    session = session_of(players=3, cards=3, seed=1)
    while not (session.is_persons_turn and session.game.phase == "playing"):
        session.play(session.game.legal_actions()[0])
    theirs = session.game.action_to_string(session.game.hand(1)[0])
    unheld = session.game.observe(0).unseen()
    stock = next(c for c in unheld if c not in session.game.hand(1) + session.game.hand(2))
    said = []
    for card in (theirs, session.game.action_to_string(stock)):
        with pytest.raises(IllegalAction) as error:
            session.read(card)
        said.append(str(error.value).replace(card, "X"))
    assert said[0] == said[1]


# --- advice ---------------------------------------------------------------------------------------


def test_the_cost_of_an_action_is_what_the_best_one_has_more():
    rows = (Verdict(53, 0, 9.5, 0.8), Verdict(52, 0, 7.0, 0.7))
    advice = Advice(rows)
    assert advice.best.action == 53 and advice.cost(52) == 2.5 and advice.cost(53) == 0


def test_advice_finds_what_is_certain():
    """The ace of trump in a round of one card takes the trick: bid one, for eleven points."""
    game = Blob(players=3, cards=1, trump="spades", seed=None)
    game.deal([["2h"], ["AS"], ["3h"]])
    for adviser in (Rollouts(64), Searched(200)):
        advice = adviser.advise(game.observe(1), Rng(0))
        assert advice.best.action == 53 and advice.best.points == 11 and advice.best.made == 1
        assert advice.cost(52) == 11


@pytest.mark.parametrize("seed", [8, 23])
def test_advice_ranks_what_it_does_not_recommend_by_points(seed):
    """Actions that got only their forced visits have equal visits, but not equal points."""
    game = Blob(players=4, cards=5, seed=seed)
    while game.bids.count(None):
        game.apply(game.legal_actions()[0])
    advice = Searched(1000).advise(game.observe(game.to_play()), Rng(1))
    others = [row.points for row in advice.rows[1:]]
    assert others == sorted(others, reverse=True)


def test_advice_plays_for_ones_own_points_whatever_the_game_pays():
    game = Blob(players=4, cards=3, seed=2, rivalry=1.0)
    advice = Rollouts(64).advise(game.observe(1), Rng(0))
    points = [row.points for row in advice.rows]
    assert points == sorted(points, reverse=True) and len(points) == len(game.legal_actions())


@pytest.mark.parametrize("scoring", ["exact_10_plus_bid", "tricks_plus_10", "minus_missed"])
def test_a_search_and_rollouts_advise_alike(scoring):
    """Points and chances of the last bidder are close to those of the card counter."""
    game = Blob(players=3, cards=2, seed=5, scoring=scoring, rivalry=1.0)
    for _ in range(2):
        game.apply(Bot("counter").choose(game, Rng(0)))
    view = game.observe(game.to_play())
    found, wanted = (
        {row.action: row for row in adviser.advise(view, Rng(1)).rows}
        for adviser in (Searched(4000), Rollouts(1024))
    )
    assert set(found) == set(wanted) == set(game.legal_actions())
    assert sum(row.visits for row in found.values()) == 4000
    for action, row in found.items():
        assert row.visits > 100 and row.made == pytest.approx(wanted[action].made, abs=0.12)
        assert row.points == pytest.approx(wanted[action].points, abs=1.5)


@pytest.mark.alone
@pytest.mark.parametrize(("players", "cards"), [(5, 7), (4, 13), (8, 6), (3, 13)])
def test_advice_takes_less_than_a_second(players, cards):
    game = Blob(players=players, cards=cards, seed=1)
    for adviser in (Rollouts(), Searched()):
        start = time.perf_counter()
        adviser.advise(game.observe(1), Rng(0))
        assert time.perf_counter() - start < 1


def test_looking_back_names_the_bid_that_was_wrong():
    start = Blob(players=3, cards=1, trump="spades", dealer=2, seed=None)
    start.deal([["AS"], ["2h"], ["3h"]])
    session = BlobSession(start.this_round(), 0, ["rule"] * 2, Rollouts(64))
    session.play(session.read("0"))
    while not session.is_over:
        session.play(session.game.legal_actions()[0])
    (bid,) = session.look_back(0)  # its one card was no choice
    assert bid.cost == 11 and bid.advice.best.action == 53


def test_a_hint_and_the_look_back_say_the_same():
    session = session_of()
    while not session.is_persons_turn:
        session.reply()
    hint = session.hint()
    play_out(session)
    assert session.look_back(0)[0].advice is hint


# --- moves ----------------------------------------------------------------------------------------


def test_a_whole_game_is_counted_as_the_rules_count_it():
    session = session_of(players=4, cards=3, opponents=["rule", "counter", "random"])
    play_out(session)
    assert session.is_over and len(session.rounds()) == len(session.game.sequence)
    totals = [sum(row[seat][2] for row in session.rounds()) for seat in range(4)]
    assert totals == session.game.points
    for row, cards in zip(session.rounds(), session.game.sequence, strict=True):
        assert sum(tricks for _, tricks, _ in row) == cards
        assert all(points == (10 + bid if bid == took else 0) for bid, took, points in row)


def test_after_a_move_is_taken_back_the_others_do_the_same():
    session = session_of(players=4, cards=3, opponents=["counter"])
    play_out(session, limit=14)
    before = list(session.actions)
    while len(session.actions) > 5:
        session.undo()
    assert session.actions == before[: len(session.actions)]
    play_out(session, limit=14)
    assert session.actions == before


def test_opponents_sit_clockwise_from_the_left():
    session = session_of(players=4, seat=2, opponents=["rule", "counter", "random"])
    assert {seat: bot.name for seat, bot in session.players.items()} == {
        3: "rule",
        0: "counter",
        1: "random",
    }


@pytest.mark.parametrize(
    ("seat", "opponents", "said"),
    [(3, ["rule"] * 2, "0 to 2"), (0, ["rule"] * 3, "need 2"), (0, ["rule", "deep"], "deep")],
)
def test_seats_that_do_not_fit_are_refused(seat, opponents, said):
    with pytest.raises(ConfigError, match=said):
        BlobSession(Blob(players=3, cards=2), seat, opponents)


# --- save and resume ------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**31), moves=st.integers(0, 40))
def test_a_saved_game_goes_on_as_if_it_had_not_been_left(seed, moves):
    one = session_of(players=3, cards=3, seed=seed, opponents=["counter"])
    play_out(one, limit=moves)
    two = BlobSession.from_json(json.dumps(one.to_json()))
    assert two.game == one.game and two.actions == one.actions
    play_out(one), play_out(two)
    assert two.actions == one.actions and two.game.points == one.game.points


def broken():
    session = session_of()
    play_out(session, limit=7)
    good = session.to_json()
    yield "", "JSONDecodeError"
    yield "[" * 100_000, "not a saved game"
    yield "[1]", "its format is not"
    yield json.dumps({"format": "sylvan blob sitting 1"}), "KeyError"
    yield json.dumps(good | {"seat": 9}), "0 to 2"
    yield json.dumps(good | {"seat": None}), "TypeError"
    yield json.dumps(good | {"seed": -1}), "63 bits"
    yield json.dumps(good | {"seed": 1 << 70}), "63 bits"
    yield json.dumps(good | {"opponents": ["rule"]}), "need 2"
    yield json.dumps(good | {"opponents": 7}), "TypeError"
    yield json.dumps(good | {"actions": [*good["actions"], 99]}), "not a saved game"
    yield json.dumps(good | {"actions": [*good["actions"], good["actions"][-1]]}), "cannot"
    yield json.dumps(good | {"actions": [*good["actions"], "7h"]}), "TypeError"
    yield json.dumps(good | {"start": {}}), "Not a state of Blob"
    start = good["start"]
    twice = start | {"hands": start["hands"] | {"1": start["hands"]["0"]}}
    yield json.dumps(good | {"start": twice}), "seat 0 has it"


@pytest.mark.parametrize(("text", "said"), list(broken()))
def test_a_broken_file_is_one_sentence(text, said):
    with pytest.raises(ConfigError, match=said) as error:
        BlobSession.from_json(text, "blob.json")
    assert str(error.value).startswith("blob.json is not a saved game of Blob: ")
    assert "\n" not in str(error.value)
