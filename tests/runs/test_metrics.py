"""Metrics: append-only lines that survive a kill at any byte and read as arrays."""

import json
import math
import os
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import RunError
from sylvan.runs.metrics import FILE, Metrics, read_columns


@dataclass
class Losses:
    policy: float
    value: float
    moves_left: float | None = None


def strict(text):
    """Parse JSON without NaN."""

    def refuse(word):
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def test_groups_become_dotted_names_and_none_is_omitted(tmp_path):
    metrics = Metrics(tmp_path)
    metrics.log(1, loss=Losses(1.5, 0.5), selfplay={"games": np.int64(3)}, **{"run.elapsed": 2.0})
    (line,) = metrics.lines()
    assert line == {
        "step": 1,
        "loss.policy": 1.5,
        "loss.value": 0.5,
        "selfplay.games": 3,
        "run.elapsed": 2.0,
    }


def test_nan_and_infinity_are_strict_json_and_read_back(tmp_path):
    metrics = Metrics(tmp_path)
    metrics.log(1, a=math.nan, b=math.inf, c=-math.inf, d=np.float32("nan"))
    assert strict((tmp_path / FILE).read_text()) == {
        "step": 1,
        "a": "NaN",
        "b": "Infinity",
        "c": "-Infinity",
        "d": "NaN",
    }
    columns = metrics.columns()
    assert (
        np.isnan(columns["a"][0]) and columns["b"][0] == math.inf and columns["c"][0] == -math.inf
    )


def test_columns_are_merged_by_step_and_padded(tmp_path):
    metrics = Metrics(tmp_path)
    metrics.log(1, a=1, note="a text")
    metrics.log(2, a=2)
    metrics.log(2, elo=100.0)
    metrics.log(3, a=3, elo=-50)
    columns = metrics.columns()
    assert list(columns) == ["step", "a", "elo"]
    assert columns["step"].tolist() == [1, 2, 3] and columns["a"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(columns["elo"], [math.nan, 100, -50])


def test_no_file_is_no_lines(tmp_path):
    assert Metrics(tmp_path).columns()["step"].size == 0
    assert Metrics(tmp_path).keep(5) == 0
    assert not (tmp_path / FILE).exists()


@given(cut=st.integers(0, 200), steps=st.integers(1, 6))
def test_a_file_cut_anywhere_keeps_its_complete_lines(tmp_path_factory, cut, steps):
    folder = tmp_path_factory.mktemp("cut")
    metrics = Metrics(folder)
    for step in range(1, steps + 1):
        metrics.log(step, a=step * 1.5)
    data = (folder / FILE).read_bytes()
    left = data[: min(cut, len(data))]
    (folder / FILE).write_bytes(left)
    whole = left.count(b"\n")
    again = Metrics(folder)
    assert [line["step"] for line in again.lines()] == list(range(1, whole + 1))
    again.log(99, a=0)
    assert [line["step"] for line in again.lines()] == [*range(1, whole + 1), 99]


def test_a_long_incomplete_line_is_removed(tmp_path):
    metrics = Metrics(tmp_path)
    metrics.log(1, a=1)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"step": 2, "a": "' + b"x" * 20_000)
    Metrics(tmp_path).log(2, a=2)
    assert [line["a"] for line in metrics.lines()] == [1, 2]


def test_a_resumed_run_drops_lines_after_its_checkpoint(tmp_path):
    metrics = Metrics(tmp_path)
    for step in (1, 2, 3, 4):
        metrics.log(step, a=math.inf if step == 2 else step)
    assert Metrics(tmp_path).keep(2) == 2
    assert [line["a"] for line in metrics.lines()] == [1, math.inf]
    assert Metrics(tmp_path).keep(2) == 0
    metrics.log(3, a=30)
    assert metrics.columns()["a"].tolist() == [1, math.inf, 30]


def test_dropping_lines_never_leaves_half_a_file(tmp_path, monkeypatch):
    metrics = Metrics(tmp_path)
    for step in (1, 2, 3):
        metrics.log(step, a=step)
    before = (tmp_path / FILE).read_bytes()

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        metrics.keep(1)
    assert (tmp_path / FILE).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_line_that_does_not_fit_on_the_disk_leaves_the_file_unchanged(tmp_path, monkeypatch):
    metrics = Metrics(tmp_path)
    metrics.log(1, a=1)
    before = (tmp_path / FILE).read_bytes()
    path = type(metrics.path)
    opened = path.open

    class Full:
        """A file that accepts only five bytes."""

        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, data):
            return self.file.write(data[:5])

    monkeypatch.setattr(path, "open", lambda self, *a, **k: Full(opened(self, *a, **k)))
    with pytest.raises(OSError, match="No space left"):
        metrics.log(2, a=2)
    monkeypatch.undo()
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize("damage", [b"[1]\n", b"nonsense\n", b'{"a": 1}\n', b"\n"])
def test_a_damaged_line_is_named(tmp_path, damage):
    Metrics(tmp_path).log(1, a=1)
    with (tmp_path / FILE).open("ab") as file:
        file.write(damage + b'{"step": 3}\n')
    with pytest.raises(RunError, match=r"metrics.jsonl.*line 2"):
        read_columns(tmp_path / FILE)
