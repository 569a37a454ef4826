"""The SVG: well-formed with any labels, complete, deterministic, without overlaps."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ConfigError
from sylvan.views import snapshot, to_svg
from sylvan.views.text import shorten
from tests.views.test_snapshot import proven_against_visits
from tests.views.trees import Edge, Node, RandomGame, Result, grow, result_of, results

NS = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{NS}text")]


def boxes(root: ET.Element) -> list[tuple[float, float, float, float]]:
    """Return left, top, right, bottom of every card."""
    found = []
    for group in root.iter(f"{NS}g"):
        for rect in group.iter(f"{NS}rect"):
            x, y, w, h = (float(rect.get(name, "nan")) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + w, y + h))
    return found


@given(results, st.integers(1, 60), st.integers(0, 2))
def test_every_kept_node_is_drawn_with_its_numbers(result, nodes, visits):
    taken = snapshot(result, nodes=nodes, visits=visits)
    root = parsed(to_svg(taken))
    shown = texts(root)
    assert len(boxes(root)) == len(taken["nodes"])
    for row in taken["nodes"][1:]:
        assert (shorten(row["label"] or "", 24) or "·") in shown
        assert row["kind"] == "unvisited" or f"N {row['N']}" in shown


@given(results, st.integers(1, 60))
def test_no_two_cards_overlap_and_all_are_inside(result, nodes):
    root = parsed(to_svg(result, nodes=nodes))
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    found = boxes(root)
    for left, top, right, bottom in found:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
    for a, b in combinations(found, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


@given(results)
def test_children_left_out_are_counted(result):
    taken = snapshot(result, nodes=12)
    parents = {row["parent"] for row in taken["nodes"]}
    said = sorted(text for text in texts(parsed(to_svg(taken))) if text.endswith(" more"))
    assert said == sorted(
        f"+{row['left_out']} more"
        for row in taken["nodes"]
        if row["left_out_N"] or (row["left_out"] and row["id"] in parents)
    )


@given(results)
def test_the_same_tree_gives_the_same_bytes(result):
    assert to_svg(result) == to_svg(result) == to_svg(snapshot(result, depth=8, nodes=40, visits=1))


def test_the_principal_variation_is_a_straight_line_on_top():
    result = proven_against_visits()
    root = parsed(to_svg(result, nodes=10))
    framed = [r for r in root.iter(f"{NS}rect") if r.get("class") == "pvframe"]
    assert len(framed) == 2
    (y,) = {r.get("y") for r in framed}
    assert all(float(y or "nan") <= top for _, top, _, _ in boxes(root))
    assert "Best win  ·  proven +1 for seat 0  ·  1,003 visits" in texts(root)


def test_lines_are_as_thick_as_their_visits():
    edges = [Edge(a, f"m{a}", 0.2, n, 0.0) for a, n in enumerate((64, 16, 4, 1, 0))]
    root = parsed(to_svg(Node("decision", 0, 86, (0.0,), edges), visits=0))
    links = [p for p in root.iter(f"{NS}path") if p.get("class") in ("link", "pv")]
    ends = {float(re.findall(r"[\d.]+", p.get("d") or "")[-1]) for p in links[4:]}
    assert len(ends) == 1  # after the legend's four, all lines lead to the same column
    thickness = sorted((float(p.get("stroke-width", "0")) for p in links[4:]), reverse=True)
    assert len(thickness) == 5
    assert all(a > b for a, b in pairwise(thickness[:4]))


def test_proven_nodes_are_marked():
    result = proven_against_visits()
    svg = to_svg(result, nodes=10)
    assert svg.count('class="tick"') == 3  # the root, the winning move, the legend
    assert "= +1" in texts(parsed(svg))
    assert "proven: +1.00, −1.00 by seat" in svg


def test_a_tooltip_has_all_the_numbers():
    child = Node("decision", 1, 4, (0.5, -0.5), [])
    edge = Edge(0, "e4", 0.25, 4, 2.0, (-1.0, 0.5), child)
    svg = to_svg(Node("decision", 0, 5, (0.4, -0.4), [edge]))
    lines = ["e4", "N = 4", "Q = +0.50 for seat 0", "P = 25%", "values: +0.50, −0.50 by seat"]
    assert "\n".join([*lines, "bounds: −1.00 … +0.50", "decision, seat 1 to move"]) in svg


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_style_stays_inside_the_picture(theme):
    """A notebook applies the rules of an inline picture to the page, so all must be scoped."""
    style = next(parsed(to_svg(grow(RandomGame(), 9), theme=theme)).iter(f"{NS}style")).text or ""
    inner = style.replace("@media (prefers-color-scheme:dark){", "")
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", inner)
    assert len(selectors) > 10
    for selector in ",".join(selectors).split(","):
        assert selector.strip().startswith(".sylvan-tree ")
    assert ("@media" in style) == (theme == "auto")


def test_themes_differ_and_an_unknown_one_is_refused():
    root = grow(RandomGame(), 9)
    assert len({to_svg(root, theme=theme) for theme in ("auto", "light", "dark")}) == 3
    with pytest.raises(ConfigError, match="'sepia'"):
        to_svg(root, theme="sepia")  # type: ignore[arg-type]


def test_a_snapshot_is_not_bounded_twice():
    taken = snapshot(grow(RandomGame(), 9))
    with pytest.raises(ConfigError, match="snapshot"):
        to_svg(taken, nodes=5)


def test_a_picture_is_bounded_by_default():
    result: Result = result_of(RandomGame(seed=3, width=9), 2000)
    drawn = parsed(to_svg(result))
    assert len(boxes(drawn)) == 40
    assert len(boxes(parsed(to_svg(snapshot(result, depth=2))))) > 40


def test_a_root_without_children_is_drawn():
    shown = texts(parsed(to_svg(grow(RandomGame(), 0))))
    assert "root" in shown
    assert "nothing below the root" in shown
