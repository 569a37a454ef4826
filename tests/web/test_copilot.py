"""The copilot in a page: notes of a real table, and advice for one seat."""

import pytest

from sylvan.blob.copilot import game_of
from sylvan.games.blob import FIRST_BID, card_name
from sylvan.web.protocol import Notes, Problem


def begun(page, **rules):
    page.ask(type="advise", **({"players": 3, "cards": 2} | rules))
    return page.wait(Notes)


def noted(page, what, text=""):
    page.ask(type="note", what=what, text=text)
    return page.wait(Notes)


@pytest.mark.parametrize("seat", [0, 2])
def test_a_whole_round_is_noted_with_advice_at_every_turn(page, seat):
    """The oracle is a game: the notes say what its seat sees."""
    game = game_of({"players": 3, "cards": 3}, 11)
    notes = begun(page, cards=3, seat=seat)
    assert notes.wanted == "hand" and "3 cards" in notes.prompt
    notes = noted(page, "hand", " ".join(card_name(card) for card in game.hand(seat)))
    advised = 0
    while game.round == 0:
        assert notes.board == game_board(game, seat)
        turn, legal = game.to_play(), game.legal_actions()
        assert notes.wanted == ("bid" if game.phase == "bidding" else "card")
        possible = {info.action for info in notes.actions}
        assert set(legal) <= possible
        if turn == seat:
            assert set(legal) == possible
            advice = (notes if notes.advice else page.wait(Notes)).advice
            assert {option.action for option in advice} == set(legal)
            advised += 1
        action = legal[0]
        word = card_name(action) if action < FIRST_BID else str(action - FIRST_BID)
        notes = noted(page, "entry", word)
        game.apply(action)
    assert advised == 4 and notes.wanted == "next"
    notes = noted(page, "next")
    assert (notes.wanted, notes.board.round) == ("hand", 2)
    assert [info.points for info in notes.board.seats] == game.points


def game_board(game, seat):
    from sylvan.web.boards import board_of

    return board_of(game.observe(seat))


def test_an_impossible_entry_gets_a_sentence_and_changes_nothing(page):
    begun(page, seat=0)
    before = noted(page, "hand", "AS, 10H")
    for what, text in [("entry", "7"), ("entry", "AS"), ("correct", "9 1"), ("correct", "x 1")]:
        page.ask(type="note", what=what, text=text)
        assert page.wait(Problem).sentence
    after = noted(page, "entry", "1")
    assert len(after.entries) == 1 and after.board.hand == before.board.hand
    assert noted(page, "undo").model_dump() == before.model_dump()


def test_an_entry_is_corrected_and_trump_changed(page):
    begun(page, seat=0, trump="turned_up")
    assert noted(page, "turned_up", "7D").wanted == "hand"
    noted(page, "hand", "AS 10H")
    noted(page, "entry", "1")
    assert noted(page, "correct", "1 0").entries[0].label == "bid 0"
    assert noted(page, "round", "2").board.round == 2
    assert noted(page, "points", "1 2 3").board.seats[2].points == 3


def test_notes_are_resumed(page):
    begun(page, seat=0)
    noted(page, "hand", "AS 10H")
    kept = noted(page, "entry", "1")
    page.ask(type="advise", saved=kept.saved)
    assert page.wait(Notes).entries == kept.entries
    page.ask(type="advise", saved="{}")
    assert "no notes" in page.wait(Problem).sentence


def test_without_a_table_nothing_is_noted(page):
    page.ask(type="note", what="undo")
    assert "start one" in page.wait(Problem).sentence
