"""Shared by all tests: skips that may be failures, Ctrl-C that reaches children, one thread, no
deadlines.

A test that needs a program from outside (stockfish, graphviz) skips with its reason where that is
absent. With SYLVAN_NO_SKIP=1, as on the machine that judges a change, it fails with that reason.
Only lc0's networks may be missing there too: they are others' work and no part of the project, so
where SYLVAN_NETS is not set, a test whose reason names it still skips.

A process that ignores SIGINT hands that on to its children, and a run started by nohup or by a CI
system often ignores it. Tests send Ctrl-C to programs that they start, so the run restores the
default first.

PyTorch takes one thread per process. Its threads wait for each other by spinning, so with two test
workers on two cores small networks took up to fifteen times the processor time. OMP_NUM_THREADS in
the environment overrides this.

Hypothesis draws 30 examples, and 500 in `make soak`; a test whose examples differ much takes a
multiple of these. It has no deadline for an example and accepts slow ones, which on a busy machine
would fail by chance.
"""

import os
import signal
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

NO_SKIP = os.environ.get("SYLVAN_NO_SKIP") == "1"

os.environ.setdefault("OMP_NUM_THREADS", "1")

for profile, examples in (("sylvan", 30), ("soak", 500)):
    settings.register_profile(
        profile,
        deadline=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("sylvan")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def refuse_skip(report: Any) -> None:
    """Turns a skipped report into a failed one that gives the skip's reason."""
    if not (NO_SKIP and report.skipped) or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    if "SYLVAN_NETS" in str(reason) and "SYLVAN_NETS" not in os.environ:
        return
    report.outcome = "failed"
    report.longrepr = f"{reason}: nothing may be skipped with SYLVAN_NO_SKIP=1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: Any) -> Any:
    report = yield
    refuse_skip(report)
    return report
