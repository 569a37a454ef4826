"""The analysis server: every query is answered once, in the order of priority."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sylvan
from sylvan.engines.analysis.schema import Cancelled, Failure, Query, Report, read, schema
from sylvan.engines.analysis.server import Server
from sylvan.errors import ProtocolError
from sylvan.games import Chess
from sylvan.players.score import result_score

NETS = os.environ.get("SYLVAN_NETS")

few = settings(suppress_health_check=list(HealthCheck))


class Client:
    """A server and its answers."""

    def __init__(self, evaluator="material", **options):
        self.said: list[dict] = []
        self.server = Server(self._hear, evaluator, **options)

    def _hear(self, line):
        assert "\n" not in line
        self.said.append(json.loads(line))

    def ask(self, **query):
        self.server.hear(json.dumps(query))

    def until(self, condition, seconds=20.0):
        end = time.perf_counter() + seconds
        while not condition(self.said):
            assert time.perf_counter() < end, self.said[-3:]
            time.sleep(0.005)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()


def answers(*queries, evaluator="material", **options):
    """Return all answers of a server to some queries."""
    with Client(evaluator, **options) as client:
        for query in queries:
            client.ask(**query)
    return client.said


# --- results --------------------------------------------------------------------------------------


def test_a_report_equals_a_search():
    (said,) = answers({"id": "a", "moves": "e4 e5", "simulations": 400, "lines": 3})
    result = sylvan.search(Chess(moves="e4 e5"), evaluator="material", simulations=400)
    report = Report.model_validate(said)
    assert (report.id, report.ply, report.final, report.stopped_by) == ("a", 2, True, "simulations")
    assert report.best == result.game.action_to_string(result.best)
    assert report.fen == result.game.fen() and report.outcome is None
    assert (report.score.q, report.score.cp) == (result_score(result).q, result_score(result).cp)
    assert [line.N for line in report.lines] == [edge.N for edge in result.tree.root.edges[:3]]
    assert [line.san for line in report.lines] == [e.label for e in result.tree.root.edges[:3]]
    for line in report.lines:
        board = chess.Board(report.fen)
        for move in line.pv:
            board.push(board.parse_uci(move))
        assert line.pv[0] == line.move and line.score.q == line.Q


def test_all_positions_of_a_game_in_one_batch():
    """One forest: a network evaluates all of them at once."""
    sizes = []

    def evaluate(leaves):
        sizes.append(len(leaves))
        return np.zeros(len(leaves.actions), np.float32), np.zeros(len(leaves), np.float32)

    game = {"moves": "e4 e5 Nf3 Nc6", "plies": "all", "simulations": 30}
    said = answers({"id": 1, **game}, {"id": 2, "simulations": 30}, evaluator=evaluate)
    assert sorted(report["ply"] for report in said if report["id"] == 1) == [0, 1, 2, 3, 4]
    assert all(report["simulations"] == 30 for report in said)
    # The second query may arrive during the first batch, or in time for it.
    assert max(sizes) >= 5


def test_some_positions_of_a_game():
    query = {"id": 1, "moves": ["e2e4", "e7e5", "g1f3"], "plies": [3, 0, 3], "simulations": 10}
    said = answers(query)
    assert [report["ply"] for report in said] == [3, 0]
    assert said[0]["fen"].split()[0].startswith("rnbqkbnr/pppp1ppp")


def test_a_finished_game_is_reported_as_it_ended():
    mate, stale = answers(
        {"id": "mate", "moves": "f3 e5 g4 Qh4"},
        {"id": "stalemate", "fen": "7k/5K2/6Q1/8/8/8/8/8 b - - 0 1"},
    )
    assert (mate["outcome"], mate["best"], mate["score"]["mate"]) == ("checkmate", None, 0)
    assert mate["score"]["wdl"] == [0, 0, 1000]
    assert (stale["outcome"], stale["score"]["wdl"]) == ("stalemate", [0, 1000, 0])


def test_a_proven_mate():
    (said,) = answers({"id": 1, "fen": "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "simulations": 10**6})
    assert (said["score"]["mate"], said["best"], said["stopped_by"]) == (2, "a1a6", "proven")
    assert len(said["lines"][0]["pv"]) == 3


def test_only_some_moves_and_chess960():
    some, castles = answers(
        {"id": 1, "searchmoves": ["a3", "h2h4"], "simulations": 100},
        {
            "id": 2,
            "fen": "4k3/8/8/8/8/8/8/RK6 w A - 0 1",
            "chess960": True,
            "searchmoves": ["O-O-O"],
        },
    )
    assert {line["move"] for line in some["lines"]} == {"a2a3", "h2h4"}
    assert castles["best"] == "b1a1"


@pytest.mark.alone
def test_seconds_and_intermediate_reports():
    began = time.perf_counter()
    said = answers({"id": 1, "seconds": 0.6, "report_every": 0.1, "lines": 1})
    assert 0.5 < time.perf_counter() - began < 3.0
    assert [report["final"] for report in said] == [False] * (len(said) - 1) + [True]
    assert len(said) >= 3 and said[-1]["stopped_by"] == "seconds"
    counts = [report["simulations"] for report in said]
    assert counts == sorted(counts) and said[0]["stopped_by"] is None


def test_settings_of_the_search():
    wide, narrow = answers(
        {"id": 1, "settings": {"c_puct": 10.0}, "simulations": 500},
        {"id": 2, "settings": {"c_puct": 0.1}, "simulations": 500},
    )
    assert wide["lines"][0]["N"] < narrow["lines"][0]["N"]


@pytest.mark.skipif(NETS is None, reason="SYLVAN_NETS does not say where networks are")
def test_a_network():
    from sylvan.evaluators import load_evaluator

    maia = load_evaluator(Path(NETS) / "maia-1100.pb.gz")
    query = {"id": 1, "moves": "e4 e5", "plies": "all", "simulations": 40}
    said = answers(query, evaluator=maia)
    assert {report["evaluator"] for report in said} == {"maia-1100.pb.gz"}
    first = next(report for report in said if report["ply"] == 0)
    assert first["best"] in {"e2e4", "d2d4"}


# --- order ----------------------------------------------------------------------------------------


class Gate:
    """An evaluator that blocks until the test releases it."""

    name = "gate"

    def __init__(self):
        self.open, self.asked = threading.Event(), threading.Event()

    def __call__(self, leaves):
        self.asked.set()
        self.open.wait(10)
        return np.zeros(len(leaves.actions), np.float32), np.zeros(len(leaves), np.float32)


def finals(said):
    return [report["id"] for report in said if report.get("final")]


def test_urgent_queries_come_first_the_rest_in_order():
    gate = Gate()
    with Client(gate) as client:
        client.ask(id="first", simulations=20)
        gate.asked.wait()
        client.ask(id="second", simulations=20)
        client.ask(id="later", simulations=20, priority=-1)
        client.ask(id="urgent", simulations=20, priority=5)
        client.ask(id="third", simulations=20)
        time.sleep(0.1)  # so that the search checks for urgent queries at once
        gate.open.set()
    assert finals(client.said) == ["urgent", "first", "second", "third", "later"]
    assert all(report["simulations"] == 20 for report in client.said)


@pytest.mark.alone
def test_time_of_urgent_queries_is_not_counted():
    gate = Gate()
    with Client(gate) as client:
        client.ask(id="slow", seconds=0.4)
        gate.asked.wait()
        client.ask(id="urgent", seconds=0.6, priority=1)
        gate.open.set()
        began = time.perf_counter()
    assert finals(client.said) == ["urgent", "slow"]
    assert time.perf_counter() - began > 0.8
    assert client.said[1]["seconds"] < 0.6


def test_cancelled_queries_are_not_reported():
    gate = Gate()
    with Client(gate) as client:
        client.ask(id="running", simulations=10**6, plies=[0], report_every=0.05)
        client.ask(id="other", simulations=10**6, seconds=0.7)
        gate.asked.wait()
        client.ask(id="waiting", simulations=5)
        gate.open.set()
        client.until(lambda said: any(report["id"] == "running" for report in said))
        client.ask(action="cancel", id="running")
        client.ask(action="cancel", id="waiting")
        seen = len(client.said)
    after = client.said[seen:]
    assert not [report for report in after if report["id"] in ("running", "waiting")]
    assert Cancelled(id="running", cancelled=1).model_dump() in client.said
    assert Cancelled(id="waiting", cancelled=1).model_dump() in client.said
    assert finals(client.said) == ["other"]


def test_an_id_can_be_reused_after_its_query():
    gate = Gate()
    with Client(gate) as client:
        client.ask(id="x", simulations=10)
        gate.asked.wait()
        client.ask(id="x", simulations=10)
        gate.open.set()
        client.until(lambda said: "x" in finals(said))
        client.until(lambda said: not client.server._open())
        client.ask(id="x", simulations=10)
    assert [report.get("field") for report in client.said] == ["id", None, None]


def test_a_failing_evaluator_is_reported_and_the_server_continues():
    def evaluate(leaves):
        if len(leaves) > 1:
            raise ValueError("the card was pulled out")
        return np.zeros(len(leaves.actions), np.float32), np.zeros(len(leaves), np.float32)

    with Client(evaluate) as client:
        client.ask(id=1, moves="e4", plies="all", simulations=5)
        client.until(lambda said: len(said) == 2)
        client.ask(id=2, simulations=5)
    assert [said.get("error") for said in client.said[:2]] == [
        "ValueError: the card was pulled out"
    ] * 2
    assert client.said[2]["final"]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "field", "says"),
    [
        ("e4", None, "The line is not JSON: Expecting value; send one object per line."),
        ("[1]", None, "The line is not a JSON object"),
        ("[" * 100_000, None, "The line is not JSON: it is nested too deeply"),
        ("{}", "id", "id is missing: every request has one"),
        (
            '{"id": true, "action": "fly"}',
            "action",
            'There is no action "fly": it is analyze or cancel',
        ),
        ('{"id": 1, "action": 7}', "action", "There is no action 7: it is analyze or cancel"),
        ('{"id": [1]}', "id", "id is [1]: it must be"),
        ('{"id": 1, "simulatons": 5}', "simulatons", "did you mean 'simulations'?"),
        ('{"id": 1, "simulations": -5}', "simulations", "simulations is -5: it must be at least 0"),
        ('{"id": 1, "simulations": 1.5}', "simulations", "simulations is 1.5: it must be a "),
        ('{"id": 1, "seconds": 0}', "seconds", "seconds is 0: it must be above 0"),
        ('{"id": 1, "seconds": NaN}', "seconds", "seconds is NaN: it must be a finite number"),
        ('{"id": 1, "lines": 0}', "lines", "lines is 0: it must be at least 1"),
        ('{"id": 1, "fen": "8/8 w"}', "fen", "its board must be 8 ranks"),
        ('{"id": 1, "fen": 5}', "fen", "fen is 5: it must be a string"),
        ('{"id": 1, "moves": "e4 e4"}', "moves", "Move 2: e4 is not legal in"),
        ('{"id": 1, "moves": 5}', "moves", "moves is 5: it must be a list or a string"),
        ('{"id": 1, "plies": [1]}', "plies", "plies has 1, but there are 0 moves"),
        ('{"id": 1, "plies": []}', "plies", "plies is []"),
        ('{"id": 1, "searchmoves": ["e5"]}', "searchmoves", "e5 is not legal in"),
        ('{"id": 1, "settings": {"c_puckt": 1}}', "settings", "did you mean 'c_puct'?"),
        ('{"id": 1, "settings": {"bytes": 1}}', "settings", "a query cannot set"),
        ('{"id": 1, "action": "cancel"}', "id", "id 1 is not an open query"),
    ],
)
def test_an_invalid_line_is_answered_with_its_field(line, field, says):
    with Client() as client:
        client.server.hear(line)
        client.ask(id="after", simulations=5)
    failure = Failure.model_validate(client.said[0])
    assert failure.field == field and says in failure.error
    assert failure.id == (1 if '"id": 1' in line else None)
    assert client.said[1]["final"] and client.said[1]["id"] == "after"


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(max_size=10),
    st.lists(st.one_of(st.integers(-2, 5), st.text(max_size=5)), max_size=4),
)


@few
@given(
    st.one_of(st.text(max_size=40), st.recursive(VALUES, st.lists, max_leaves=5).map(json.dumps))
)
def test_any_line_gets_one_answer_and_the_server_continues(line):
    said = []
    server = Server(said.append)
    server.hear(line)
    server.close()
    assert len(said) == bool(line.strip())
    assert all(json.loads(answer)["error"] for answer in said)


def test_empty_lines_are_ignored():
    with Client() as client:
        for line in ("", "\n", "  \n"):
            client.server.hear(line)
    assert client.said == []


@few
@given(st.dictionaries(st.sampled_from([*Query.model_fields, "bogus"]), VALUES, max_size=5))
def test_any_object_is_a_request_or_refused(request):
    fault = None
    try:
        read(json.dumps(request))
    except ProtocolError as error:
        fault = error
    if fault is None:
        known = {"analyze": set(Query.model_fields), "cancel": {"action", "id"}}
        assert set(request) <= known[request.get("action", "analyze")] and "id" in request
    else:
        assert "\n" not in str(fault) and str(fault).endswith((".", "?"))
        assert fault.field in {*request, "id"}


def test_the_schema_names_every_field():
    printed = schema()
    text = json.dumps(printed)
    for model in (Query, Report, Cancelled, Failure):
        for name, field in model.model_fields.items():
            assert f'"{name}"' in text
            assert field.description is None or json.dumps(field.description) in text
    page = (Path(__file__).parents[3] / "docs" / "json-analysis.md").read_text()
    for model in (Query, Report, Failure):
        assert all(f"`{name}`" in page for name in model.model_fields)


# --- as a program ---------------------------------------------------------------------------------


COMMAND = [sys.executable, "-c", "from sylvan.cli import app; app()", "serve-analysis"]


def run(arguments, text):
    return subprocess.run(
        [*COMMAND, *arguments], input=text, capture_output=True, text=True, timeout=60
    )


def test_open_queries_are_answered_after_the_end_of_the_input():
    queries = [{"id": i, "moves": "e4 e5", "simulations": 50 * i} for i in range(1, 5)]
    done = run([], "\n".join(json.dumps(query) for query in queries))
    assert done.returncode == 0 and done.stderr == ""
    said = {
        report["id"]: report["simulations"]
        for report in map(json.loads, done.stdout.split("\n")[:-1])
    }
    assert said == {1: 50, 2: 100, 3: 150, 4: 200}


def test_the_server_ends_if_its_client_dies():
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    query = {"id": 1, "plies": "all", "seconds": 3600, "report_every": 0.1}
    process.stdin.write(json.dumps(query).encode() + b"\n")
    process.stdin.close()
    assert process.wait(timeout=20) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_the_schema_is_printed():
    done = run(["--schema"], "")
    assert json.loads(done.stdout)["request"] and done.returncode == 0


def test_a_wrong_network_is_one_line():
    done = run(["--net", "nowhere.pb.gz"], "")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "error: There is no file nowhere.pb.gz: give the path of a network.\n"
