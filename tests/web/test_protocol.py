"""The protocol: every message is checked, and the page's types are the server's."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from sylvan.web.protocol import read_request
from sylvan.web.typescript import typescript

ROOT = Path(__file__).parents[2]

REQUESTS = [
    {"type": "open", "game": "chess", "text": "e4", "moves": [1, 2], "ply": None},
    {"type": "move", "action": 3},
    {"type": "goto", "ply": 0},
    {"type": "run", "simulations": 100},
    {"type": "run"},
    {"type": "slow"},
    {"type": "stop"},
    {"type": "restart"},
    {"type": "sweep", "simulations": 10},
    {"type": "configure", "evaluator": "uniform", "settings": {"c_puct": 2.0, "fpu": "parent"}},
    {"type": "show", "nodes": 10, "opened": [[1, 2]]},
    {"type": "look", "path": [1], "details": True},
    {"type": "save"},
    {"type": "list_offers"},
    {
        "type": "sit",
        "game": "blob",
        "seats": [
            {"who": "you"},
            {"who": "guest"},
            {"who": "player", "level": 3, "network": "first"},
        ],
        "cards": 2,
        "clock": {"minutes": 1, "increment": 2.5},
        "teach": True,
        "seed": 1,
    },
    {"type": "join", "code": "abc", "token": "xyz"},
    {"type": "reveal", "seat": 1},
    {"type": "advise", "seat": 1, "players": 3, "cards": 2, "trump": "turned_up"},
    {"type": "note", "what": "hand", "text": "AS 10H"},
    {"type": "act", "action": 4},
    {"type": "take_back"},
    {"type": "hint"},
    {"type": "review"},
    {"type": "stop_review"},
    {"type": "offer_draw"},
    {"type": "load", "name": "x.sylvan", "data": "AAAA"},
    {"type": "follow", "runs": ["first"]},
    {"type": "list_games", "run": "first"},
    {"type": "replay", "run": "first", "number": 2},
    {"type": "film", "run": "first", "seed": 3},
    {"type": "foresee", "run": "first", "number": None, "ply": 3},
    {"type": "ask_opinion", "run": "first", "text": "3 3"},
    {"type": "start_run", "name": "x", "game": "tictactoe", "minutes": 2.5, "learn_rules": True},
    {"type": "pause_run", "run": "first"},
    {"type": "resume_run", "run": "first"},
    {"type": "ack", "serial": 4},
]


def test_the_types_of_the_page_are_up_to_date():
    written = (ROOT / "web" / "src" / "protocol.ts").read_text()
    assert written == typescript(), "run `python -m sylvan.web.typescript > web/src/protocol.ts`"


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each["type"])
def test_a_request_is_read(request_):
    read = read_request(json.dumps(request_)).model_dump(exclude_unset=True)
    assert read == request_


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each["type"])
def test_a_field_too_many_is_refused(request_):
    with pytest.raises(ValidationError):
        read_request(json.dumps({**request_, "more": 1}))


@pytest.mark.parametrize(
    "request_",
    [
        {"type": "sing"},
        {"action": 3},
        {"type": "move", "action": -1},
        {"type": "move", "action": "3"},
        {"type": "move", "action": 2**32},
        {"type": "open", "game": "c" * 201},
        {"type": "open", "game": "chess", "text": "e4 " * 100_000},
        {"type": "open", "game": "chess", "moves": [0] * 1025},
        {"type": "run", "simulations": 0},
        {"type": "run", "simulations": 1.5},
        {"type": "show", "nodes": 5001},
        {"type": "show", "nodes": 1, "opened": [[0]] * 257},
        {"type": "look", "path": [0] * 1025},
        {"type": "configure", "evaluator": "uniform", "settings": {"c_puct": [1]}},
        {"type": "configure", "evaluator": "x", "settings": {str(i): 1 for i in range(65)}},
        [],
        None,
        7,
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_is_no_request_is_refused(request_):
    with pytest.raises(ValidationError):
        read_request(json.dumps(request_))


def test_text_that_is_not_json_is_refused():
    for text in ("", "{", "NaN", '{"type":"run","simulations":NaN}', "\0", "[" * 100_000):
        with pytest.raises(ValidationError):
            read_request(text)
