"""The built-in players of Blob: views, bids, plays and strength."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import _native
from sylvan.blob.match import deal_document, paired_difference, play_match
from sylvan.blob.players import BOTS, Bot, bot_named
from sylvan.errors import ConfigError, HiddenCards, WrongPhase
from sylvan.games import Blob
from sylvan.games.blob import FIRST_BID, card_code, card_name

sizes = st.integers(3, 8).flatmap(
    lambda players: st.tuples(st.just(players), st.integers(1, min(13, 52 // players)))
)


def moved(game: Blob, steps: int, rng: random.Random) -> Blob:
    for _ in range(steps):
        if not game.is_terminal():
            game.apply(rng.choice(game.legal_actions()))
    return game


@given(sizes, st.integers(0, 2**32), st.integers(0, 100), st.sampled_from(BOTS))
def test_no_player_peeks(size, seed, steps, name):
    """A player does the same in every deal with the same view."""
    game = moved(Blob(*size, seed=seed), steps, random.Random(seed))
    if game.is_terminal():
        return
    bot, seat = Bot(name, deals=3), game.to_play()
    view = game.observe(seat)
    states = [game, view, *(view.sample(number) for number in range(4))]
    choices = {bot.choose(state, _native.Rng(5)) for state in states}
    assert len(choices) == 1
    assert choices <= set(game.legal_actions())


def bid_of(hand: str, *, trump: str = "hearts", players: int = 4, name: str = "rule") -> int:
    """The bid of the first bidder with this hand."""
    cards = hand.split()
    game = Blob(players, len(cards), sequence="single", trump=trump, seed=None)
    view = game.enter(1, cards)
    return Bot(name).choose(view, _native.Rng(0)) - FIRST_BID


@pytest.mark.parametrize(
    ("hand", "worth"),
    [
        ("AH KH QH 2C 3C", 3),  # 1 + 0.85 + 0.65, and 0.4 for each of two suits it lacks: 3.3
        ("AH 2S 3C 4D 5S", 1),
        ("KH AS 2C 4D 5S", 2),  # 0.85 + 0.8
        ("AS KS 2C 3C 4D", 1),  # 0.8 + 0.45
        ("KS 2S 3S 4S 5S", 0),  # a king of five has the value 0.2
        ("KS QD 2C 3C 4C", 1),  # 0.45 + 0.15
        ("2S 3S 4C 5C 6D", 0),
        ("2H 3H 4C 5C 6C", 1),  # 0.25 twice, and 0.4 for each of ♠ and ♦: 1.3
    ],
)
def test_bids_of_the_rule_bot(hand, worth):
    assert bid_of(hand) == worth
    assert bid_of(hand, name="win_every_trick") == worth


def table(hands: list[str], bids: list[int], trump: str = "hearts") -> Blob:
    """A table after the bids; seat 0 deals, so seat 1 leads."""
    game = Blob(len(hands), len(hands[0].split()), sequence="single", trump=trump, hook="off",
                seed=None)  # fmt: skip
    game.deal([hand.split() for hand in hands])
    for seat in [*range(1, len(hands)), 0]:
        game.bid(seat, bids[seat])
    return game


def plays(game: Blob, name: str) -> str:
    return card_name(Bot(name).choose(game, _native.Rng(0)))


def test_play_of_the_rule_bot():
    hands = ["2S KS 3D", "QS 4C 2H", "JS AS 5D"]
    hungry, done = table(hands, [1, 1, 1]), table(hands, [0, 0, 0])
    assert plays(hungry, "rule") == "2♥"  # trumps are the strongest
    assert plays(done, "rule") == "4♣"
    assert plays(done, "win_every_trick") == "2♥"
    for game in (hungry, done):
        game.play(1, "QS")
    assert plays(hungry, "rule") == "A♠"  # the strongest that wins
    assert plays(done, "rule") == "J♠"  # the strongest that loses
    for game in (hungry, done):
        game.play(2, "JS")
    assert plays(hungry, "rule") == "K♠"
    assert plays(done, "rule") == "2♠"


def test_the_last_one_wins_cheaply():
    game = table(["3S AS KS", "2S 4C 2H", "JD 5C 6C"], [2, 0, 0])
    game.play(1, "2S")
    game.play(2, "JD")
    assert plays(game, "rule") == "3♠"
    assert plays(table(["3S AS KS", "2S 4C 2H", "JD 5C 6C"], [0, 0, 0]), "rule") == "2♠"


def test_a_bid_that_must_be_lost_is_lost_with_the_highest():
    game = table(["3S AS KS", "2S 4C 2H", "JD 5C 6C"], [0, 0, 0])
    game.play(1, "2S")
    game.play(2, "JD")
    assert plays(game, "rule") == "A♠"  # all win, and it plays last


def test_one_card_oracles():
    """Rollouts of forced play are exact probabilities: no trump, the leader holds 2♥."""
    game = Blob(3, 1, sequence="single", trump="none", seed=None).enter(1, ["2H"])
    judge = Bot("rollouts", deals=40_000, rivalry=0.0).judge(game, _native.Rng(3))
    values = {verdict.action - FIRST_BID: verdict for verdict in judge}
    win = (39 * 38) / (51 * 50)
    assert values[1].made == pytest.approx(win, abs=0.01)
    assert values[1].utility == pytest.approx(win, abs=0.01)
    assert values[0].utility == pytest.approx(10 / 11 * (1 - win), abs=0.01)
    assert values[1].points == pytest.approx(11 * win, abs=0.11)
    spade = Blob(3, 1, sequence="single", trump="spades", seed=None).enter(1, ["5S"])
    judge = Bot("rollouts", deals=40_000).judge(spade, _native.Rng(4))
    assert judge[1].made == pytest.approx((42 * 41) / (51 * 50), abs=0.01)


def test_players_that_cannot_be():
    with pytest.raises(ConfigError, match="cheat"):
        Bot("cheat")
    with pytest.raises(ConfigError, match=r"deals.*0"):
        Bot("rollouts", deals=0)
    for name in (
        "rollouts:many",
        "rollouts:3:heavy",
        "rollouts:3:weighted:5",
        "rollouts::weighted",
    ):
        with pytest.raises(ConfigError, match="player"):
            bot_named(name)
    with pytest.raises(ConfigError, match="action"):
        Bot("rule").judge(Blob(), _native.Rng(1))
    with pytest.raises(WrongPhase):
        Bot("rule").choose(Blob(seed=None), _native.Rng(1))
    game = Blob(3, 2)
    with pytest.raises(HiddenCards):
        Bot("rule").choose(game.observe((game.to_play() + 1) % 3), _native.Rng(1))
    assert (str(bot_named("rollouts:32")), str(bot_named("rule"))) == (
        "rollouts (32 deals)",
        "rule",
    )


# --- matches ----------------------------------------------------------------------------------


class Disguised:
    """Wraps a built-in player as a player in Python."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot

    def choose(self, view: Blob, rng: _native.Rng) -> int:
        assert view.viewer == view.to_play()
        return self.bot.choose(view, rng)


@pytest.mark.parametrize("name", ["random", "counter"])
def test_matches_in_python_equal_those_in_rust(name):
    rules = Blob(4, 3)
    fast = play_match(Bot(name), Bot("rule"), 6, rules=rules)
    slow = play_match(Disguised(Bot(name)), Disguised(Bot("rule")), 6, rules=rules)
    assert fast.to_json() == slow.to_json()
    assert fast.rounds.sum() == 6 * 4 * 4 * len(rules.sequence)
    assert fast.off.sum() == fast.rounds.sum()


def test_a_player_among_its_likes_is_level():
    report = play_match(Bot("counter"), Bot("counter"), 5)
    assert report.differences == pytest.approx([0] * 5)  # it had every seat of every deal
    assert report.win_share == pytest.approx(0.2)


def test_paired_differences():
    one = play_match(Bot("counter"), Bot("rule"), 30)
    two = play_match(Bot("rule"), Bot("rule"), 30)
    gain, half = paired_difference(one, two)
    assert gain == pytest.approx(one.difference - two.difference)
    assert half == pytest.approx(one.half_width)  # between equal players every difference is 0
    with pytest.raises(ConfigError, match="deals"):
        paired_difference(one, play_match(Bot("rule"), Bot("rule"), 30, first=5))
    with pytest.raises(ConfigError, match=r"deals.*0"):
        play_match(Bot("rule"), Bot("rule"), 0)


def test_documents_are_what_is_played():
    rules = Blob(3, 2)
    document = deal_document(rules, 7)
    assert [entry["cards"] for entry in document["rounds"]] == rules.sequence
    assert [entry["dealer"] for entry in document["rounds"]] == [0, 1, 2, 0, 1]
    assert document == deal_document(rules, 7) != deal_document(rules, 8)
    game = rules.dealt_anew(7)
    assert document["rounds"][0]["hands"] == [game.hand(seat) for seat in range(3)]
    assert card_code("2S") == 0


def test_the_ladder():
    """The deals are fixed, so the result never varies; benchmarks/blob.py is more precise."""
    rule = play_match(Bot("rule"), Bot("random"), 200)
    assert 66 < rule.difference < 75 and rule.half_width < 2
    assert rule.made_share[0] == pytest.approx(0.679, abs=0.015)
    counter = play_match(Bot("counter"), Bot("rule"), 300)
    assert counter.difference > 12.5 and counter.half_width < 1.5
    assert play_match(Bot("rule"), Bot("win_every_trick"), 100).difference > 5


def test_rollouts_are_better_than_what_they_ask():
    report = play_match(Bot("rollouts", 32), Bot("counter"), 100, rules=Blob(3, 3), seats=[0])
    assert report.difference > max(3, report.half_width)
