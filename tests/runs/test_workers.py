"""The totals of a cluster's workers, and their table in a run's report."""

from __future__ import annotations

from pathlib import Path

import pytest

from sylvan.runs.report import write_report
from sylvan.runs.run import Run
from sylvan.runs.workers import HEAD, WorkerTotals, worker_rows
from tests.runs.killing import tiny

LEASE = {"games": 8, "positions": 80, "simulations": 800, "rows": 300, "capacity": 400}
LEASE |= {"seconds": 4.0, "network": 1.0, "waited": 2.0}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "cluster").mkdir()
    return tmp_path


def test_a_step_counts_once(run):
    totals = WorkerTotals(run)
    totals.add(1, [("worker-001-77-1", "one", LEASE), ("worker-000-77-1", "two", LEASE)])
    again = WorkerTotals(run)  # the learner died, and repeats the step
    again.add(1, [("worker-001-77-1", "one", LEASE)])
    again.add(2, [("worker-001-77-2", "three", LEASE)])
    zero, one = worker_rows(run)
    assert zero == ("worker-000", "two", "1", "1", "8", "80", "20", "25%", "50%", "75%")
    assert one[:5] == ("worker-001", "three", "2", "2", "16")
    assert len(HEAD) == len(zero)


def test_a_run_without_a_cluster_has_none(tmp_path):
    assert worker_rows(tmp_path) == []
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "workers.json").write_text("{")
    assert worker_rows(tmp_path) == []


def test_the_report_has_a_row_per_worker(run):
    pytest.importorskip("matplotlib")
    Run(run, tiny(1)).metrics.log(1, selfplay={"games": 8, "positions": 80}, run={"elapsed": 1.0})
    page = write_report(run).read_text()
    assert "Workers" not in page
    WorkerTotals(run).add(1, [("worker-000-77-1", "10.0.0.3 <b>", LEASE)])
    page = write_report(run).read_text()
    assert "<h2>Workers</h2>" in page and "10.0.0.3 &lt;b&gt;" in page
