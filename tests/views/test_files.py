"""Files: round trips, atomic writes, and errors for invalid files."""

import copy
import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ConfigError
from sylvan.views import SnapshotError, load_json, save, save_json, snapshot, to_dot, to_svg
from tests.views.trees import RandomGame, grow, result_of, results


@given(results)
def test_json_round_trip(tmp_path_factory, result):
    path = tmp_path_factory.mktemp("files") / "tree.json"
    taken = snapshot(result, nodes=30)
    save_json(taken, path)
    assert load_json(path) == taken
    assert len(path.read_text().splitlines()) == len(taken["nodes"]) + 2  # header, rows, end


def taken() -> dict[str, Any]:
    return dict(copy.deepcopy(snapshot(grow(RandomGame(seed=1), 20), nodes=8)))


def changed(*where: Any, to: Any) -> dict[str, Any]:
    document = taken()
    inner: Any = document
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = to
    return document


BROKEN = [
    ([], "should be a valid dictionary"),
    ({}, "'format'.* required"),
    (changed("format", to="png"), r"\['format'\]: input should be 'sylvan-tree'"),
    (changed("version", to=2), r"\['version'\]: input should be 1"),
    (changed("seats", to=0), r"\['seats'\]"),
    (changed("nodes", to=[]), r"\['nodes'\]"),
    (changed("value_range", to=[1]), r"\['value_range'\]"),
    (changed("limits", "depth", to="all"), r"\['limits'\]\['depth'\]"),
    (changed("surprise", to=1), r"\['surprise'\]"),
    (changed("nodes", 3, "N", to=-1), r"\['nodes'\]\[3\]\['N'\]"),
    (changed("nodes", 3, "N", to="7"), r"\['nodes'\]\[3\]\['N'\]"),
    (changed("nodes", 3, "kind", to="tree"), r"\['nodes'\]\[3\]\['kind'\]"),
    (changed("nodes", 3, "id", to=4), r"\['nodes'\]\[3\]: 'id' should be 3"),
    (changed("nodes", 3, "parent", to=3), r"\['nodes'\]\[3\]: 'parent' should be an earlier row"),
    (changed("nodes", 3, "parent", to=None), r"\['nodes'\]\[3\]: 'parent'"),
    (changed("nodes", 3, "depth", to=9), r"\['nodes'\]\[3\]: 'depth'"),
    (changed("nodes", 3, "label", to=None), r"\['nodes'\]\[3\]: only the root"),
    (changed("nodes", 3, "values", to=[]), r"\['nodes'\]\[3\]: 'values'"),
    (changed("nodes", 3, "proven", to=[1.0]), r"\['nodes'\]\[3\]: 'values' and 'proven'"),
    (changed("nodes", 3, "seat", to=2), r"\['nodes'\]\[3\]: 'seat' should be below 2"),
    (changed("nodes", 0, "depth", to=1), r"\['nodes'\]\[0\]: the first row should be the root"),
]


@pytest.mark.parametrize(("document", "reason"), BROKEN)
def test_an_invalid_snapshot_is_refused_with_path_and_reason(tmp_path, document, reason):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(document))
    with pytest.raises(SnapshotError, match=reason) as caught:
        load_json(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000 + b"}",
        json.dumps(taken()).encode()[:-40],
        json.dumps(changed("nodes", 1, "W", to=float("nan"))).encode(),
        json.dumps(taken()).replace('"N": 21', '"N": 1e999').encode(),
    ],
    ids=["empty", "cut", "bytes", "nested", "digits", "truncated", "nan", "infinity"],
)
def test_invalid_json_is_refused(tmp_path, data):
    path = tmp_path / "tree.json"
    path.write_bytes(data)
    with pytest.raises(SnapshotError, match="tree"):
        load_json(path)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(st.data(), anything)
def test_a_loaded_snapshot_can_be_drawn(tmp_path_factory, data, value):
    """Replace any field by anything: the snapshot is refused, or can be drawn."""
    document = taken()
    row = data.draw(st.sampled_from(document["nodes"]))
    target = data.draw(st.sampled_from([document, row]))
    target[data.draw(st.sampled_from(sorted(target)))] = value
    path = tmp_path_factory.mktemp("files") / "tree.json"
    path.write_text(json.dumps(document))
    try:
        loaded = load_json(path)
    except SnapshotError:
        return
    assert to_svg(loaded)
    assert to_dot(loaded)


def test_save_follows_the_suffix(tmp_path):
    result = result_of(RandomGame(seed=2), 50)
    for name in ("a.json", "a.dot", "a.gv", "a.svg", "A.SVG"):
        save(result, tmp_path / name)
    assert load_json(tmp_path / "a.json") == snapshot(result, nodes=10_000)
    assert (tmp_path / "a.dot").read_text() == (tmp_path / "a.gv").read_text() == to_dot(result)
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "A.SVG").read_text() == to_svg(result)


def test_save_keeps_the_bounds(tmp_path):
    root = grow(RandomGame(seed=2), 50)
    save(root, tmp_path / "a.json", depth=1, visits=2)
    save(root, str(tmp_path / "a.svg"), nodes=3)
    assert load_json(tmp_path / "a.json") == snapshot(root, depth=1, visits=2)
    assert (tmp_path / "a.svg").read_text() == to_svg(root, nodes=3)


@pytest.mark.parametrize("name", ["tree.png", "tree", "tree.json.gz"])
def test_an_unknown_suffix_is_refused(tmp_path, name):
    with pytest.raises(ConfigError, match=r"\.json.*\.svg"):
        save(grow(RandomGame(), 3), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"folder.*nowhere"):
        save(grow(RandomGame(), 3), tmp_path / "nowhere" / "tree.svg")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "tree.svg"
    save(grow(RandomGame(), 3), path)
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        save(grow(RandomGame(), 30), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
