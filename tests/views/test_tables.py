"""Both tables: correct numbers for any number of seats, and safe against any label."""

import io
import re
import subprocess
import sys
from base64 import b64decode
from html.parser import HTMLParser

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from sylvan.errors import ConfigError
from sylvan.views import protocol as p
from sylvan.views import table, to_html
from tests.views.test_snapshot import leaf, proven_against_visits
from tests.views.trees import Edge, Node, RandomGame, Result, Tree, result_of, results


def printed(result: p.Result, *, rows: int | None = 10, width: int = 100) -> str:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(table(result, rows=rows))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def two_moves() -> Result:
    """Make a result: seat 1 moves; "left" has 30 of 40 visits, "right" 10, "never" none."""
    reply = Node("decision", 0, 30, (-0.5, 0.5), [Edge(5, "reply", 0.75, 20, -9.0)])
    edges = [
        Edge(1, "left", 0.625, 30, 15.0, (0.0, 1.0), reply),
        Edge(0, "right", 0.25, 10, -2.5, None, leaf(10, 0.25, -0.25)),
        Edge(2, "never", 0.125),
    ]
    tree = Tree(Node("decision", 1, 41, (-0.3, 0.3), edges))
    return Result(tree, simulations=40, seconds=0.02, nodes=1_234, bytes=75_000)


def test_the_numbers_equal_the_tree():
    text = printed(two_moves())
    assert "Best left, value +0.30 for seat 1" in text
    assert (
        "40 simulations with Uniform in 20 ms (2,000/s) · 1,234 nodes, 75 kB · ended by simulations"
        in text
    )
    cells = [line.split() for line in text.splitlines()[-3:]]
    assert cells[0] == ["▸", "left", "30", "75%", "+0.50", "62%", "≥", "0", "reply"]
    assert cells[1] == ["right", "10", "25%", "−0.25", "25%"]
    assert cells[2] == ["never", "0", "0%", "–", "12%"]


@pytest.mark.parametrize("seats", [1, 2, 3, 5])
def test_any_number_of_seats_has_a_table(seats):
    result = result_of(RandomGame(seed=2, seats=seats), 80)
    text = printed(result, width=140)
    assert ("by seat" in text) == (seats > 2)
    assert ("value by seat" in to_html(result)) == (seats > 2)


def test_the_chosen_move_comes_first_and_its_proof_is_shown():
    result = proven_against_visits()
    text = printed(result, rows=4)
    assert "Best win, proven value +1 for seat 0" in text
    moves = text.splitlines()[4:]
    assert moves[0].split() == ["▸", "win", "2", "0.2%", "+1.00", "1.0%", "=", "+1"]
    assert [line.split()[0] for line in moves[1:4]] == ["m0", "m1", "m2"]
    assert moves[4] == "… 17 more with 850 visits"


@pytest.mark.parametrize(
    ("bounds", "shown"),
    [
        ((1.0, 1.0), "= +1"),
        ((0.0, 1.0), "≥ 0"),
        ((-1.0, 0.0), "≤ 0"),
        ((-0.5, 0.5), "≥ −0.5 ≤ +0.5"),
        ((-1.0, 1.0), None),
    ],
)
def test_trivial_bounds_are_not_shown(bounds, shown):
    edge = Edge(0, "x", 1.0, 3, 0.0, bounds, leaf(3, 0.0, 0.0))
    text = printed(Result(Tree(Node("decision", 0, 4, (0.0, 0.0), [edge]))))
    assert ("proven" in text) == (shown is not None)
    assert (shown or "") in text


def test_rows_bound_the_moves():
    result = result_of(RandomGame(seed=0, width=9), 60)
    n = len(result.tree.root.edges)
    assert n > 3
    assert f"… {n - 2} more with" in printed(result, rows=2)
    assert f"… {n - 2} more with" in to_html(result, rows=2)
    assert "more with" not in printed(result, rows=None)
    with pytest.raises(ConfigError, match="rows is 0"):
        table(result, rows=0)


def test_no_simulations_and_no_time_still_make_a_table():
    result = result_of(RandomGame(seed=2), 0)
    result.seconds = 0.0
    assert "0 simulations with Uniform in 0 ms (–)" in printed(result)


@given(results, st.integers(20, 120))
def test_no_line_is_longer_than_the_terminal(result, width):
    text = printed(result, rows=None, width=width)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert all(cell_len(line) <= width for line in text.splitlines())


VOID = {"img", "hr", "br", "rect", "path", "circle"}


class Page(HTMLParser):
    """A strict parser: tags must be closed in order; collects words and tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


KNOWN = {"div", "style", "p", "table", "tr", "th", "td", "span", "i", "img"}
KNOWN |= {"svg", "title", "g", "rect", "path", "circle", "text"}


@given(results)
def test_html_is_well_formed_and_made_of_known_tags_only(result):
    page = Page(to_html(result))
    assert {tag for tag, _ in page.tags} <= KNOWN
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


@pytest.mark.parametrize("label", ["<script>x()</script>", "a&b", "\"'><img src=x>", "]]>", "\x00"])
def test_a_label_is_never_markup(label):
    reply = Edge(0, label, 1.0, 2, 0.0, None, leaf(2, 0.0, 0.0))
    edge = Edge(0, label, 1.0, 3, 0.0, None, Node("decision", 1, 3, (0.0, 0.0), [reply]))
    html = to_html(Result(Tree(Node("decision", 0, 4, (0.0, 0.0), [edge])), evaluator=label))
    page = Page(html)
    assert {tag for tag, _ in page.tags} <= KNOWN - {"img"}
    assert page.words.count(label.replace("\x00", "\ufffd")) == 4  # twice each: table and tree


def test_html_has_no_external_resources():
    html = to_html(result_of(RandomGame(seed=2), 50, ChessGame()))
    assert set(re.findall(r"https?://[^\"' ]+", html)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in html
    assert "@import" not in html


class ChessGame:
    fen = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"

    def board(self) -> chess.Board:
        return chess.Board(self.fen)


def picture_in(html: str) -> str:
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    return b64decode(data).decode()


@pytest.mark.parametrize("labels", [("Rd8#", "Kf1"), ("d1d8", "g1f1")], ids=["san", "uci"])
def test_chess_has_a_board_with_arrows_for_the_best_moves(labels):
    edges = [
        Edge(0, labels[0], 0.5, 30, 30.0, None, leaf(30, 1.0, -1.0)),
        Edge(1, labels[1], 0.3, 3, 0.0, None, leaf(3, 0.0, 0.0)),
        Edge(2, "not a move", 0.2),
    ]
    root = Node("decision", 0, 34, (0.9, -0.9), edges)
    svg = picture_in(to_html(Result(Tree(root), ChessGame())))
    bare = chess.svg.board(chess.Board(ChessGame.fen))
    assert svg.count('class="arrow"') == 4  # a shaft and a head for each of the two
    assert bare.count('class="arrow"') == 0


def test_another_game_has_its_own_picture():
    class Own:
        board = "xox"

        def _repr_svg_(self) -> str:
            return "<svg><script>alert(1)</script></svg>"

    class Asks(Own):
        board = staticmethod(lambda size: None)  # type: ignore[assignment]

    for game in (Own(), Asks()):
        html = to_html(result_of(RandomGame(), 9, game))
        assert picture_in(html) == "<svg><script>alert(1)</script></svg>"
        assert "<script" not in html  # scripts in an image cannot run
    assert "<img" not in to_html(result_of(RandomGame(), 9, object()))


def test_views_load_nothing_heavy():
    code = (
        "import sys, sylvan; before = set(sys.modules); import sylvan.views;"
        "print({m.split('.')[0] for m in set(sys.modules) - before} & "
        "{'rich', 'chess', 'numpy', 'pydantic', 'typer'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
