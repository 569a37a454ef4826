"""With `SYLVAN_NO_SKIP=1` a skip is a failure that names what is missing."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUITE = """
    import pytest

    def test_needs_stockfish():
        pytest.skip("stockfish is not installed")

    @pytest.mark.skipif(True, reason="graphviz is not installed")
    def test_needs_graphviz(): ...

    @pytest.mark.xfail(reason="known", strict=True)
    def test_known_failure():
        assert False
"""
NETS = """
    import pytest

    @pytest.mark.skipif(True, reason="SYLVAN_NETS does not name a folder")
    def test_needs_networks(): ...

    def test_needs_a_network():
        pytest.skip("SYLVAN_NETS does not say where networks are")
"""
MODULE = """
    import pytest
    pytest.importorskip("no_such_module")
"""


@pytest.fixture
def suite(pytester):
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(test_suite=SUITE, test_module=MODULE)
    return pytester


@pytest.mark.slow
def test_skips_are_skips_by_default(suite, monkeypatch):
    monkeypatch.delenv("SYLVAN_NO_SKIP", raising=False)
    suite.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(skipped=3, xfailed=1)


@pytest.mark.slow
def test_skips_are_failures_where_asked(suite, monkeypatch):
    monkeypatch.setenv("SYLVAN_NO_SKIP", "1")
    run = suite.runpytest_subprocess("-p", "no:cacheprovider", "--continue-on-collection-errors")
    run.assert_outcomes(failed=1, errors=2, xfailed=1)  # skipif acts before the call
    run.stdout.fnmatch_lines_random(["*stockfish is not installed*", "*graphviz is not installed*"])
    run.stdout.fnmatch_lines_random(["*no_such_module*"])


@pytest.mark.slow
def test_only_networks_of_others_may_be_missing(suite, monkeypatch):
    monkeypatch.setenv("SYLVAN_NO_SKIP", "1")
    monkeypatch.delenv("SYLVAN_NETS", raising=False)
    suite.makepyfile(test_nets=NETS)
    only = ("-p", "no:cacheprovider", "test_nets.py")
    suite.runpytest_subprocess(*only).assert_outcomes(skipped=2)
    monkeypatch.setenv("SYLVAN_NETS", "/a/folder")
    suite.runpytest_subprocess(*only).assert_outcomes(failed=1, errors=1)
