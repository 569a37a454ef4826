"""Reports and early ends while a search runs."""

import pytest

from sylvan.engines.uci.commands import read_go
from sylvan.engines.uci.deliberation import Deliberation
from sylvan.engines.uci.options import Options
from sylvan.games import Chess
from sylvan.planning import Search, SearchResult, Status


@pytest.mark.parametrize("words", [["wtime", "600000", "btime", "600000"], ["mate", "2"]])
def test_a_result_is_built_for_info_lines_only(monkeypatch, words):
    lines, built = [], []
    game, search = Chess(), Search("material", simulations=200)
    search.run(game)
    own = SearchResult.__init__

    def count(*args):
        built.append(True)
        own(*args)

    monkeypatch.setattr(SearchResult, "__init__", count)
    check = Deliberation(game, read_go(words), Options(), lines.append).watch(search)
    for _ in range(20):
        assert check(Status(200, None, 0.1, None))
    assert len(lines) == len(built) == 1 and lines[0].startswith("info depth")


@pytest.mark.parametrize(("moves", "ends"), [(1, False), (2, True), (3, True)])
def test_a_search_for_a_mate_ends_when_it_is_short_enough(moves, ends):
    game, search = (
        Chess("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"),
        Search("material", simulations=50_000),
    )
    search.run(game)
    go = read_go(["mate", str(moves)])
    check = Deliberation(game, go, Options(), lambda _: None).watch(search)
    assert check(Status(50_000, None, 1.0, None)) is not ends
