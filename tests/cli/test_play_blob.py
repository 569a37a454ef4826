"""`sylvan play blob` with typed input."""

import json
import re

import pytest
from typer.testing import CliRunner

from sylvan.blob.advice import Advice
from sylvan.blob.players import Verdict
from sylvan.blob.session import BlobSession, Decision
from sylvan.cli import app
from sylvan.cli.blob_screen import cards, review_text, table
from sylvan.games.blob import Blob
from tests.blob.test_session import play_out

SMALL = ["--rule", "players=3", "--rule", "cards=2", "--seed", "4"]


def play(lines, *words):
    return CliRunner().invoke(app, ["play", "blob", *words], input=lines)


def script(*, seed=4, players=3, cards=2, opponents="counter"):
    """The lines of a whole game with the first legal action in every turn."""
    start = Blob(players=players, cards=cards, seed=seed)
    session = BlobSession(start, 0, [opponents] * (players - 1), seed=seed)
    lines = play_out(session)
    return "\n".join(lines) + "\n", session


# --- whole games ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "opponents"), [("2", "rule"), ("5", "counter"), ("9", "network_search:2000")]
)
def test_a_whole_game_at_three_strengths(level, opponents):
    lines, session = script(opponents=opponents)
    done = play(lines, *SMALL, "--level", level)
    assert done.exit_code == 0, done.output
    assert f"seat 1 {opponents.split(':')[0]}" in done.stdout
    points = session.game.points
    mine, most = points[0], max(points)
    said = f"You lose: {mine} points" if mine < most else f"with {mine} points."
    assert said in done.stdout
    assert len(re.findall(r"Round \d is over\.", done.stdout)) == 5
    assert (
        len(re.findall(r"Round \d(?:, looking back)?: .*(?:half a|lost|choice)", done.stdout)) == 5
    )


def test_every_command():
    lines = "help\nrules\nmoves\nhint\nxyzzy\n9\n\n0\nboard\nhint\nscore\nundo\nquit\n"
    done = play(lines, *SMALL)
    assert done.exit_code == 0, done.output
    assert "scoring exact_10_plus_bid" in done.stdout and "players 3" in done.stdout
    assert "save FILE" in done.stdout and "You may bid: " in done.stdout
    assert re.search(r"visits  points  makes the bid\nbid \d +\d+ +\d+\.\d +\d+ %", done.stdout)
    assert '"xyzzy" is not a card' in done.stdout
    assert "Seat 0 cannot bid 9: a bid in a round of 2 is 0 to 2." in done.stdout
    assert re.search(r"\d+ bids and cards taken back\.", done.stdout)
    assert "You may play: " in done.stdout and "The game is not finished." in done.stdout


def test_other_rules_and_seats():
    done = play(
        "0\nquit\n",
        *["--rule", "players=4", "--rule", "cards=3", "--rule", "trump=turned_up"],
        *["--seat", "2", "--opponents", "random,rule,counter", "--seed", "1"],
    )
    assert done.exit_code == 0, done.output
    assert "You have seat 2 of 4" in done.stdout and "turned up" in done.stdout
    for who in ("seat 3 random", "seat 0 rule", "seat 1 counter", "seat 2 you"):
        assert who in done.stdout


def test_hidden_cards_are_not_shown():
    done = play("quit\n", *SMALL)
    game = Blob(players=3, cards=2, seed=4)
    for seat in (1, 2):
        for card in game.hand(seat):
            assert game.action_to_string(card) not in done.stdout
    for card in game.hand(0):
        assert game.action_to_string(card) in done.stdout


# --- save and resume ------------------------------------------------------------------------------


def test_a_game_is_saved_and_resumed(tmp_path):
    lines, session = script()
    typed = lines.splitlines()
    file = tmp_path / "blob.json"
    first = play("\n".join([*typed[:3], f"save {file}", "quit"]) + "\n", *SMALL)
    assert f"--resume {file}" in first.stdout
    second = play("\n".join(typed[3:]) + "\n", "--resume", str(file))
    assert second.exit_code == 0, second.output
    whole = play(lines, *SMALL)
    assert second.stdout.splitlines()[-1] == whole.stdout.splitlines()[-1]
    assert str(session.game.points[0]) in second.stdout.splitlines()[-1]


@pytest.mark.parametrize("content", ["", "{}", '{"format": "sylvan blob sitting 1"}', "\xff"])
def test_a_broken_file_is_refused(content, tmp_path):
    file = tmp_path / "blob.json"
    file.write_bytes(content.encode("latin-1"))
    done = play("", "--resume", str(file))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {file} is not a saved game of Blob")
    assert done.stderr.count("\n") == 1


def test_saving_needs_a_name_and_a_folder(tmp_path):
    done = play(f"save\nsave {tmp_path}/no/such/blob.json\nquit\n", *SMALL)
    assert "Give a file name" in done.stdout and "there is no folder" in done.stdout


# --- invalid input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rule", "players"], "has no value"),
        (["--rule", "players=9"], "players"),
        (["--rule", "colour=red"], "colour"),
        (["--rule", "players=[1]"], "players is [1]: give a whole number."),
        (["--rule", "foo=1"], "Blob has no rule 'foo': give players, cards, "),
        (["--rule", "card=3"], "did you mean 'cards'?"),
        (["--rule", "rivalry=x"], "rivalry is 'x': give a number."),
        (["--rule", "break_trump=1"], "break_trump is 1: give true or false."),
        (["--opponents", "bad"], "counter, rollouts, determinised, information_set, network"),
        (["--rule", "seed=3"], "seed is no rule"),
        (["--seat", "5"], "eat is 5"),
        (["--opponents", "rule,rule"], "need 4"),
        (["--opponents", "deep"], "deep"),
        (["--opponents", "rule", "-n", "5"], "information_set:400"),
        (["--net", "x.onnx"], "--net is not for blob"),
        (["--side", "black"], "--side is not for blob"),
        (["4"], "position is not for blob"),
        (["--resume", "no.json"], "no.json: No such file"),
        (["--resume", "no.json", "--seat", "1"], "--resume no.json has its own"),
    ],
)
def test_invalid_options_are_refused(words, said):
    done = play("", *words)
    assert done.exit_code == 2 and said in done.stderr and done.stderr.count("\n") == 1


def test_options_of_blob_are_refused_for_other_games():
    done = CliRunner().invoke(app, ["play", "connect4", "--rule", "cards=1"])
    assert done.exit_code == 2 and "--rule is not for connect4" in done.stderr


# --- text output ----------------------------------------------------------------------------------


def test_the_table_shows_what_each_seat_has_shown():
    game = Blob(players=3, cards=2, seed=None)
    game.deal([["AS", "10H"], ["2s", "KC"], ["QD", "3D"]])
    for bid in (0, 1, 2):
        game.bid(game.to_play(), bid)
    game.play(1, "2s")
    game.play(2, "3D")
    shown = table(game.observe(0), 0, {1: "Ann", 2: "Bob"}).splitlines()
    assert shown[0] == "Round 1 of 5: 2 cards, trump ♠"
    assert shown[2].split() == [">", "seat", "0", "you", "2", "2", "0", "-", "0", "deals"]
    assert shown[4].split() == ["seat", "2", "Bob", "1", "1", "0", "♠", "0"]
    assert shown[5] == "Trick: seat 1 2♠ (takes it so far), seat 2 3♦"
    assert shown[6] == "Your hand: A♠  10♥" and "Q♦" not in "".join(shown)


def test_a_hand_is_shown_by_suit_from_the_highest():
    assert cards([0, 12, 13, 51]) == "A♠ 2♠  2♥  A♦"


def test_the_review_adds_up_lost_points():
    view = Blob(players=3, cards=2, seed=4).observe(1)
    advice = Advice((Verdict(53, 0, 9.0, 0.8), Verdict(52, 0, 7.0, 0.7)))
    close = Advice((Verdict(53, 0, 9.0, 0.8), Verdict(52, 0, 8.8, 0.8)))
    said = review_text(2, [Decision(view, 52, advice), Decision(view, 52, close)])
    assert said.splitlines() == [
        "Round 3, looking back: 2.0 points expected to be lost",
        "     you  advice  points lost",
        "bid  0    1               2.0",
        "bid  0    1               0.2",
    ]
    assert review_text(2, [Decision(view, 53, close)]).splitlines() == [
        "Round 3, looking back: no mistake worth half a point",
        "     you  advice  points lost",
        "bid  1    1                 -",
    ]
    assert "no choice" in review_text(2, [])


def test_a_saved_game_is_plain_json(tmp_path):
    file = tmp_path / "blob.json"
    play(f"save {file}\nquit\n", *SMALL)
    document = json.loads(file.read_text())
    assert document["seat"] == 0 and document["opponents"] == ["counter", "counter"]
