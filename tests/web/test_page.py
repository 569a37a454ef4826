"""The page in a browser, used as a person would use it; pictures are kept in out/web.

With SYLVAN_PICTURES=docs/images in the environment, these tests make the pictures of the docs.
"""

import gzip
import json
import re
import sys
import time

import numpy as np
import pytest

import sylvan
from sylvan.games import Chess
from sylvan.games.naming import GameSpec
from sylvan.replay.buffer import Replay
from sylvan.runs.config import TrainingConfig
from sylvan.runs.loop import train
from sylvan.runs.metrics import Metrics
from sylvan.runs.run import Run
from sylvan.web import app, training
from sylvan.web.desk import Desk
from tests.replay.random_records import random_record
from tests.runs.killing import tiny, tiny_learned
from tests.web.browser import PHONE, WIDE, picture
from tests.web.serving import served
from tests.web.test_watching import RUNNER

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = pytest.mark.slow


@pytest.fixture
def visit(browser, address):
    """Open the page; at the end nothing may have gone wrong, and no request left the machine."""
    contexts, faults, elsewhere = [], [], []

    def opened(
        where="",
        *,
        viewport=WIDE,
        scheme="light",
        host=address,
        tolerant=False,
        has_touch=False,
        waits="main:not([hidden]) .status:not(:empty)",
    ):
        context = browser.new_context(viewport=viewport, color_scheme=scheme, has_touch=has_touch)
        contexts.append(context)

        def route(to):
            if re.match(r"(http|ws)://127\.0\.0\.1:|data:", to.request.url):
                to.continue_()
            else:
                elsewhere.append(to.request.url)
                to.abort()

        context.route("**/*", route)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        if not tolerant:
            page.on("console", lambda said: said.type == "error" and faults.append(said.text))
        page.goto(f"http://{host}/{where}")
        page.wait_for_selector(waits)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == [] and elsewhere == []


def count(page, pattern=r"([\d,]+) simulations"):
    """The number of simulations in the line about the speed."""
    found = re.search(pattern, page.inner_text(".speed"))
    return int(found[1].replace(",", "")) if found else 0


def until(page, simulations):
    page.wait_for_function(
        "n => Number((document.querySelector('.speed').textContent.match(/([\\d.,]+)(k?) sim/) || "
        "[0, '0'])[1].replace(/[,.]/g, '')) >= n",
        arg=simulations,
    )


def square(page, name):
    """The middle of a square, White at the bottom, in pixels."""
    box = page.locator("cg-board").bounding_box()
    file, rank = "abcdefgh".index(name[0]), int(name[1]) - 1
    size = box["width"] / 8
    return box["x"] + (file + 0.5) * size, box["y"] + (7.5 - rank) * size


def test_a_position_is_analysed_on_the_board(visit):
    page = visit()
    page.click(".runbar >> text=Start")
    until(page, 300)
    assert page.locator(".moves tr.best td.move").inner_text() in ("d4", "e4", "Nf3", "c4")
    assert page.locator("svg.cg-shapes line").count() >= 2  # arrows
    widths = page.eval_on_selector_all(
        "svg.cg-shapes line", "all => all.map(e => Number(e.getAttribute('stroke-width')))"
    )
    assert len(set(widths)) > 1
    assert "chess network" in page.inner_text(".speed") and "/s" in page.inner_text(".speed")
    picture(page, "web-analyse")
    # Click a piece and a square, then drag one.
    for name in ("e2", "e4"):
        page.mouse.click(*square(page, name))
    page.wait_for_selector(".plies .here:has-text('e4')")
    page.mouse.move(*square(page, "e7"))
    page.mouse.down()
    page.mouse.move(*square(page, "e6"), steps=3)
    page.mouse.move(*square(page, "e5"), steps=3)
    page.mouse.up()
    page.wait_for_selector(".plies .here:has-text('e5')")
    assert page.inner_text(".start, button.main") == "Stop"  # it goes on with the new position
    page.click(".runbar >> text=Stop")
    page.wait_for_selector("button.main:has-text('Start')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".plies .here:has-text('e4')")
    assert "ply=1" in page.url
    page.reload()
    page.wait_for_selector(".plies .here:has-text('e4')")  # the address keeps the game


def test_a_line_is_shown_while_the_mouse_is_over_it(visit):
    page = visit()
    page.click("text=+100")
    until(page, 100)
    page.hover(".moves tbody tr:first-child")
    page.wait_for_selector(".status:has-text('After')")
    assert page.locator(".boardplace.looking").count() == 1
    page.mouse.move(5, 5)
    page.wait_for_selector(".status:has-text('White to move')")
    page.focus(".moves tbody tr:first-child")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")  # plays the second move
    page.wait_for_selector(".status:has-text('Black to move')")


def test_a_line_is_played_move_by_move(visit):
    page = visit()
    page.click("text=+100")
    until(page, 100)
    page.hover(".moves tbody tr:first-child")
    seen = set()
    for _ in range(40):
        seen.add(page.inner_text(".status"))
        page.wait_for_timeout(50)
    lengths = {len(said.split()) for said in seen if said.startswith("After")}
    assert {2, 3} <= lengths  # After d4, After d4 Nf6, ...


def test_the_best_line_is_followed_until_a_person_moves_the_tree(visit):
    page = visit("#game=connect4")
    page.click("text=+100")
    until(page, 100)
    page.keyboard.press("b")
    box = page.locator("canvas").bounding_box()
    following = ".toolbar input[type=checkbox]:checked"
    page.wait_for_selector(following)
    picture(page, "web-follow")
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -200)
    page.wait_for_selector(following, state="detached")


def test_two_searches_are_compared(visit):
    page = visit()
    page.keyboard.press("d")
    page.wait_for_selector(".compare .speedline option", state="attached")
    page.click("text=Settings of the second")
    page.fill("#second-c_puct", "0")
    page.keyboard.press("Enter")
    page.wait_for_selector(".setting.changed:has(#second-c_puct)")
    page.click("text=Settings of the second")
    page.click(".runbar >> text=Start")
    page.wait_for_selector(".versus tr.differs")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.treecanvas')].every(e => e.dataset.nodes === '60')"
    )
    page.click(".runbar >> text=Stop")
    page.wait_for_selector("button.main:has-text('Start')")
    assert re.search("[▲▼]", page.inner_text(".versus tr.differs"))
    bests = page.inner_text(".versus tbody")
    assert "①" in bests and "②" in bests
    assert page.locator(".speed").count() == 2
    picture(page, "web-compare", full_page=True)
    # Both follow the game.
    page.click(".versus tbody button >> nth=0")
    page.wait_for_selector(".status:has-text('Black to move')")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.verdict')]"
        ".every(e => /for Black|Press/.test(e.innerText))"
    )
    page.click("text=Compare")
    assert not page.is_visible(".compare")


def test_two_searches_are_compared_on_a_phone(visit):
    page = visit("#game=connect4", viewport=PHONE, scheme="dark")
    page.click("text=Compare")
    page.select_option("select[aria-label='Second network']", "rollout")
    page.click("text=+100")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.speed')].every(e => /simulations/.test(e.innerText))"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    picture(page, "web-compare-phone", full_page=True)


def test_a_pawn_is_promoted(visit):
    page = visit()
    page.fill("textarea", "8/P6k/8/8/8/8/8/K7 w - - 0 1")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('cg-board piece').length === 3")
    for name in ("a7", "a8"):
        page.mouse.click(*square(page, name))
    page.keyboard.press("Escape")  # the pawn goes back
    page.wait_for_selector(".promotion", state="detached")
    for name in ("a7", "a8"):
        page.mouse.click(*square(page, name))
    page.click(".promotion >> text=rook")
    page.wait_for_selector(".plies .here:has-text('a8=R')")


def test_chess_is_played_with_the_keyboard(visit):
    page = visit()
    # The moves are listed before the first simulation.
    page.wait_for_function("() => document.querySelectorAll('.moves tbody tr').length === 20")
    for typed, shown in (("e4", "e4"), ("e7e5", "e5"), ("nf3", "Nf3")):
        page.keyboard.press("m")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        page.wait_for_selector(f".plies .here:has-text('{shown}')")
        page.evaluate("document.activeElement.blur()")
    page.keyboard.press("m")
    page.keyboard.type("Nf9")
    page.keyboard.press("Enter")
    page.wait_for_selector(".movefield:has-text('No move “Nf9” here')")
    page.evaluate("document.activeElement.blur()")
    page.click("nav >> text=Play")
    sit(page, "chess", level=1)
    page.wait_for_selector(".play .movefield:visible")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("m")
    page.keyboard.type("d2d4")
    page.keyboard.press("Enter")
    page.wait_for_selector(".play .plies:has-text('d4')")


def test_a_tap_shows_a_line_and_the_button_plays(visit):
    page = visit(viewport=PHONE, has_touch=True)
    page.tap("text=+100")
    until(page, 100)
    page.tap(".moves tbody tr:nth-child(2) .move")
    page.wait_for_selector(".status:has-text('After')")
    page.wait_for_timeout(100)
    assert page.locator(".boardplace.looking").count() == 1  # it stays
    page.tap("button:has-text('Back')")
    page.wait_for_selector(".status:has-text('White to move')")
    page.tap(".moves tbody tr:nth-child(2) .plays button")
    page.wait_for_selector(".status:has-text('Black to move')")


def test_help_opens_and_closes(visit):
    page = visit()
    page.keyboard.press("?")
    page.wait_for_selector("dialog.help:visible")
    assert "Mean value" in page.inner_text("dialog.help")
    page.keyboard.press("P")  # no key of the page works in it
    assert page.is_visible("main.analyse")
    picture(page, "web-help")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.help", state="hidden")
    page.click("header button:has-text('?')")
    page.wait_for_selector("dialog.help:visible")


def test_values_and_pawns_are_different_columns(visit):
    page = visit()
    page.click("text=+100")
    until(page, 100)
    heads = page.locator(".moves th:visible").all_inner_texts()
    cells = page.locator(".moves tbody tr:first-child td:visible").all_inner_texts()
    shown = dict(zip(heads, cells, strict=True))
    assert abs(float(shown["Q"].replace("−", "-"))) < 1 and re.match(
        r"[+−]\d\.\d\d$", shown["Pawns"]
    )
    assert re.search(
        r"Q [+−]0\.\d{3} \([+−]\d\.\d\d pawns\) for White", page.inner_text(".verdict")
    )
    page.select_option("select[aria-label=Game]", "connect4")
    page.click("text=+100")
    page.wait_for_selector(".verdict:has-text('column')")
    assert "Pawns" not in page.locator(".moves th:visible").all_inner_texts()


def test_a_position_is_set_up(visit):
    page = visit()
    page.keyboard.press("e")
    page.click(".editor button:has-text('Empty')")
    for piece, name in (("white king", "e1"), ("black king", "e8"), ("white rook", "a1")):
        page.click(f".palette button[title='Put a {piece} on squares']")
        page.mouse.click(*square(page, name))
    page.mouse.click(*square(page, "a1"))  # once more takes it away
    page.mouse.click(*square(page, "h1"))
    page.click(".palette button[aria-pressed=true]")  # now pieces move
    page.mouse.move(*square(page, "h1"))
    page.mouse.down()
    page.mouse.move(*square(page, "h4"), steps=3)
    page.mouse.move(*square(page, "h5"), steps=3)
    page.mouse.up()
    fen = page.locator(".fen")
    page.wait_for_function("() => document.querySelector('.fen').value.startsWith('4k3/8/8/7R/')")
    page.select_option(".editor select", "b")
    assert fen.input_value() == "4k3/8/8/7R/8/8/8/4K3 b - - 0 1"
    picture(page, "web-edit")
    page.click(".editor button:has-text('Search it')")
    page.wait_for_selector(".status:has-text('Black to move')")
    assert page.locator(".editor").count() == 0 and page.locator("cg-board piece").count() == 3
    # With the keyboard, and a position that cannot be.
    page.click("text=Edit")
    page.fill(".fen", "4k3/8/8/8/8/8/8/8 w - - 0 1")
    page.keyboard.press("Enter")
    page.wait_for_selector(".notice:visible")
    assert page.locator(".editor").count() == 1
    page.focus(".fen")
    page.keyboard.press("Escape")
    assert page.locator(".editor").count() == 0 and page.locator("cg-board piece").count() == 3


def test_a_pgn_is_dropped_and_its_graph_drawn(visit):
    page = visit()
    text = '[Event "?"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 *'
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.items.add(new File([text], "game.pgn"));
          const target = document.querySelector(".analyse");
          target.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
        }""",
        text,
    )
    page.wait_for_selector(".plies .here:has-text('a6')")
    page.click("text=Graph")
    page.wait_for_function(
        "() => document.querySelector('.graph .values')?.getAttribute('d').match(/[ML]/g)"
        ".length === 7"
    )
    page.click(".plies button:has-text('Nf3')")
    page.wait_for_selector(".status:has-text('Black to move')")


def test_a_file_may_be_dropped_anywhere(visit):
    """Without a listener the browser would leave the page and show the file."""
    page = visit()
    page.click("nav >> text=Play")
    prevented = page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["e4 c5"], "moves.txt"));
          const options = { dataTransfer: data, bubbles: true, cancelable: true };
          const drop = new DragEvent("drop", options);
          return !document.querySelector("header").dispatchEvent(drop);
        }"""
    )
    assert prevented
    page.wait_for_selector(".analyse .plies .here:has-text('c5')")


def test_analyses_of_ten_thousand_nodes_are_loaded_and_larger_ones_refused(visit, tmp_path):
    file, large = tmp_path / "ten.sylvan", tmp_path / "large.sylvan"
    sylvan.search(Chess(), evaluator="material", simulations=12_000).save(file, nodes=10_000)
    large.write_bytes(file.read_bytes() + bytes(2_300_000))
    page = visit()
    for path, wanted in (
        (large, ".notice:visible:has-text('large.sylvan is too large')"),
        (file, ".verdict:has-text('From a file')"),
    ):
        with page.expect_file_chooser() as chooser:
            page.click("text=Load")
        chooser.value.set_files(path)
        page.wait_for_selector(wanted, timeout=60_000)
    assert "12.0k simulations" in page.inner_text(".speed")


def test_the_eleventh_page_can_try_again(visit, browser):
    pages = [visit() for _ in range(app.MOST_PAGES)]
    eleventh = visit(waits="header")
    eleventh.wait_for_selector(".link:has-text('as many pages as it can')")
    pages[0].context.close()
    eleventh.wait_for_timeout(300)
    eleventh.click("text=Try again")
    eleventh.wait_for_selector("main:not([hidden]) .status:has-text('White to move')")
    assert not eleventh.inner_text(".link")


def test_a_file_that_is_too_large_gets_a_sentence(visit, tmp_path):
    file = tmp_path / "games.pgn"
    file.write_text("[Event]\n\n1. e4 e5 *\n" * 20_000)
    page = visit()
    with page.expect_file_chooser() as chooser:
        page.click("text=Load")
    chooser.value.set_files(file)
    page.wait_for_selector(".notice:visible:has-text('games.pgn is too large')")


def test_wrong_input_gets_a_sentence(visit):
    page = visit()
    page.fill("textarea", "9/8/8/8/8/8/8/8 w - - 0 1")
    page.keyboard.press("Enter")
    page.wait_for_selector(".notice:visible")
    assert page.locator("cg-board piece").count() == 32


def test_slow_motion_shows_the_four_phases(visit):
    page = visit("#game=connect4")
    page.click("text=+100")
    until(page, 100)
    page.evaluate("document.querySelector('.runbar input[type=range]').value = 200")
    page.dispatch_event(".runbar input[type=range]", "input")
    page.click("text=Slow")
    page.wait_for_selector(".slow .chosen")
    picture(page, "web-slow-motion")
    page.click("text=Pause")
    page.click(".runbar >> text=Clear")
    page.wait_for_function("() => !/simulations/.test(document.querySelector('.speed').innerText)")
    page.evaluate(WATCH_PHASES)
    page.click("text=Slow")  # from an empty tree, whose paths are short
    for phase in ("Selection", "Expansion", "Evaluation", "Backup"):
        page.wait_for_selector(f".phases .now:has-text('{phase}')")
    page.wait_for_function(
        "() => Number(document.querySelector('.slow h3').textContent.match(/\\d+/)) >= 4"
    )
    # The tree shows each phase; the backup goes from the new node to the root, whose visits grow.
    seen = ", ".join(page.evaluate("window.phases"))
    assert "selection 2, expansion 1, evaluation 1, backup 3, backup 2, backup 1" in seen
    said = page.evaluate("window.said")
    roots = [int(each.split()[1]) for each in said if each.startswith("root,")]
    assert roots == sorted(roots) and {2, 3} <= set(roots)
    page.click("text=Pause")
    assert count(page) >= 2
    page.click("text=+1 >> nth=0")
    page.wait_for_selector(".slow", state="hidden")


WATCH_PHASES = """() => {
  window.phases = [];
  window.said = [];
  const keep = (list, text) => text && list.at(-1) !== text && list.push(text);
  const tree = document.querySelector(".treecanvas");
  new MutationObserver(() => {
    keep(window.phases, tree.dataset.phase);
    keep(window.said, tree.querySelector(".unseen").textContent);
  }).observe(tree, { attributes: true, childList: true, subtree: true });
}"""


def test_the_tree_is_explored_with_mouse_and_keyboard(visit):
    page = visit()
    page.click("text=+100")
    until(page, 100)
    page.focus("canvas")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_selector(".nodecard:visible")
    assert "Network alone" in page.inner_text(".nodecard")
    said = page.inner_text(".treecanvas .unseen")
    assert re.search(r"\d+ visits, value", said)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "said => document.querySelector('.treecanvas .unseen').innerText !== said", arg=said
    )
    page.wait_for_timeout(200)
    picture(page, "web-tree")
    page.keyboard.press("Shift+ArrowUp")  # moves the tree, and chooses nothing
    page.keyboard.press("Shift+ArrowDown")
    assert page.inner_text(".treecanvas .unseen") != said
    page.keyboard.press("Escape")
    page.wait_for_selector(".status:has-text('White to move')")
    page.fill("input[type=search]", "Nf")
    page.wait_for_function(
        "() => /[1-9]\\d* found/.test(document.querySelector('.found').textContent)"
    )
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.wheel(0, -300)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 150)
    page.mouse.up()


def test_a_setting_changes_the_search(visit):
    page = visit("#game=connect4")
    page.click("text=Settings")
    assert "exploration" in page.inner_text(".setting:has(#setting-c_puct)")
    page.fill("#setting-c_puct", "7.5")
    page.keyboard.press("Enter")
    page.wait_for_selector(".setting.changed:has(#setting-c_puct)")
    page.fill("#setting-c_puct", "-1")
    page.keyboard.press("Enter")
    page.wait_for_selector(".notice:visible:has-text('c_puct')")


def test_an_analysis_is_saved_and_loaded(visit, tmp_path):
    page = visit("#game=connect4&moves=3")
    page.click("text=+100")
    until(page, 100)
    with page.expect_download() as download:
        page.click("text=Save")
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "connect4-1.sylvan"
    shown = page.inner_text(".moves tbody")
    other = visit()
    with other.expect_file_chooser() as chooser:
        other.click("text=Load")
    chooser.value.set_files(file)
    other.wait_for_selector(".verdict:has-text('From a file')")
    assert other.inner_text(".moves tbody") == shown
    other.wait_for_selector(".status:has-text('Yellow to move')")
    other.click("text=+100")  # the search goes on
    until(other, 200)


@pytest.fixture
def play(visit):
    """Open the page at Play."""

    def opened(where="", **options):
        page = visit(where, **options)
        page.click("nav >> text=Play")
        page.wait_for_selector("#play-seat-1", state="attached")
        return page

    return opened


OWN = ".play .status:has-text('our turn')"


def sit(page, game, *seats, **fields):
    """Start a game; `seats` are the first choices of who plays."""
    page.select_option("#play-game", game)
    for number, who in enumerate(seats):
        page.select_option(f"#play-seat-{number}", who)
    for name, value in fields.items():
        page.fill(f"#play-{name}", str(value))
    page.click("button:has-text('New game')")


def test_blob_is_played_against_five_opponents(play):
    page = play()
    sit(page, "blob", cards=3)
    page.wait_for_selector(OWN)
    assert page.locator(".seats tbody tr").count() == 6
    assert page.locator(".hand .card").count() == 3
    page.keyboard.press("h")
    page.wait_for_selector(".advice:has-text('makes the bid')")
    page.click(".blobtable .actions button >> nth=0")
    page.wait_for_selector(".hand .card:enabled")
    picture(page, "web-play", clip={"x": 0, "y": 0, "width": 1360, "height": 620})
    page.click(".hand .card:enabled >> nth=0")
    page.wait_for_function("() => document.querySelectorAll('.hand .card').length === 2")
    page.wait_for_selector(OWN)
    page.keyboard.press("r")
    page.wait_for_selector(".advice:has-text('decisions'), .advice:has-text('no choice')")
    page.click(".decision summary >> nth=0")  # what the search thought
    page.wait_for_selector(".decision[open] td:has-text('bid')")


def test_a_game_is_played_and_reviewed(play):
    page = play(viewport=PHONE)
    sit(page, "tictactoe", level=1)
    over = ", ".join(f".play .status:has-text('{end}')" for end in ("win", "lose", "Drawn"))
    for _ in range(5):
        page.wait_for_selector(f".play .cell:enabled, {over}")
        if page.locator(over).count():
            break
        page.click(".play .cell:enabled >> nth=0")
    page.wait_for_selector(".advice h3:has-text('Review')")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    if page.locator(".advice button:has-text('Why?')").count():
        assert page.locator(".plies .mistake").count()
        page.click(".advice button:has-text('Why?') >> nth=0")
        page.wait_for_selector(".analyse .status:has-text('to move')")
        page.click("nav >> text=Play")
    page.click("text=Take back")
    page.wait_for_selector(OWN)


def test_two_browsers_share_a_table(play, visit):
    """A guest opens the link, plays, leaves and comes back to the seat; a third one is told."""
    host = play()
    sit(host, "connect4", "you", "guest", minutes=5)
    host.wait_for_selector(".invite:visible")
    link = host.input_value(".invite input").partition("/?")[2]
    guest = visit(f"?{link}", viewport=PHONE, scheme="dark")
    guest.wait_for_selector(".play .status:has-text('Waiting for red')")
    host.wait_for_selector(OWN)
    host.click(".play .cell:enabled >> nth=3")
    guest.wait_for_selector(OWN)
    assert guest.locator(".play .cell svg").count() == 1
    assert re.search(r"[45]:\d\d", guest.inner_text(".seatlist .turn .clock"))
    picture(guest, "web-table-guest", full_page=True)
    picture(host, "web-table")
    third = visit(f"?{link}")
    third.wait_for_selector(".notice:has-text('taken')")
    guest.reload()
    guest.wait_for_selector(OWN)
    guest.click(".play .cell:enabled >> nth=3")
    host.wait_for_selector(OWN)
    host.keyboard.press("z")
    guest.wait_for_selector(".asked:visible")
    guest.click(".asked button")
    host.wait_for_function("() => document.querySelectorAll('.play .cell svg').length === 0")
    host.click(".play .cell:enabled >> nth=3")
    guest.wait_for_selector(OWN)
    host.keyboard.press("o")
    guest.wait_for_selector(".asked:has-text('Red offers a draw')")
    assert host.locator(".asked button").count() == 0  # one does not agree with oneself
    guest.click(".asked button")
    for page in (host, guest):
        page.wait_for_selector(".play .status:has-text('Drawn by agreement')")
        assert not page.is_visible(".play button:has-text('Offer draw')")
    host.keyboard.press("z")
    guest.click(".asked button")
    host.wait_for_selector(OWN)
    guest.context.close()
    host.wait_for_selector(".seatlist:has-text('away')")


def test_a_hand_is_hidden_until_the_next_person_is_there(play):
    page = play()
    sit(page, "blob", "you", "you", "player", "player", cards=2)
    page.wait_for_selector(".curtain:visible")
    assert page.locator(".hand .card").count() == 0
    picture(page, "web-curtain")
    page.keyboard.press("Enter")  # the button has the focus
    page.wait_for_selector(".play .status:has-text('Seat')")
    assert page.locator(".hand .card").count() == 2
    page.click(".blobtable .actions button >> nth=0")
    page.wait_for_selector(".curtain:visible")
    assert page.locator(".hand .card").count() == 0


def test_a_flag_falls(play):
    page = play()
    sit(page, "chess", "you", "you", minutes=0.02)
    page.wait_for_selector('.play .status:has-text("time is up")')
    assert page.inner_text(".seatlist .clock >> nth=0") == "0:00.0"


def test_the_copilot_advises_at_a_real_table(play):
    """A bid and a card of everybody are entered, and advice comes at the own turn."""
    page = play(viewport=PHONE)
    page.keyboard.press("t")
    page.fill("#copilot-players", "3")
    page.fill("#copilot-cards", "4")
    page.click("button:has-text('New table')")
    page.wait_for_selector(".prompt:has-text('Which 4 cards')")
    for card in ("A♠", "10♥", "2♣", "K♦"):
        page.click(f".deck [aria-label='{card}']")
    for seat in (1, 2):
        page.wait_for_selector(f".prompt:has-text('seat {seat} bid')")
        page.click(".picker button >> nth=1")
    page.wait_for_selector(".advice:has-text('makes the bid')")
    picture(page, "web-copilot", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.fill("#note-text", "0")
    page.keyboard.press("Enter")
    page.wait_for_selector(".prompt:has-text('seat 1 play')")
    assert page.locator(".deck [aria-label='A♠']:disabled").count() == 1
    page.click(".deck [aria-label='A♥']")
    page.wait_for_selector(".entries li:has-text('A♥')")
    page.click("text=Undo")
    page.wait_for_function("() => document.querySelectorAll('.entries li').length === 3")
    page.reload()
    page.click("nav >> text=Play")
    page.keyboard.press("t")
    page.wait_for_function("() => document.querySelectorAll('.entries li').length === 3")


def test_a_run_is_watched(visit, tmp_path, built):
    """Curves grow while the page is open, and a game of self-play is replayed."""
    spec, rng = GameSpec("connect4"), np.random.default_rng(3)
    folder = tmp_path / "first"
    Run.create(folder, TrainingConfig(game={"name": "connect4"}))
    metrics = Metrics(folder)

    def log(step):
        loss = {"policy": 0.6 + 1.2 / step, "value": 1 / step, "target_entropy": 0.5}
        metrics.log(step, loss=loss, selfplay={"entropy": 1 - step / 50, "length": 20 + step})

    for step in range(1, 20):
        log(step)
    Replay(folder / "replay", spec).append([random_record(spec, rng, step=n) for n in range(5)])
    with served(Desk(runs=(tmp_path,))) as own:
        page = visit(host=own)
        page.keyboard.press("L")
        page.wait_for_selector(".chart:has-text('Policy loss') canvas")
        titles = page.locator(".chart strong").all_inner_texts()
        entropy, length = "Entropy of the policy (nats)", "Length of a game (plies)"
        assert titles == ["Policy loss", "Value loss", entropy, length]
        page.click(".learn button:has-text('Games')")
        page.wait_for_selector(".thoughts:has-text('Ply 1 of')")
        for _ in range(6):
            page.click(".replay button:has-text('›')")
        assert page.locator(".replay .cell svg").count() == 6
        assert "The search's values" in page.inner_text(".thoughts")
        page.hover(".chart:has-text('Policy loss') .u-over")
        first = page.locator(".chart:has-text('Policy loss')").element_handle()
        log(20)
        page.wait_for_selector(".chart[data-last='20']")
        # It has grown in place: a chart that one points at is not made anew.
        assert first.evaluate("chart => chart.isConnected && chart.dataset.last") == "20"
        page.context.close()


def test_runs_are_looked_at_closely(visit, tmp_path, built):
    """A film with what the model foresees, and the opinion of a position over the steps."""
    pytest.importorskip("pygame")
    train(tiny_learned(2), tmp_path / "pole")
    train(tiny(6), tmp_path / "rules")
    with served(Desk(runs=(tmp_path,))) as own:
        page = visit(host=own, viewport=WIDE | {"height": 1100})
        page.keyboard.press("L")
        titles = ("Rewards foreseen", "Values foreseen", "What takes the time")
        for title in titles:
            page.wait_for_selector(f".chart:has-text('{title}') canvas")
        page.click(".runs tr:has-text('pole') >> text=Film")
        page.wait_for_selector(".replay img")
        page.wait_for_selector(".thoughts:has-text('which paid +1.00')")
        page.keyboard.press("ArrowRight")  # stops it
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("m")
        page.wait_for_selector(".ahead td:has-text('now')")
        page.mouse.move(5, 5)
        picture(page, "web-film", clip={"x": 0, "y": 0, "width": 620, "height": 820})
        page.click(".runs tr:has-text('rules') >> text=Opinion")
        page.fill("#opinion-text", "4 0")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelectorAll('.opinion .cell svg').length === 2")
        titles = page.locator(".opinion .chart strong").all_inner_texts()
        assert titles == ["Value", "Policy"]
        assert "steps 0, 1, 2, 3, 4, 5, 6" in page.inner_text(".opinion")
        page.locator(".opinion").scroll_into_view_if_needed()
        picture(page.locator(".opinion"), "web-opinion")
        page.context.close()


def test_a_real_run_is_shown(visit, ran, built):
    """The picture of the docs: the curves of a run, and a game that it played."""
    with served(Desk(runs=(ran,))) as own:
        page = visit(host=own)
        page.keyboard.press("L")
        page.click(".runs tr:has-text('first') >> text=Games")
        page.wait_for_selector(".thoughts:has-text('Ply 1 of')")
        page.wait_for_selector(".chart:has-text('Mistakes') canvas")
        for _ in range(3):
            page.click(".replay button:has-text('›')")
        page.evaluate("scrollTo(0, 0)")
        picture(page, "web-learn")
        page.context.close()


def test_a_run_is_started_paused_and_resumed(visit, tmp_path, built, monkeypatch):
    monkeypatch.setattr(training, "PROGRAM", [sys.executable, "-c", RUNNER, "train"])
    with served(Desk(runs=(tmp_path,), trains=True)) as own:
        page = visit(host=own)
        page.keyboard.press("L")
        page.wait_for_selector(".runs:has-text('No network has been trained here yet')")
        page.fill("#run-name", "mine")
        page.select_option("#run-game", "tictactoe")
        page.keyboard.press("Enter")
        page.wait_for_selector(".runs tr:has-text('mine') .running", timeout=60_000)
        page.wait_for_selector(".chart:has-text('Policy loss') canvas", timeout=60_000)
        picture(page, "web-train")
        page.click("text=Pause")
        page.wait_for_selector(".runs tr:has-text('mine') .stopped", timeout=60_000)
        page.click("text=Resume")
        page.wait_for_selector(".runs tr:has-text('mine') .running", timeout=60_000)
        page.click("text=Pause")
        page.wait_for_selector("button:has-text('Resume')", timeout=60_000)
        page.context.close()


def test_games_on_a_grid_are_played_with_the_keyboard(visit):
    page = visit("#game=tictactoe")
    page.focus(".cell >> nth=4")
    page.keyboard.press("Enter")
    page.wait_for_selector(".status:has-text('Noughts to move')")
    assert page.locator(".cell svg").count() == 1
    page.select_option("select[aria-label=Game]", "connect4")
    page.wait_for_selector(".grid.drop")
    page.click(".cell >> nth=3")
    page.wait_for_selector(".status:has-text('Yellow to move')")
    page.click("text=+100")
    until(page, 100)
    picture(page, "web-connect4")


def test_a_round_of_blob_is_analysed(visit):
    page = visit("#game=blob&start=players%3D4+cards%3D4+seat%3D0+seed%3D7")
    assert page.locator(".hand .card").count() == 4
    while "Seat 0 to move" not in page.inner_text(".status"):
        said = page.locator(".plies button").count()
        page.click(".blobtable .actions button >> nth=0")  # what the others bid
        page.wait_for_function(
            "said => document.querySelectorAll('.analyse .plies button').length > said", arg=said
        )
    page.click("text=+100")
    page.wait_for_selector(".blobtable .actions .share")
    assert page.locator(".moves tbody tr").count() >= 4
    picture(page, "web-blob")


def test_a_game_of_ones_own_is_analysed(visit, tmp_path, built):
    file = tmp_path / "nim.py"
    file.write_text(NIM)
    with served(Desk(start=f"{file}:Nim")) as own:
        page = visit(host=own)
        assert "10 stones" in page.inner_text("pre")
        page.click("text=+100")
        until(page, 100)
        page.click(".actions button >> nth=1")
        page.wait_for_selector("pre:has-text('8 stones')")


NIM = """
import numpy as np
import sylvan

class Nim(sylvan.Game):
    num_players, num_actions = 2, 3
    def __init__(self, stones=10, seat=0): self.stones, self.seat = stones, seat
    def legal_actions(self): return range(min(3, self.stones))
    def apply(self, action): self.stones -= action + 1; self.seat = 1 - self.seat
    def clone(self): return Nim(self.stones, self.seat)
    def to_play(self): return self.seat
    def is_terminal(self): return self.stones == 0
    def returns(self): return (-1, 1) if self.seat == 0 else (1, -1)
    def observation(self): return np.array([self.stones], np.float32)
    def action_to_string(self, action): return f"take {action + 1}"
    def __str__(self): return f"{self.stones} stones"
"""


def test_the_page_is_small(built):
    from sylvan.web.app import STATIC

    assert sum(len(gzip.compress(path.read_bytes())) for path in STATIC.iterdir()) <= 300_000


@pytest.mark.alone
def test_the_page_is_ready_within_a_second(visit):
    visit()  # the browser has started
    began = time.perf_counter()
    visit("#game=connect4")
    assert time.perf_counter() - began < 1


@pytest.mark.alone
def test_a_tree_of_5000_nodes_is_panned_smoothly(visit, browser):
    """At most 8 ms of script in 95 of 100 frames, whether all nodes are in view or few."""
    page = visit("#game=connect4")
    page.select_option("select[aria-label=Network]", "rollout")
    page.click(".runbar >> text=Start")
    page.wait_for_selector(".speed:text-matches('[0-9](k|M) simulations')")
    page.click(".runbar >> text=Stop")
    page.evaluate("() => { document.querySelector('.toolbar input[type=range]').value = 3.7 }")
    page.dispatch_event(".toolbar input[type=range]", "input")
    page.wait_for_selector(".treecanvas[data-nodes='5000']")
    box = page.locator("canvas").bounding_box()
    for whole in (False, True):
        if whole:
            page.click(".toolbar button:has-text('All')")
        page.mouse.move(box["x"] + 300, box["y"] + 150)
        page.mouse.down()
        browser.start_tracing(page=page, categories=["devtools.timeline"])
        for step in range(100):
            back = abs(step % 40 - 20)
            page.mouse.move(box["x"] + 300 - 10 * back, box["y"] + 150 - 5 * back)
        frames = script_per_frame(json.loads(browser.stop_tracing()))
        page.mouse.up()
        assert len(frames) >= 60, "hardly any frame was drawn"
        assert np.percentile(frames, 95) <= 8, frames


def script_per_frame(trace):
    """Milliseconds of script, in processor time, on the page's main thread in each frame.

    A frame ends with its animation callback; what ran since the last one belongs to it.
    """
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    ends = [event for event in events if event["name"] == "FireAnimationFrame"]
    (thread,) = {(event["pid"], event["tid"]) for event in ends}
    script = {"EventDispatch", "FireAnimationFrame", "TimerFire", "FunctionCall", "V8.GCScavenger"}
    own = sorted(
        (event for event in events if (event["pid"], event["tid"]) == thread),
        key=lambda event: event["ts"],
    )
    frames, now, until_ = [], 0.0, 0.0
    for event in own:
        if event["name"] not in script or event["ts"] < until_:
            continue  # no script, or within one that is counted
        now += event["tdur"]
        until_ = event["ts"] + event["dur"]
        if event["name"] == "FireAnimationFrame":
            frames.append(now / 1000)
            now = 0.0
    return frames


def test_dark_and_narrow(visit):
    page = visit(scheme="dark")
    page.click("text=+100")
    until(page, 100)
    picture(page, "web-dark")
    page = visit(viewport=PHONE)
    page.click("text=+100")
    until(page, 100)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    picture(page, "web-phone", full_page=True)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A folder with a run that is trained."""
    folder = tmp_path_factory.mktemp("runs")
    train(tiny(8), folder / "first")
    return folder


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits_in_both_schemes_and_sizes(visit, ran, built, scheme, viewport):
    """Nothing is wider than the window; the pictures are for a reviewer to look at."""
    name = f"{scheme}-{'wide' if viewport is WIDE else 'phone'}"

    def kept(view):
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], view
        picture(page, f"all-{view}-{name}", full_page=True)

    with served(Desk(runs=(ran,))) as own:
        page = visit(host=own, viewport=viewport, scheme=scheme)
        page.click("text=+100")
        until(page, 100)
        page.focus("canvas")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".nodecard:visible")
        page.wait_for_timeout(150)
        kept("analyse")
        page.click("text=Settings")
        kept("settings")
        page.click("text=Settings")
        page.click("text=Compare")
        page.click("text=+100")
        page.wait_for_function("() => document.querySelectorAll('.versus tbody tr').length > 3")
        page.wait_for_timeout(150)
        kept("compare")
        page.click("text=Compare")
        page.select_option("select[aria-label=Game]", "connect4")
        page.click("text=+100")
        page.wait_for_selector(".verdict:has-text('column')")
        page.click("text=Slow")
        page.wait_for_selector(".phases .now:has-text('Backup')", timeout=30_000)
        kept("slow")
        page.click("text=Pause")
        page.keyboard.press("P")
        kept("play-new")
        sit(page, "blob", cards=4)
        page.wait_for_selector(OWN)
        page.click(".blobtable .actions button >> nth=0")
        page.wait_for_selector(".hand .card:enabled")
        kept("play")
        page.keyboard.press("L")
        page.click(".runs tr:has-text('first') >> text=Games")
        page.wait_for_selector(".thoughts:has-text('Ply 1 of')")
        page.wait_for_selector(".chart:has-text('Policy loss') canvas")
        kept("learn")
        page.context.close()


def test_a_lost_connection_is_made_again(visit, built):
    with served() as first:
        page = visit("#game=tictactoe", host=first, tolerant=True)
        page.click(".cell >> nth=4")
        page.wait_for_selector(".status:has-text('Noughts to move')")
    page.wait_for_selector(".link:has-text('does not answer')")
    with served(port=int(first.rpartition(":")[2])):
        page.wait_for_selector("body[data-link=open]")
        page.click(".cell >> nth=0")  # the game goes on where it was
        page.wait_for_selector(".status:has-text('Crosses to move')")
        assert page.locator(".cell svg").count() == 2
        page.context.close()
