"""What the engine does while a search runs."""

from sylvan.engines.uci.commands import read_go
from sylvan.engines.uci.deliberation import Deliberation
from sylvan.engines.uci.options import Options
from sylvan.games import Chess
from sylvan.planning import Search, SearchResult, Status


def test_a_result_is_built_for_info_lines_only(monkeypatch):
    lines, built = [], []
    game, search = Chess(), Search("material", simulations=200)
    search.run(game)
    own = SearchResult.__init__

    def count(*args):
        built.append(True)
        own(*args)

    monkeypatch.setattr(SearchResult, "__init__", count)
    go = read_go(["wtime", "600000", "btime", "600000"])
    check = Deliberation(game, go, Options(), lines.append).watch(search)
    for _ in range(20):
        assert check(Status(200, None, 0.1, None))
    assert len(lines) == len(built) == 1 and lines[0].startswith("info depth")
