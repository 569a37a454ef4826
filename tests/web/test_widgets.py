"""The parts in a notebook: what the Python side says, and the module in Chromium with a model that
stands in for Jupyter's.
"""

import functools
import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("anywidget", reason="the extra `notebook` is not installed")

import sylvan
from sylvan.errors import ConfigError, MissingPage
from sylvan.games import Blob, Chess, ConnectFour
from sylvan.runs.config import TrainingConfig
from sylvan.runs.metrics import Metrics
from sylvan.runs.run import Run
from sylvan.web import widgets
from tests.web.browser import PHONE, WIDE, picture

WAIT = 20
"""Seconds."""


@pytest.fixture(autouse=True)
def _built(built):
    """All need the built parts."""


@functools.cache
def searched():
    return sylvan.search(Chess(moves="e4 e5"), evaluator="material", simulations=400, seed=1)


def told(widget, monkeypatch):
    """The messages of a widget from now on."""
    said = []
    monkeypatch.setattr(widget, "send", said.append)
    return said


def until(condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def test_a_result_carries_its_table_tree_and_positions():
    result = searched()
    widget = result.widget()
    kinds = [message["type"] for message in widget.messages]
    assert kinds[:2] == ["position", "search"] and set(kinds[2:]) == {"looked"}
    position, search = widget.messages[:2]
    assert position["board"]["fen"] == result.game.fen()
    rows = {row["action"]: row["N"] for row in search["moves"]}
    assert rows == {edge.action: edge.N for edge in result.tree.root.edges}
    assert len(search["nodes_new"]) == widgets.NODES
    paths = {tuple(looked["path"]) for looked in widget.messages[2:]}
    assert tuple(search["moves"][0]["line"]) in paths and () in paths
    assert json.loads(json.dumps(widget.messages)) == widget.messages
    assert "widget.js" not in widget._esm and "attachShadow" in widget._esm


def test_a_result_answers_what_the_notebook_does_not_have(monkeypatch):
    widget = searched().widget()
    said = told(widget, monkeypatch)
    widget._heard({"type": "show", "nodes": 200, "opened": []})
    assert len(said[-1]["nodes_new"]) == 200
    widget._heard({"type": "look", "path": [], "details": True})
    assert said[-1]["details"]["N"] == searched().tree.root.N
    widget._heard({"type": "look", "path": [1, 1], "details": True})
    assert said[-1]["type"] == "problem" and "legal" in said[-1]["sentence"]
    widget._heard({"type": "sing"})
    assert "protocol" in said[-1]["sentence"]


def test_a_result_stays_when_its_search_moves_on():
    search = sylvan.Search("uniform", simulations=100)
    result = search.run(ConnectFour())
    widget = result.widget()
    shown = json.dumps(widget.messages)
    search.advance(result.best)
    search.run()
    assert json.dumps(widget.messages) == shown
    assert widget._look([result.best]).details.N > 0


def test_a_view_of_hidden_cards_is_shown():
    game = Blob(players=3, cards=3)
    result = sylvan.search(game.observe(game.to_play()), simulations=60)
    board = result.widget().messages[0]["board"]
    assert board["kind"] == "blob" and board["you"] == game.to_play()


class Coin:
    """A learned model: action 1 pays."""

    def initial_inference(self, observations):
        n = len(observations)
        return np.zeros(n), np.zeros(n), np.zeros((n, 2)), np.zeros((n, 1))

    def recurrent_inference(self, hidden, actions):
        n = len(actions)
        return np.zeros(n), actions == 1, np.zeros((n, 2)), hidden


def test_a_search_over_a_learned_model_is_shown():
    result = sylvan.LatentSearch(Coin(), simulations=20, discount=0.9).run(np.zeros(1))
    position, search = result.widget().messages[:2]
    assert search["moves"][0]["action"] == 1 == result.best
    assert position["board"]["text"] == "LatentState"


def test_a_game_is_played_without_a_server(monkeypatch):
    widget = sylvan.play("tictactoe", level=1, seed=4)
    said = told(widget, monkeypatch)
    until(lambda: widget.messages)
    table = widget.messages[-1]
    assert table["board"]["cells"] == "........." and table["to_play"] == 0
    widget._heard({"type": "act", "action": 4})
    until(lambda: widget.messages[-1]["board"]["cells"].count("o") == 1)
    assert widget.messages[-1]["board"]["cells"][4] == "x"
    until(lambda: said and said[-1] == widget.messages[-1])
    widget.close()
    assert all(worker.join(5) for worker in widget._workers)


@pytest.mark.parametrize(
    ("options", "word"), [({"level": 11}, "level"), ({"seat": -1}, "seat"), ({"cards": 0}, "cards")]
)
def test_a_wrong_game_gets_a_sentence(options, word):
    with pytest.raises(ConfigError, match=f"(?i){word}"):
        sylvan.play("tictactoe", **options)


def trained(folder):
    """A run with some figures."""
    Run.create(folder, TrainingConfig(game={"name": "connect4"}))
    metrics = Metrics(folder)
    for step in range(1, 20):
        loss = {"policy": 0.6 + 1.2 / step, "value": 1 / step, "target_entropy": 0.5}
        metrics.log(step, loss=loss)
    return metrics


def test_a_run_is_watched_without_a_server(monkeypatch, tmp_path):
    metrics = trained(tmp_path / "first")
    widget = sylvan.watch(tmp_path)
    said = told(widget, monkeypatch)
    widget._heard({"type": "follow", "runs": ["first"]})
    until(lambda: any(m["type"] == "curves" for m in said))
    assert next(m for m in said if m["type"] == "curves")["steps"][-1] == 19
    metrics.log(20, loss={"policy": 0.7, "value": 0.1})
    until(lambda: any(m["type"] == "curves" and m["steps"] == [20] for m in said))
    widget.close()
    assert all(worker.join(5) for worker in widget._workers)


def test_what_is_missing_gets_a_sentence(monkeypatch, tmp_path):
    with pytest.raises(ConfigError, match="no run"):
        sylvan.watch(tmp_path)
    monkeypatch.setattr(widgets, "BUNDLE", Path("nowhere.js"))
    with pytest.raises(MissingPage, match="make web"):
        searched().widget()


def test_the_module_is_small():
    assert len(gzip.compress(widgets.BUNDLE.read_bytes())) <= 150_000


# --- in Chromium ---------------------------------------------------------------------------------

HOST = "http://127.0.0.1:1"
PAGE = """<!doctype html><html><head><style>
button { background: red !important; } body { font-family: serif; margin: 20px; }
</style></head><body><h2>A notebook</h2><div id="cell"></div><div id="again"></div></body></html>"""

MODEL = """async ({state, place}) => {
  const {default: module} = await import("/widget.js");
  const heard = new Set();
  window.hear = message => { for (const each of heard) each(message); };
  window.asked = [];
  const model = {
    get: name => state[name],
    send: request => { window.asked.push(request); window.toPython(request); },
    on: (_, each) => heard.add(each),
    off: (_, each) => heard.delete(each),
  };
  window.leave = module.render({ model, el: document.getElementById(place) });
}"""


@pytest.fixture
def notebook(browser, monkeypatch):
    """Show a widget as a notebook does; at the end nothing may have gone wrong."""
    contexts, faults, elsewhere = [], [], []

    def shown(widget, *, viewport=WIDE, scheme="light"):
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)

        def route(to):
            path = to.request.url.removeprefix(HOST)
            if path == "/":
                to.fulfill(body=PAGE, content_type="text/html")
            elif path == "/widget.js":
                to.fulfill(body=widget._esm, content_type="text/javascript")
            elif not to.request.url.startswith("data:"):
                elsewhere.append(to.request.url)
                to.abort()
            else:
                to.continue_()

        context.route("**/*", route)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: said.type == "error" and faults.append(said.text))
        said = told(widget, monkeypatch)
        page.expose_function("toPython", widget._heard)
        page.goto(f"{HOST}/")
        state = {"part": widget.part, "messages": widget.messages}
        page.evaluate(MODEL, {"state": state, "place": "cell"})

        def deliver():
            while said:
                page.evaluate("message => window.hear(message)", said.pop(0))

        page.deliver = deliver
        return page

    yield shown
    for context in contexts:
        context.close()
    assert faults == [] and elsewhere == []


def heard(page, selector):
    """Deliver what Python says until something is there."""
    end = time.monotonic() + WAIT
    while not page.locator(selector).count():
        assert time.monotonic() < end, f"no {selector}"
        page.deliver()
        page.wait_for_timeout(20)


@pytest.mark.slow
def test_a_result_is_shown_in_a_cell(notebook):
    page = notebook(searched().widget())
    assert page.locator(".moves tbody tr").count() == 29
    assert "material" in page.inner_text(".speed") and page.locator("cg-board piece").count() == 32
    assert not page.is_visible(".opener") and not page.is_visible(".controls")
    page.wait_for_function(
        "() => document.querySelector('#cell').shadowRoot.querySelector('.treecanvas')"
        ".dataset.nodes === '60'"
    )
    # The notebook's own styles stay outside.
    colour = "e => getComputedStyle(e).backgroundColor"
    assert page.locator(".toolbar button").first.evaluate(colour) != "rgb(255, 0, 0)"
    page.hover(".moves tbody tr:first-child")
    page.wait_for_selector(".status:has-text('After')")
    page.mouse.move(5, 5)
    page.wait_for_selector(".status:has-text('White to move')")
    page.focus("canvas")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".nodecard:visible")
    assert page.evaluate("window.asked") == []  # all of this is in the notebook
    picture(page, "web-notebook")
    page.evaluate(
        """() => { const slider = document.querySelector('#cell').shadowRoot
           .querySelector('.toolbar input[type=range]');
           slider.value = 2.3; slider.dispatchEvent(new Event('input')); }"""
    )
    heard(page, ".treecanvas[data-nodes='200']")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_result_fits_a_narrow_cell(notebook, scheme):
    page = notebook(searched().widget(), viewport=PHONE, scheme=scheme)
    assert page.locator(".moves tbody tr").count() == 29
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    picture(page, f"web-notebook-phone-{scheme}", full_page=True)


@pytest.mark.slow
def test_a_game_is_played_in_a_cell(notebook):
    widget = sylvan.play("tictactoe", level=1, seed=4)
    until(lambda: widget.messages)
    page = notebook(widget)
    page.click(".cell >> nth=4")
    heard(page, ".cell .nought")
    assert page.locator(".cell svg").count() == 2
    # Keys of the notebook are not those of the game.
    asked = page.evaluate("window.asked.length")
    page.keyboard.press("h")
    page.click("h2")
    page.keyboard.press("h")
    assert page.evaluate("window.asked.filter(r => r.type === 'hint').length") <= 1
    assert page.evaluate("window.asked.length") <= asked + 1
    picture(page, "web-notebook-game")
    widget.close()


@pytest.mark.slow
def test_a_run_is_watched_in_a_cell(notebook, tmp_path):
    metrics = trained(tmp_path / "first")
    widget = sylvan.watch(tmp_path)
    page = notebook(widget)
    heard(page, ".chart:has-text('Policy loss') canvas")
    metrics.log(20, loss={"policy": 0.7, "value": 0.1})
    heard(page, ".chart[data-last='20']")
    picture(page, "web-notebook-run")
    page.evaluate("window.leave()")
    assert page.evaluate("window.asked.at(-1)") == {
        "type": "follow",
        "runs": [],
        "show": False,
    }
    widget.close()
