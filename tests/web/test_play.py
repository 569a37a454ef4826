"""Games of a person against players of ours: rules, replies, and what a seat may see."""

import json
import re
import time

import pytest

from sylvan._native import Rng
from sylvan.blob.copilot import game_of
from sylvan.games import Blob, ConnectFour
from sylvan.games.blob import card_name
from sylvan.web.boards import board_of
from sylvan.web.protocol import Hinted, Problem, Reviewed, Table
from tests.web.serving import Page


def turn(page):
    """The table when it is the person's turn, or the game is over."""
    while True:
        table = page.wait(Table)
        if table.actions or table.over:
            return table


def seats(count=2, seat=0, level=1):
    """One person, and players of ours at the other seats."""
    return [
        {"who": "you"} if each == seat else {"who": "player", "level": level}
        for each in range(count)
    ]


def seated(page, game="tictactoe", *, players=2, seat=0, level=1, **rest):
    page.ask(type="sit", game=game, seats=seats(players, seat, level), **({"seed": 4} | rest))
    return turn(page)


NOWHERE = {"who": "player", "network": "nowhere"}


@pytest.mark.parametrize(("game", "seat"), [("tictactoe", 0), ("connect4", 1), ("chess", 1)])
def test_a_game_is_played_to_its_end_or_for_a_while(page, game, seat):
    table = seated(page, game, seat=seat)
    for _ in range(12):
        if table.over:
            break
        assert table.to_play == table.seat == seat
        page.ask(type="act", action=table.actions[0].action)
        said = len(table.said)
        table = turn(page)
        assert len(table.said) > said
    seats = [ply.seat for ply in table.said]
    assert seats == [ply % 2 for ply in range(len(seats))]
    if table.over:
        assert table.over.startswith(("You", "Drawn")) and not table.actions


def test_moves_are_taken_back_and_replies_are_the_same_again(page):
    first = seated(page, "connect4", level=3)
    page.ask(type="act", action=3)
    after = turn(page)
    page.ask(type="take_back")
    assert turn(page) == first
    page.ask(type="act", action=3)
    assert turn(page).said[:1] == after.said[:1]
    page.ask(type="take_back")
    turn(page)
    page.ask(type="take_back")
    assert "take back" in page.wait(Problem).sentence


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ({"type": "act", "action": 99}, "legal"),
        ({"type": "sit", "game": "tictactoe", "seats": seats(3)}, "2 seats"),
        ({"type": "sit", "game": "/tmp/x.py:Game", "seats": seats()}, "x.py"),
        ({"type": "sit", "game": "blob", "seats": seats(8), "cards": 26}, "card"),
        ({"type": "sit", "game": "chess", "seats": [{"who": "you"}, NOWHERE]}, "nowhere"),
        ({"type": "sit", "game": "blob", "seats": [{"who": "you"}, NOWHERE, NOWHERE]}, "nowhere"),
        ({"type": "reveal", "seat": 1}, "not at this page"),
    ],
)
def test_what_cannot_be_done_gets_a_sentence_and_the_game_goes_on(page, request_, word):
    seated(page)
    page.ask(**request_)
    assert word in page.wait(Problem).sentence
    page.wait(Table)  # the same again
    page.ask(type="act", action=4)
    assert turn(page).board.cells[4] == "x"


def test_without_a_game_nothing_can_be_done(page):
    for request in ("take_back", "hint", "review"):
        page.ask(type=request)
        assert "start" in page.wait(Problem).sentence


def test_a_hint_and_a_review(page):
    table = seated(page, "tictactoe", level=1, seed=8)
    page.ask(type="hint")
    (option,) = page.wait(Hinted).options
    assert option.label in [info.label for info in table.actions]
    while not table.over:
        page.ask(type="act", action=table.actions[-1].action)
        table = turn(page)
    page.ask(type="review")
    decisions = page.wait(Reviewed).decisions
    own = [ply.label for ply in table.said if ply.seat == 0]
    assert [decision.label for decision in decisions] == own[: len(decisions)]
    for decision in decisions:
        assert 0 <= decision.loss <= 1 and bool(decision.mark) == (decision.loss >= 0.05)
        assert not (decision.label == decision.best and decision.loss)


def test_a_blunder_is_marked():
    """Red lets Yellow's three in a row stand."""
    from sylvan.engines.match.session import Session
    from sylvan.web.review import judged

    session = Session(ConnectFour(), 0)
    for action in (0, 3, 1, 3, 0, 3):
        session.play(action)
    session.play(6)
    last = judged(session, "rollout", [0])[-1](lambda: False)
    assert (last.label, last.best, last.mark) == ("7", "4", "??")


def test_a_teacher_objects_to_a_blunder_once(page):
    """Noughts threaten the top row: to leave it open is a blunder."""
    seated(page, "tictactoe", seat=0, teach=True)
    page.play.table.match.session.replay([8, 0, 3, 1])  # the person is to move; 2 stops noughts
    page.ask(type="act", action=6)
    assert "6 is a blunder" in page.wait(Problem).sentence
    assert len(page.wait(Table).said) == 4
    page.ask(type="act", action=6)  # insists
    table = turn(page)
    assert table.said[4].label == "6"


def test_without_teaching_nobody_objects(page):
    seated(page, "tictactoe", seat=0)
    page.play.table.match.session.replay([8, 0, 3, 1])
    page.ask(type="act", action=6)
    assert turn(page).said[4].label == "6"


def test_a_teacher_knows_blob(page):
    table = seated(page, "blob", players=3, cards=4, level=4, teach=True)
    worst = max(table.actions, key=lambda info: info.action)  # bids all four tricks
    page.ask(type="hint")
    options = page.wait(Hinted).options
    by_action = {option.action: option.value for option in options}
    cost = max(by_action.values()) - by_action[worst.action]
    page.ask(type="act", action=worst.action)
    if cost >= 3:
        assert "blunder" in page.wait(Problem).sentence
    else:
        assert turn(page).board.seats[0].bid is not None


# --- hidden cards --------------------------------------------------------------------------------

CARD = re.compile(r"(?:10|[2-9JQKA])[♠♥♦♣]")


def cards_in(message):
    return set(CARD.findall(json.dumps(message.model_dump(), ensure_ascii=False)))


@pytest.mark.parametrize("seat", [0, 2])
def test_no_byte_tells_a_card_that_the_seat_has_not_seen(page, seat):
    """In every message of a game: one's own cards, and those that lie or lay on the table."""
    table = seated(page, "blob", seat=seat, players=4, cards=3, level=4)
    session = page.play.table.match.session  # the oracle: the game itself
    seen, read = set(), 0
    while not table.over and session.game.round < 3:
        seen |= {card_name(card) for card in session.game.hand(seat)}
        page.ask(type="hint")
        page.wait(Hinted)
        page.ask(type="review")
        page.wait(Reviewed)
        page.ask(type="act", action=table.actions[0].action)
        table = turn(page)
        seen |= {card_name(card) for card in session.game.hand(seat)}
        seen |= set(filter(CARD.fullmatch, session.labels))
        if session.game.turned_up is not None:
            seen.add(card_name(session.game.turned_up))
        for message in page.said[read:]:
            assert cards_in(message) <= seen, message
        read = len(page.said)
    assert session.game.round == 3 and len(seen) > 12
    hidden = [
        {card_name(card) for card in session.game.hand(each)} - seen
        for each in range(4)
        if each != seat
    ]
    assert any(hidden)  # there was something to hide


def test_the_board_of_a_view_does_not_depend_on_hidden_cards():
    """Another deal that the seat cannot tell apart gives the same bytes."""
    game = game_of({"players": 5, "cards": 4}, 9)
    rng = Rng(1)
    for _ in range(12):
        for seat in range(5):
            view = game.observe(seat)
            sent = board_of(view).model_dump_json()
            for _ in range(4):
                other = view.sample(rng)
                assert isinstance(other, Blob)
                assert board_of(other.observe(seat)).model_dump_json() == sent
        actions = game.legal_actions()
        game.apply(actions[rng.below(len(actions))])


def test_five_opponents_are_played_against(page):
    table = seated(page, "blob", players=6, cards=2, level=4)
    assert [info.who for info in table.seats] == ["you"] + ["player"] * 5
    assert len(table.board.hand) == 2 and table.board.bidding
    assert [card.action for card in table.board.hand] == [None, None]
    page.ask(type="hint")
    options = page.wait(Hinted).options
    assert {option.action for option in options} == {info.action for info in table.actions}
    assert all(0 <= option.made <= 1 for option in options)
    page.ask(type="act", action=options[0].action)
    table = turn(page)
    assert not table.board.bidding and table.board.seats[0].bid is not None
    playable = {card.action for card in table.board.hand} - {None}
    assert playable == {info.action for info in table.actions}


def test_a_page_that_goes_away_ends_its_game():
    page = Page()
    page.ask(type="sit", game="blob", seats=seats(4, level=4), cards=5)
    page.wait(Table)
    table = page.play.table
    page.play.close()
    assert page.play.join(5)
    page.analysis.close()
    until = time.monotonic() + 5
    while table.deserted is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert not table._has_work
