"""Tables that people share: at one page or at two, with clocks; what each page may know."""

import json
import re
import threading
import time

import pytest

from sylvan.games.blob import card_name
from sylvan.web import hall as web_hall
from sylvan.web.desk import Desk
from sylvan.web.hall import Hall
from sylvan.web.protocol import Hinted, Judged, Offers, Problem, Reviewed, Reviewing, Table
from tests.web.serving import Page

CARD = re.compile(r"(?:10|[2-9JQKA])[♠♥♦♣]")
YOU, GUEST, BOT = {"who": "you"}, {"who": "guest"}, {"who": "player", "level": 4}


@pytest.fixture
def hall():
    made = Hall()
    yield made
    made.close()


@pytest.fixture
def pages(hall):
    """Make pages of one server."""
    made = []

    def opened(desk=None):
        made.append(Page(desk, hall=hall))
        return made[-1]

    yield opened
    for page in made:
        page.__exit__()


def table_of(page, when):
    """Wait for a table that satisfies `when`."""
    while True:
        table = page.wait(Table)
        if when(table):
            return table


def sat(page, *seats, game="connect4", **rest):
    page.ask(type="sit", game=game, seats=list(seats), seed=5, **rest)
    return page.wait(Table)


def joined(page, code, token=None):
    page.ask(type="join", code=code, token=token)
    return page.wait(Table)


def mine(table):
    return bool(table.actions)


def after(moves):
    """Whether this many moves are made, and it is one's turn."""
    return lambda table: len(table.said) == moves and mine(table)


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def heard(page, since, kind):
    """Wait until a page has heard a message of a kind."""
    until(lambda: any(isinstance(message, kind) for message in page.said[since:]))


def judged(number):
    """A judgement that takes no time."""
    return Judged(ply=number, label=str(number), best="", loss=0.0, mark="", options=[])


def test_a_review_lets_the_others_go_on(pages):
    first, second = pages(), pages()
    code = sat(first, YOU, GUEST).code
    joined(second, code)
    moved = threading.Event()

    def slow(_):
        """A decision during which the other person moves."""
        assert moved.wait(20)
        return judged(1)

    first.ask(type="act", action=3)
    table_of(second, after(1))
    first.play.table.match.review = lambda _: [slow, lambda _: judged(2)]
    first.ask(type="review")
    assert first.wait(Reviewing).left == 2
    second.ask(type="act", action=2)
    table_of(second, lambda state: len(state.said) == 2)  # while a decision is judged
    moved.set()
    assert first.wait(Reviewing).left == 1
    assert [decision.ply for decision in first.wait(Reviewed).decisions] == [1, 2]


def test_a_review_is_stopped_within_a_decision(pages):
    """By its page, which gets a report; by another review, and when its page leaves."""
    page = pages()
    sat(page, YOU, YOU)
    page.ask(type="act", action=3)
    table_of(page, after(1))
    table, ended = page.play.table, []

    def endless(stopped):
        until(stopped)
        ended.append(True)

    table.match.review = lambda _: [lambda _: judged(1), endless, endless]
    page.ask(type="review")
    page.wait(Reviewing, left=2)
    page.ask(type="stop_review")
    assert [decision.ply for decision in page.wait(Reviewed).decisions] == [1]
    for request in ({"type": "review"}, {"type": "review"}, {"type": "take_back"}):
        page.ask(**request)
        if request["type"] == "review":
            page.wait(Reviewing, left=2)
    until(lambda: len(ended) == 3)  # a second review ends the first, and a move taken back that
    page.ask(type="act", action=3)
    page.ask(type="review")
    page.wait(Reviewing, left=2)
    page.play.close()
    until(lambda: len(ended) == 4)
    assert sum(isinstance(message, Reviewed) for message in page.said) == 1
    table.close()
    assert table.join(20) and table._reviewer.join(20)


def test_people_agree_to_a_draw(pages):
    first, second = pages(), pages()
    table = sat(first, YOU, GUEST)
    first.ask(type="offer_draw")
    assert "not complete" in first.wait(Problem).sentence
    joined(second, table.code)
    first.ask(type="offer_draw")
    offered = table_of(second, lambda state: state.draw_offered)
    assert offered.draw_offered == [offered.seats[0].name] and offered.over is None
    first.ask(type="act", action=3)
    assert table_of(second, mine).draw_offered == []  # a move takes the offer back
    second.ask(type="offer_draw")
    table_of(first, lambda state: state.draw_offered)
    first.ask(type="offer_draw")
    for page in (first, second):
        over = table_of(page, lambda state: state.over)
        assert (over.over, over.actions, over.can_draw) == ("Drawn by agreement.", [], False)
    first.ask(type="offer_draw")
    assert "is over" in first.wait(Problem).sentence
    first.ask(type="take_back")
    table_of(second, lambda state: state.asked)
    second.ask(type="take_back")
    assert table_of(first, mine).over is None


def test_two_people_at_one_page_agree_to_a_draw(pages):
    page = pages()
    sat(page, YOU, YOU)
    page.ask(type="offer_draw")
    assert table_of(page, lambda state: state.over).over == "Drawn by agreement."


def test_a_player_that_is_not_worse_declines_an_early_draw(pages):
    page = pages()
    assert sat(page, YOU, BOT).can_draw
    page.ask(type="offer_draw")
    assert page.wait(Problem).sentence == "Sylvan declines the draw."
    page.play.table.match.session.value = -0.9
    page.ask(type="offer_draw")
    assert table_of(page, lambda state: state.over).over == "Drawn by agreement."


def test_other_games_are_not_drawn_by_agreement(pages):
    page = pages()
    assert not sat(page, YOU, BOT, BOT, game="blob").can_draw
    page.ask(type="offer_draw")
    assert "No draw" in page.wait(Problem).sentence


def test_two_pages_play_each_other(pages):
    first, second = pages(), pages()
    table = sat(first, YOU, GUEST)
    assert [info.who for info in table.seats] == ["you", "free"] and not table.actions
    first.ask(type="act", action=3)
    assert "not complete" in first.wait(Problem).sentence
    other = joined(second, table.code.upper())
    assert (other.seat, [info.who for info in other.seats]) == (1, ["person", "you"])
    assert other.token != table.token
    table_of(first, mine)
    second.ask(type="act", action=3)
    assert "not your turn" in second.wait(Problem).sentence
    first.ask(type="act", action=3)
    assert table_of(second, mine).said[-1].action == 3
    second.ask(type="act", action=2)
    assert [ply.action for ply in table_of(first, after(2)).said] == [3, 2]


def test_a_third_page_gets_a_sentence(pages):
    first, second, third = pages(), pages(), pages()
    table = sat(first, YOU, GUEST)
    joined(second, table.code)
    third.ask(type="join", code=table.code)
    assert "taken" in third.wait(Problem).sentence
    third.ask(type="act", action=0)
    assert "no seat" in third.wait(Problem).sentence
    third.ask(type="join", code="nothere")
    assert "no such table" in third.wait(Problem).sentence
    assert not [message for message in third.said if isinstance(message, Table)]


def test_a_person_who_left_comes_back_to_the_seat_and_nobody_else_does(pages):
    first, second = pages(), pages()
    table = sat(first, YOU, GUEST)
    token = joined(second, table.code).token
    table_of(first, mine)
    second.play.close()
    assert table_of(first, lambda table: table.seats[1].away).seats[1].who == "person"
    first.ask(type="act", action=3)
    thief = pages()
    thief.ask(type="join", code=table.code, token=token[:-1])
    assert "taken" in thief.wait(Problem).sentence
    back = pages()
    assert joined(back, table.code, token).seat == 1
    back.ask(type="act", action=3)
    assert table_of(first, after(2)).seats[1].away is False


def test_a_game_goes_on_when_everybody_was_away(pages):
    first = pages()
    table = sat(first, YOU, BOT)
    first.ask(type="act", action=3)
    table = table_of(first, lambda table: len(table.said) == 2)
    first.play.close()
    back = joined(pages(), table.code, table.token)
    assert back.said == table.said and back.actions


def test_a_move_is_taken_back_when_both_agree(pages):
    first, second = pages(), pages()
    table = sat(first, YOU, GUEST)
    joined(second, table.code)
    table_of(first, mine)
    first.ask(type="act", action=3)
    table_of(second, mine)
    first.ask(type="take_back")
    assert table_of(second, lambda table: table.asked).asked == ["seat 0"]
    second.ask(type="take_back")
    table_of(first, lambda table: table.asked)
    assert table_of(first, after(0)).asked == []
    first.ask(type="act", action=3)
    first.ask(type="take_back")
    assert table_of(second, lambda table: table.asked and table.said).actions
    second.ask(type="act", action=4)  # a move declines
    assert table_of(first, after(2)).asked == []


def test_people_at_one_page_move_in_turn(pages):
    page = pages()
    table = sat(page, YOU, YOU, game="tictactoe")
    for action in (0, 3, 1, 4, 2):
        assert table.actions and table.curtain is None
        page.ask(type="act", action=action)
        table = page.wait(Table)
    assert table.over == "Seat 0 wins." and not table.actions
    page.ask(type="review")
    assert {decision.ply for decision in page.wait(Reviewed).decisions} <= set(range(5))


def test_players_play_among_themselves(pages):
    page = pages()
    sat(page, {"who": "player", "level": 1}, {"who": "player", "level": 1}, game="tictactoe")
    assert table_of(page, lambda table: table.over).over


# --- clocks --------------------------------------------------------------------------------------


def test_a_flag_falls(pages):
    first, second = pages(), pages()
    table = sat(first, YOU, GUEST, clock={"minutes": 0.01, "increment": 1})
    assert not table.ticking  # it waits for the other
    joined(second, table.code)
    assert table_of(first, mine).ticking
    first.ask(type="act", action=3)
    table = table_of(second, mine)
    assert 0.6 < table.seats[0].clock <= 1.6 and table.seats[1].clock <= 0.6
    lost = table_of(second, lambda table: table.over)
    assert lost.over == "You lose: your time is up." and lost.seats[1].clock == 0
    assert table_of(first, lambda table: table.over).over == "You win: seat 1's time is up."
    for request in ({"type": "act", "action": 1}, {"type": "take_back"}):
        second.ask(**request)
        assert second.wait(Problem).sentence


def test_a_player_of_ours_keeps_its_time(pages):
    page = pages()
    sat(page, YOU, {"who": "player", "level": 10}, game="chess", clock={"minutes": 0.1})
    page.ask(type="act", action=877)
    table = table_of(page, lambda table: len(table.said) == 2)
    assert not table.over and 4 < table.seats[1].clock < 6


def test_a_refused_move_is_told_to_its_page_alone(pages):
    """A judgement of a move would tell the others about a hand."""
    first, second = pages(), pages()
    joined(second, sat(first, YOU, GUEST).code)
    table_of(first, mine)
    heard_before = len(second.said)
    for _ in range(3):
        first.ask(type="act", action=99)
        first.wait(Problem)
    first.ask(type="act", action=3)
    table_of(second, after(1))
    assert [len(m.said) for m in second.said[heard_before:] if isinstance(m, Table)] == [1]


# --- hidden cards --------------------------------------------------------------------------------


def cards_in(messages):
    said = [message.model_dump() for message in messages]
    return set(CARD.findall(json.dumps(said, ensure_ascii=False)))


def public(game, labels):
    """The cards that everyone has seen."""
    shown = set(filter(CARD.fullmatch, labels))
    return shown if game.turned_up is None else shown | {card_name(game.turned_up)}


def test_no_byte_tells_a_page_a_card_that_its_seat_has_not_seen(pages):
    """Two pages and two players: each page gets its own hand, and what lies on the table."""
    people = {0: pages(), 2: pages()}
    table = sat(people[0], YOU, BOT, GUEST, BOT, game="blob", cards=4, teach=True)
    joined(people[2], table.code)
    session = people[0].play.table.match.session  # the oracle: the game itself
    seen = {seat: set() for seat in people}
    read = dict.fromkeys(people, 0)
    hidden = 0
    for _ in range(14):
        until(lambda: session.game.to_play() in people)
        turn = session.game.to_play()
        for seat in people:
            seen[seat] |= {card_name(card) for card in session.game.hand(seat)}
        for seat, page in people.items():  # also out of turn
            before = len(page.said)
            page.ask(type="hint")
            page.ask(type="review")
            heard(page, before, Hinted if seat == turn else Problem)
            heard(page, before, Reviewed)
        moves, action = len(session.actions), session.game.observe(turn).legal_actions()[0]
        for _ in range(2):  # once more, if the teacher objects
            before = len(people[turn].said)
            people[turn].ask(type="act", action=action)
            heard(people[turn], before, Table)
            if len(session.actions) > moves:
                break
        known = public(session.game, session.labels)
        for seat, page in people.items():
            seen[seat] |= {card_name(card) for card in session.game.hand(seat)} | known
            assert cards_in(page.said[read[seat] :]) <= seen[seat]
            read[seat] = len(page.said)
        hands = {card_name(card) for each in range(4) for card in session.game.hand(each)}
        hidden += len(hands - seen[0])
    assert hidden


def test_a_hand_is_hidden_until_the_next_person_confirms(pages):
    """Two people share a page: no byte of a hand is sent before its person asks for it."""
    page = pages()
    table = sat(page, YOU, YOU, BOT, game="blob", cards=5)
    session = page.play.table.match.session
    read = 0
    for _ in range(6):
        if table.curtain is None:
            table = table_of(page, lambda table: table.curtain is not None)
        turn = table.curtain
        assert table.seat is None and not table.actions
        page.ask(type="act", action=session.game.observe(turn).legal_actions()[0])
        assert "must first" in page.wait(Problem).sentence
        page.ask(type="hint")
        assert "must first" in page.wait(Problem).sentence
        page.ask(type="review")
        assert page.wait(Reviewed).decisions == []
        known = public(session.game, session.labels)
        assert cards_in(page.said[read:]) <= known
        page.ask(type="reveal", seat=turn)
        table = table_of(page, lambda table: table.seat is not None)
        hand = {card_name(card) for card in session.game.hand(turn)}
        assert table.seat == turn and {card.name for card in table.board.hand} == hand
        while table.seat == turn:  # who takes a trick leads the next
            page.ask(type="act", action=table.actions[0].action)
            table = page.wait(Table)
        read = len(page.said)
    assert not [message for message in page.said if isinstance(message, Table) and message.over]


SECRET = """
from tests.planning.hidden_games import HiddenGame, Shape

class Secret(HiddenGame):
    def __init__(self, shape=Shape(num_players=3, depth=9, hands=10**6, stop=0.0), *rest):
        super().__init__(shape, *rest)

    def __str__(self):
        return " ".join(f"<{hand}>" for hand in self.hands if hand is not None)
"""


def test_a_hidden_game_of_ones_own_shows_each_seat_its_view_alone(pages, tmp_path):
    """Two people share a page, a third has another one."""
    file = tmp_path / "secret.py"
    file.write_text(SECRET)
    desk = Desk(start=f"{file}:Secret")
    here, there = pages(desk), pages(desk)
    table = sat(here, YOU, YOU, GUEST, game=desk.start)
    joined(there, table.code)
    session = here.play.table.match.session
    hands = [f"<{hand}>" for hand in session.game.hands]
    shown = {here: set(), there: {hands[2]}}
    for _ in range(6):
        turn = session.game.to_play()
        page = there if turn == 2 else here
        if turn != 2:
            table = table_of(here, lambda table, turn=turn: table.curtain == turn)
            assert table.board.text == "Nothing is shown to all seats."
            here.ask(type="reveal", seat=turn)
            shown[here] |= {hands[turn]}
        table = table_of(page, mine)
        assert table.board.text == hands[turn]
        page.ask(type="act", action=table.actions[0].action)
        page.wait(Table)
        for each, known in shown.items():
            said = json.dumps([message.model_dump() for message in each.said])
            assert {hand for hand in hands if hand in said} <= known
        if session.game.to_play() == turn:
            break
    assert len(session.actions) >= 3 and shown[here] == set(hands[:2])


# --- the hall ------------------------------------------------------------------------------------


def test_a_new_table_closes_the_one_that_was_deserted_first(pages, monkeypatch):
    monkeypatch.setattr(web_hall, "MOST_TABLES", 2)
    first, second, third = pages(), pages(), pages()
    old = sat(first, YOU, BOT)
    sat(second, YOU, BOT)
    third.ask(type="sit", game="connect4", seats=[YOU, BOT])
    assert "2 tables are open" in third.wait(Problem).sentence
    deserted = first.play.table
    first.play.close()
    until(lambda: deserted.deserted is not None)
    sat(third, YOU, BOT)
    second.ask(type="join", code=old.code, token=old.token)
    assert "no such table" in second.wait(Problem).sentence


def test_games_and_their_seats_are_offered(pages):
    page = pages()
    page.ask(type="list_offers")
    games = {offer.game: offer for offer in page.wait(Offers).games}
    assert games["chess"].seats == ["White", "Black"] and len(games["blob"].seats) >= 3
    assert set(Desk().games) | {"blob"} == set(games)
