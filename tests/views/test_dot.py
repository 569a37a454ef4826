"""The Graphviz source: Graphviz reads it with any labels, and draws every node and text."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sylvan.views import snapshot, to_dot
from sylvan.views.text import shorten
from tests.views.test_snapshot import proven_against_visits
from tests.views.trees import Edge, Node, RandomGame, grow, results, texts

NS = "{http://www.w3.org/2000/svg}"
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def drawn(source: str) -> dict[str, dict[str, str]]:
    """Return the text that Graphviz draws, by the names of nodes and edges."""
    done = subprocess.run(["dot", "-Tsvg"], input=source.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
    for group in ET.fromstring(done.stdout).iter(f"{NS}g"):
        if group.get("class") in found:
            name = group.findtext(f"{NS}title") or ""
            words = [text.text or "" for text in group.iter(f"{NS}text")]
            found[group.get("class", "")][name] = "\n".join(words)
    return found


def plain(text: str) -> str:
    """Collapse runs of spaces: XML readers and Graphviz treat them differently."""
    return " ".join(text.replace("\xa0", " ").split())


@needs_dot
@given(results, st.integers(0, 1))
@settings(max_examples=15)
def test_graphviz_draws_every_kept_node_once(result, visits):
    taken = snapshot(result, nodes=30, visits=visits)
    picture = drawn(to_dot(taken))
    nodes = {name: words for name, words in picture["node"].items() if name.startswith("n")}
    assert set(nodes) == {f"n{row['id']}" for row in taken["nodes"]}
    for row in taken["nodes"]:
        assert f"N {row['N']}" in nodes[f"n{row['id']}"]
    links = [name for name in picture["edge"] if "->n" in name]
    assert len(links) == len(taken["nodes"]) - 1


@needs_dot
@given(st.lists(texts, min_size=1, max_size=40))
def test_any_label_can_be_drawn(labels):
    edges = [Edge(a, label, 0.1, 1, 0.0) for a, label in enumerate(labels)]
    picture = drawn(to_dot(snapshot(Node("decision", 0, 1 + len(labels), (0.0,), edges))))
    for place, label in enumerate(labels, 1):
        assert plain(picture["edge"][f"n0->n{place}"]) == plain(shorten(label, 40))


@needs_dot
@pytest.mark.parametrize(
    "label",
    [
        "\\",
        '"',
        "\\N",
        '\\"',
        "a\\",
        "&amp;",
        "&#65;",
        "<b>x</b>",
        "x\ny",
        "x\0y",
        "\ud800",
        "%",
        "",
    ],
)
def test_graphviz_syntax_in_labels_is_escaped(label):
    edge = Edge(0, label, 1.0, 1, 0.5)
    picture = drawn(to_dot(Node("decision", 0, 2, (0.5,), [edge])))
    assert plain(picture["edge"]["n0->n1"]) == plain(shorten(label, 40))


def test_nodes_contain_the_numbers():
    child = Node("decision", 1, 1200, (0.25, -0.25), [])
    root = Node("decision", 0, 1500, (0.2, -0.2), [Edge(7, "e4", 0.125, 1200, 300.0, child=child)])
    source = to_dot(root)
    assert 'n0 [label="N 1,500\\nQ +0.20"' in source
    assert 'n1 [label="N 1,200\\nQ +0.25\\nP 12%"' in source
    assert 'n0 -> n1 [label="e4"' in source


def test_the_principal_variation_is_bold_and_proofs_are_doubled():
    lines = to_dot(proven_against_visits(), nodes=3).splitlines()
    (win,) = [line for line in lines if line.startswith("  n1 ")]
    (other,) = [line for line in lines if line.startswith("  n2 ")]
    assert "penwidth=2.5" in win
    assert "peripheries=2" in win
    assert "= +1 (proven)" in win
    assert "penwidth" not in other
    assert any('m0 [label="+19 more"' in line for line in lines)
    assert any("n0 -> m0" in line for line in lines)


def test_equal_positions_are_separate_nodes_and_output_is_deterministic():
    root = grow(RandomGame(seed=8, letters=("x",)), 60)
    source = to_dot(root)
    ids = re.findall(r"^  (n\d+) \[", source, flags=re.MULTILINE)
    assert len(ids) == len(set(ids)) == len(snapshot(root, depth=8, nodes=40, visits=1)["nodes"])
    assert source == to_dot(root)
