"""`info` lines: the fields that a GUI shows, from results of searches."""

import re

import pytest

from sylvan import Search, _native
from sylvan.engines.uci.report import info_lines
from sylvan.games import Chess

BYTES = 1 << 20


def hashfull(result):
    (line,) = info_lines(result, multipv=1, draws=None, seconds=1.0, tbhits=0)
    return int(re.search(r"hashfull (\d+) ", line)[1])


def test_hashfull_is_the_filled_share_of_the_tree():
    """The tree may use `TREE_SHARE` of the budget; only then it drops subtrees."""
    limit = _native.TREE_SHARE * BYTES
    search = Search("uniform", simulations=500, bytes=BYTES)
    result = search.run(Chess())
    seen = []
    while result.bytes < 0.98 * limit and len(seen) < 200:
        seen.append((result.bytes / limit, hashfull(result)))
        result = search.run()
    assert len(seen) > 5
    for filled, shown in seen:
        assert shown == pytest.approx(1000 * filled, abs=1)


def test_a_full_tree_shows_1000_and_stays_in_its_budget():
    search = Search("uniform", simulations=200_000, bytes=BYTES, proofs=False)
    result = search.run(Chess())
    assert result.bytes <= BYTES
    assert 900 <= hashfull(result) <= 1000
