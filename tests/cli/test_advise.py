"""`sylvan advise blob` and its copilot: a real table, entered card by card."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sylvan._native import Rng
from sylvan.blob.advice import Rollouts
from sylvan.blob.copilot import Copilot, Notes
from sylvan.cli import app
from sylvan.errors import ConfigError, IllegalPosition, SylvanError, WrongPhase
from sylvan.games.blob import Blob, card_name

RULES = {"players": 3, "cards": 2}


def advise(lines, *words):
    return CliRunner().invoke(app, ["advise", "blob", *words], input=lines)


def copilot_of(*entries, hand=("AS", "10H"), **rules):
    copilot = Copilot(Notes(0, RULES | rules), Rollouts(8))
    copilot.enter_hand(hand)
    for entry in entries:
        copilot.enter(entry)
    return copilot


def names(game, action):
    return game.action_to_string(action)


# --- following a table ----------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**31),
    seat=st.integers(0, 3),
    trump=st.sampled_from(["rotation", "turned_up"]),
)
def test_the_notes_are_what_the_seat_would_have_seen(seed, seat, trump):
    game = Blob(players=4, cards=3, trump=trump, seed=seed).this_round()
    copilot = Copilot(Notes(seat, {"players": 4, "cards": 3, "trump": trump}), Rollouts(2))
    if copilot.needs_card:
        copilot.turn_up(card_name(game.turned_up))
    copilot.enter_hand([card_name(card) for card in game.hand(seat)])
    chance = Rng(seed, 5)
    while not game.is_terminal():
        assert copilot.table.to_json() == game.observe(seat).to_json()
        assert copilot.is_persons_turn == (game.to_play() == seat)
        legal = game.legal_actions()
        action = legal[chance.below(len(legal))]
        copilot.enter(names(game, action))
        game.apply(action)
    assert copilot.table.points == game.points
    copilot.next_round()
    assert copilot.table.round == 1 and copilot.table.points == game.points


def test_a_whole_game_at_the_terminal():
    """All rounds are entered; the final points equal the game's."""
    game = Blob(players=3, cards=2, seed=8)
    lines = []
    while not game.is_terminal():
        number = game.round
        lines.append("hand " + " ".join(card_name(card) for card in game.hand(0)))
        while game.round == number and not game.is_terminal():
            action = game.legal_actions()[-1]
            lines.append(names(game, action))
            game.apply(action)
        lines.append("next")
    words = ["--rule", "players=3", "--rule", "cards=2", "--simulations", "40"]
    done = advise("\n".join(lines[:-1]) + "\n", *words)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("is over.") == 5 and "makes the bid" in done.stdout
    end = done.stdout[done.stdout.index("Round 5 is over.") :]
    for seat in range(3):
        row = next(line for line in end.splitlines() if line.startswith(f"seat {seat}"))
        assert int(row.split()[2]) == game.points[seat]


# --- impossible entries ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "wrong", "said"),
    [
        ((), "3", "Seat 1 cannot bid 3: a bid in a round of 2 is 0 to 2."),
        (("0", "0"), "2", "Seat 0 cannot bid 2: it deals, and the bids must not add up to"),
        (("0", "0", "1"), "AS", "Seat 1 cannot have A♠: seat 0 holds it."),
        (("0", "0", "1", "7S"), "7S", "Seat 2 cannot have 7♠: seat 1 played it before."),
        (("0", "0", "1", "7S", "3D"), "10H", "Seat 0 cannot play 10♥: spades was led"),
        (("0", "0", "1", "7S", "3D"), "KC", "Seat 0 "),
        (
            ("0", "0", "1", "7S", "3D", "AS", "10H", "2H"),
            "9S",
            "Seat 2 cannot have 9♠: it did not follow spades before, so it has none.",
        ),
        (("0", "0", "1"), "1X", "is not a card"),
    ],
)
def test_impossible_entries_are_refused_and_change_nothing(entries, wrong, said):
    copilot = copilot_of(*entries)
    before, table = copilot.notes, copilot.table.to_json()
    with pytest.raises(SylvanError) as error:
        copilot.enter(wrong)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert copilot.notes is before and copilot.table.to_json() == table


@pytest.mark.parametrize(
    ("hand", "said"),
    [
        (["AS", "AS"], r"A♠.*twice"),
        (["AS"], r"seat 0.*1.*2"),
        (["AS", "14H"], "card"),
        ([], "2 cards"),
    ],
)
def test_an_impossible_hand_is_refused(hand, said):
    copilot = Copilot(Notes(0, RULES))
    with pytest.raises(SylvanError, match=said):
        copilot.enter_hand(hand)
    assert not copilot.table.is_view


def test_voids_that_leave_no_deal_are_refused():
    """Ten cards: spades and hearts, 2 to 6. Once both others lack spades, they hold hearts alone,
    and there are too few of these.
    """
    rules = {"players": 3, "cards": 3, "suits": 2, "ranks": 5, "sequence": "single"}
    copilot = Copilot(Notes(0, rules | {"dealer": 2, "trump": "none"}))
    copilot.enter_hand(["2S", "2H", "3H"])
    for entry in ("0", "0", "0", "2S", "4H"):
        copilot.enter(entry)
    before = copilot.notes
    with pytest.raises(IllegalPosition, match=r"5♥.*seat 2"):
        copilot.enter("5H")
    assert copilot.notes is before


def test_the_hand_must_be_entered_first():
    copilot = Copilot(Notes(0, RULES))
    with pytest.raises(WrongPhase, match="hand"):
        copilot.enter("1")
    with pytest.raises(WrongPhase, match="turn"):
        copilot.advise()


# --- corrections ----------------------------------------------------------------------------------


def test_an_entry_is_corrected_and_all_later_ones_stay():
    copilot = copilot_of("0", "0", "1", "7S", "3D")
    copilot.correct(4, "8S")
    assert copilot.history()[3:] == [(1, 6), (2, 40)]
    copilot.undo()
    assert copilot.history()[3:] == [(1, 5), (2, 40)]


def test_a_correction_that_later_entries_contradict_changes_nothing():
    copilot = copilot_of("0", "0", "1", "7S", "9S", "AS", "10H", "2H")
    before = copilot.notes
    with pytest.raises(SylvanError, match=r"Seat 0.*A♠"):
        copilot.correct(4, "7H")  # then hearts was led, and seat 0 has the ten
    with pytest.raises(ConfigError, match="entry 12"):
        copilot.correct(12, "7H")
    assert copilot.notes is before


def test_the_hand_is_corrected():
    copilot = copilot_of("0", "0", "1", "7S", "3D")
    copilot.enter_hand(["KS", "10H"])
    assert copilot.table.hand(0) == [11, 21] and len(copilot.history()) == 5
    with pytest.raises(SylvanError, match="7♠"):
        copilot.enter_hand(["7S", "10H"])


def test_all_entries_can_be_undone():
    copilot = copilot_of("0", "0", "1")
    for _ in range(4):
        copilot.undo()
    assert copilot.notes == Notes(0, RULES)
    with pytest.raises(ConfigError, match="take back"):
        copilot.undo()


def test_trump_can_be_entered():
    copilot = copilot_of("0", "0", "1")
    assert copilot.table.trump == 0
    for name, suit in (("hearts", 1), ("♦", 3), ("C", 2), ("none", None)):
        copilot.set_trump(name)
        assert copilot.table.trump == suit and len(copilot.history()) == 3
    with pytest.raises(ConfigError, match="trump"):
        copilot.set_trump("red")


def test_rounds_and_points_are_entered():
    copilot = Copilot(Notes(0, RULES))
    copilot.go_to(5)
    copilot.set_points(["10", "0", "21"])
    assert copilot.table.round == 4 and copilot.table.points == [10, 0, 21]
    with pytest.raises(ConfigError, match="round 6"):
        copilot.go_to(6)
    with pytest.raises(ConfigError, match="3 numbers"):
        copilot.set_points(["10", "x", "21"])
    with pytest.raises(WrongPhase, match="over"):
        copilot.next_round()


# --- the terminal ---------------------------------------------------------------------------------


def test_every_command(tmp_path):
    file = tmp_path / "table.json"
    lines = [
        "help", "trump hearts", "undo", "AS, 10H", "0", "0", "hint", "2", "1", "AS", "7S", "3D",
        "list", "correct 4 8S", "correct 4", "correct x y", "board", f"save {file}", "save",
        "undo", "round x", "points 1 2", "points 0 10 20", "round 2", "next", "quit",
    ]  # fmt: skip
    done = advise("\n".join(lines) + "\n", "--rule", "players=3", "--rule", "cards=2")
    assert done.exit_code == 0, done.output
    for said in (
        "trump ♥",
        "Seat 0 cannot bid 2",
        "Seat 1 cannot have A♠: seat 0 holds it.",
        "  4  seat 1  7♠",
        "Trick: seat 1 8♠ (takes it so far), seat 2 3♦",
        "Give the entry's number",
        "Give a file name",
        "number of the round",
        "Points are 3 numbers",
        "Round 2 of 5",
        "The round is not over",
        "seat 1 bids: ",
        "you play: ",
    ):
        assert said in done.stdout, said
    again = advise("list\nquit\n", "--resume", str(file))
    assert again.exit_code == 0 and "  4  seat 1  8♠" in again.stdout


@pytest.mark.parametrize("number", ["9" * 25, "9" * 5000])
def test_huge_numbers_are_refused(number):
    lines = [f"points {number} 0 0", f"round {number}", "AS 10H", number, "0"]
    lines += [f"correct 1 {number}", f"correct {number} 1"]
    done = advise("\n".join(lines) + "\n", "--rule", "players=3", "--rule", "cards=2")
    assert done.exit_code == 0, done.exception
    played = CliRunner().invoke(app, ["play", "blob"], input=f"{number}\n")
    assert played.exit_code == 0, played.exception


def test_the_prompt_is_for_the_turned_up_card():
    words = ["--rule", "players=3", "--rule", "cards=2", "--rule", "trump=turned_up"]
    done = advise("QH\nQH 2S\nAS 2S\nquit\n", *words)
    assert "trump not turned up yet" in done.stdout
    assert "card turned up: " in done.stdout and "trump ♥ (Q♥ turned up)" in done.stdout
    assert "Seat 0 cannot have Q♥" in done.stdout


WORDS = [
    "hand", "up", "trump", "points", "round", "correct", "next", "undo", "list", "hint", "board",
    "AS", "10H", "7S", "3D", "2C", "0", "1", "2", "-1", "9" * 25, "none", "hearts", "♥", "x", "",
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=12))
def test_no_input_causes_a_traceback(lines):
    words = ["--rule", "players=3", "--rule", "cards=2", "--simulations", "20"]
    done = advise("AS 10H\n" + "\n".join(lines) + "\n", *words)
    assert done.exit_code == 0, (lines, done.exception)
    played = CliRunner().invoke(app, ["play", "blob", *words[:4]], input="\n".join(lines))
    assert played.exit_code == 0, (lines, played.exception)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("", "JSONDecodeError"),
        ("[]", "its format is not"),
        ({"seat": 7}, "0 to 2"),
        ({"hand": [1, 1]}, "named twice"),
        ({"hand": None}, "TypeError"),
        ({"entries": [99]}, "has no notes"),
        ({"entries": ["x"]}, "TypeError"),
        ({"more": 1}, "TypeError"),
        ({"rules": {"players": "x"}}, "players is 'x'"),
        ({"points": [1, 2]}, "has no notes"),
    ],
)
def test_a_broken_file_is_refused(document, said, tmp_path):
    file = tmp_path / "table.json"
    if not isinstance(document, str):
        document = json.dumps(copilot_of("0", "0").to_json() | document)
    file.write_text(document)
    done = advise("", "--resume", str(file))
    assert done.exit_code == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_other_games_are_refused():
    done = CliRunner().invoke(app, ["advise", "chess"])
    assert done.exit_code == 2 and "no copilot for 'chess'" in done.stderr
    done = advise("", "--seat", "5")
    assert done.exit_code == 2 and "eat is 5" in done.stderr


@pytest.mark.alone
def test_advice_comes_within_a_second():
    copilot = Copilot(Notes(1, {"players": 4, "cards": 13}))
    game = Blob(players=4, cards=13, seed=3)
    copilot.enter_hand([card_name(card) for card in game.hand(1)])
    start = time.perf_counter()
    copilot.advise()
    assert time.perf_counter() - start < 1
