"""The choice of the final move: lower confidence bounds, shortest wins."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Search, SearchConfig, reference
from sylvan.errors import ConfigError
from tests.planning.random_games import Shape, evaluate, evaluate_leaves, make
from tests.planning.test_equality import run_both

few = settings(suppress_health_check=list(HealthCheck))


def visited(visits, values, **settings):
    """A root whose first edges have these visits and values, by the reference."""
    game = make(Shape(seed=11, branching=7, zero_sum=True))
    search = reference.Search(game, evaluate, SearchConfig(simulations=0, **settings))
    search.run()
    edges = list(search.root.children.values())
    assert len(edges) >= len(visits) and search.root.seat == 0
    for child, n, q in zip(edges, visits, values, strict=False):
        child.N, child.tried, child.W = n, True, [n * q, -n * q]
    return [child.action for child in edges].index(reference.best(search))


@pytest.mark.parametrize(("lcb", "best"), [(0.5, 1), (2.0, 0)])
def test_a_good_value_beats_more_visits_only_if_it_is_sure(lcb, best):
    """N = 100, 12; Q = 0.2, 0.4:

    lcb   0.2 - lcb sqrt(0.96 / 100)   0.4 - lcb sqrt(0.84 / 12)
    0.5   0.151                        0.268
    2.0   0.004                        -0.129
    """
    assert visited((100, 12), (0.2, 0.4), lcb=lcb) == best
    assert visited((100, 12), (0.2, 0.4)) == 0, "by visits"


@pytest.mark.parametrize(("visits", "best"), [(9, 0), (10, 1)])
def test_edges_with_less_than_a_tenth_of_the_most_visits_do_not_take_part(visits, best):
    assert visited((100, visits), (0.0, 0.9), lcb=0.1) == best


@few
@given(
    seed=st.integers(0, 2**40),
    depth=st.integers(2, 7),
    chance=st.sampled_from([0.0, 0.2]),
    transpositions=st.booleans(),
    simulations=st.integers(20, 600),
    moves=st.integers(0, 3),
)
def test_the_shortest_proven_win(seed, depth, chance, transpositions, simulations, moves):
    """Among the root's edges that reach the proven result, no line to the end is shorter."""
    shape = Shape(seed=seed, depth=depth, branching=3, chance=chance, stop=0.2, alternate=True)
    config = SearchConfig(
        simulations=simulations, shortest_win=True, transpositions=transpositions, c_puct=4.0
    )
    run_both(make(shape), config, moves)
    result = Search(evaluate_leaves, config).run(make(shape))
    root = result.tree.root
    if transpositions or root.proven is None or root.proven[root.seat] == 0:
        return
    value = root.proven[root.seat]
    edges = [edge for edge in root.edges if edge.N and edge.proven == value]
    lengths = {edge.action: plies(edge.child) for edge in edges}
    known = [n for n in lengths.values() if n is not None]
    if known:
        assert lengths[result.best] == (min(known) if value > 0 else max(known))


def plies(node):
    """Plies to the end along the proven line, as the principal variation counts them."""
    line = node.line if node.proven is not None else None
    for action in line or ():
        node = node.edge(action).child
    return len(line) if line is not None and node is not None and node.kind == "terminal" else None


@pytest.mark.parametrize("other", [{"selection": "gumbel"}, {"value_range": "siblings"}])
def test_lower_bounds_need_visits_and_a_scale(other):
    with pytest.raises(ConfigError, match="lcb"):
        SearchConfig(lcb=1.0, **other)
