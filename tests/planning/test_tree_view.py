"""Views of a tree: read when asked for, named as the papers name them, true in every number."""

import gc
import math
import weakref

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sylvan
from sylvan import Search, _native
from sylvan.errors import SearchStateError
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.planning import NodeView, TreeView
from tests.planning.random_games import Shape, evaluate_leaves, make, nearly
from tests.planning.settings import configs

few = settings(suppress_health_check=list(HealthCheck))


def walk(node):
    yield node
    for edge in node.edges:
        if edge.child is not None:
            yield from walk(edge.child)


@few
@given(
    seed=st.integers(0, 2**32),
    players=st.integers(1, 3),
    rewards=st.booleans(),
    chance=st.sampled_from([0.0, 0.3]),
    config=configs(st.integers(0, 120)),
)
def test_every_number_of_every_node(seed, players, rewards, chance, config):
    shape = Shape(
        seed=seed, num_players=players, zero_sum=players == 2, rewards=rewards, chance=chance
    )
    result = Search(evaluate_leaves, config).run(make(shape))
    nodes = list(walk(result.tree.root))
    assert len(nodes) == result.nodes
    for node in nodes:
        state = node.state
        deep = config.horizon is not None and len(node.path) >= config.horizon
        closed = deep and kind_of(state) == "decision"
        assert node.kind == ("leaf" if closed else kind_of(state))
        assert node.seat == (state.to_play() if node.kind == "decision" else None)
        assert len(node.W) == len(node.values) == players
        if node.proven is None:
            assert all(nearly(v * node.N, w) for v, w in zip(node.values, node.W, strict=True))
        edges = {edge.action: edge for edge in node.edges}
        if node.kind == "chance":
            outcomes = dict(state.chance_outcomes())
            assert {a: edge.P for a, edge in edges.items()} == pytest.approx(outcomes, abs=1e-6)
        elif closed:
            assert not edges
        else:
            best = result.best if not node.path else None
            if not any(edge.bounds for edge in node.edges):  # see test_best_first.py for proofs
                by_visits = sorted(edges, key=lambda a: (a != best, -edges[a].N, -edges[a].P, a))
                assert list(edges) == by_visits
            assert set(edges) == set(state.legal_actions())
        for edge in node.edges:
            check_edge(node, edge, config)


def plies_to_end(node):
    """How long a proven win or loss takes if the winner hurries and the loser delays."""
    if node.proven is None or node.kind == "leaf":
        return None
    if node.kind == "terminal":
        return 0
    value = 0.0 if node.seat is None else node.proven[node.seat]
    behind = [plies_to_end(e.child) for e in node.edges if e.N and e.proven == value != 0.0]
    known = [plies for plies in behind if plies is not None]
    if not known or (value < 0 and len(known) < len(node.edges)):
        return None
    return 1 + (min(known) if value > 0 else max(known))


@few
@given(
    seed=st.integers(0, 2**32),
    alternate=st.booleans(),
    chance=st.sampled_from([0.0, 0.2]),
    simulations=st.integers(0, 400),
)
def test_lines_of_proven_nodes_are_as_long_as_the_proof(seed, alternate, chance, simulations):
    game = make(Shape(seed=seed, alternate=alternate, chance=chance, stop=0.3))
    result = Search(evaluate_leaves, simulations=simulations).run(game)
    for node in walk(result.tree.root):
        plies, end = plies_to_end(node), node.state.clone()
        for action in node.line:
            end.apply(action)
        if plies is not None and node.proven[0] != 0:
            assert len(node.line) == plies and end.is_terminal()
            assert tuple(end.returns()) == node.proven
        for edge in node.edges:
            assert edge.line == ([edge.action, *edge.child.line] if edge.N else [edge.action])


def test_the_line_of_the_best_edge_is_the_principal_variation():
    result = sylvan.search(Chess(), simulations=2000)
    assert result.tree.root.edge(result.best).line == result.pv and len(result.pv) > 3


def kind_of(state):
    if state.is_terminal():
        return "terminal"
    return "chance" if state.is_chance() else "decision"


def check_edge(node, edge, config):
    assert (edge.child is None) == (edge.N == 0) == math.isnan(edge.Q)
    assert edge.label == node.state.action_to_string(edge.action)
    if edge.child is None:
        return
    child = edge.child
    assert child.N == edge.N and child.path == (*node.path, edge.action)
    if node.kind == "decision":
        reward = child.state.rewards()[node.seat]
        worth = edge.N * reward + config.discount * child.W[node.seat]
        assert nearly(edge.W, worth) and nearly(edge.Q * edge.N, edge.W)
        if edge.proven is not None:
            exact = reward + config.discount * child.proven[node.seat]
            assert nearly(edge.proven, exact)


def test_priors_add_up():
    """To 1 at the root; below, priors are kept in 8 bits, within 2.4 % each."""
    result = sylvan.search(Chess(), evaluator="material", simulations=400, proofs=False)
    for node in walk(result.tree.root):
        if node.kind == "decision":
            total = sum(edge.P for edge in node.edges)
            assert total == pytest.approx(1, abs=1e-5 if node.path == () else 0.024)


def test_nodes_are_read_when_asked_for_and_once():
    result = sylvan.search(ConnectFour(), simulations=500)
    reads = []
    source = result.tree

    def read(path):
        reads.append(path)
        return source.read(path)

    tree = TreeView(read, source.game, source.is_current, source.line)
    root = tree.root
    assert reads == []
    assert root.N == 501 and len(root.edges) == 7 and root.W
    assert reads == [()]
    child = root.edges[0].child
    assert reads == [()] and child.path == (root.edges[0].action,)
    assert child.N == root.edges[0].N
    assert root.edges[0].child.N == child.N and tree.root.N == 501
    assert reads == [(), child.path]


def test_states_of_nodes():
    result = sylvan.search(ConnectFour("44"), simulations=200)
    node = result.tree.root
    for action in result.pv[:3]:
        node = node.edge(action).child
    expected = ConnectFour("44")
    for action in result.pv[:3]:
        expected.apply(action)
    assert node.state == expected
    assert result.tree.root.state == ConnectFour("44")


def test_labels_are_those_of_the_game():
    assert {e.label for e in sylvan.search(Chess(), simulations=1).tree.root.edges} >= {"e4", "Nf3"}
    columns = sylvan.search(ConnectFour(), simulations=1).tree.root.edges
    assert sorted(edge.label for edge in columns) == list("1234567")


def test_proven_edges_show_their_bounds():
    result = sylvan.search(TicTacToe([0, 3, 1, 4]), simulations=1000, evaluator="uniform")
    edge = result.tree.root.edge(2)
    assert edge.bounds == (1.0, 1.0) and edge.proven == 1.0 and edge.child.kind == "terminal"
    assert result.tree.root.proven == (1.0, -1.0)
    off = sylvan.search(TicTacToe([0, 3, 1, 4]), simulations=500, proofs=False, evaluator="uniform")
    assert off.tree.root.proven is None
    assert all(e.bounds is None and e.proven is None for e in off.tree.root.edges)


def test_noise_shows_in_the_priors_of_the_root_alone():
    plain, noisy = (
        sylvan.search(ConnectFour(), simulations=100, noise=noise, evaluator="uniform")
        for noise in (False, True)
    )
    assert {round(e.P, 5) for e in plain.tree.root.edges} == {round(1 / 7, 5)}
    assert len({round(e.P, 5) for e in noisy.tree.root.edges}) == 7
    below = noisy.tree.root.edges[0].child
    assert len({e.P for e in below.edges}) == 1


@pytest.mark.parametrize("change", ["run", "advance", "plant", "update"])
def test_a_tree_that_changed_is_not_read(change):
    search = Search("hash_random", simulations=50)
    result = search.run(ConnectFour())
    unread = result.tree.root.edges[0].child
    read = result.tree.root.edges[1].child
    before = read.N
    if change == "run":
        search.run()
    elif change == "advance":
        search.advance(result.best)
    elif change == "plant":
        search._forest.plant(0, ConnectFour("1"))
    else:
        search._forest.begin()
        search._forest.update([[0.0] * 7], [0.0]) if search._forest.select() else None
    assert read.N == before, "what was read stays"
    with pytest.raises(SearchStateError, match="moved on"):
        _ = unread.N
    assert repr(result.tree.root).startswith("<node decision N=51")


def test_a_node_that_the_tree_does_not_have():
    result = sylvan.search(ConnectFour(), simulations=0)
    with pytest.raises(SearchStateError, match=r"\[3\]"):
        _ = NodeView(result.tree, (3,)).N


@pytest.mark.parametrize("kind", ["leaf", "decision", "chance", "terminal"])
def test_statistics_can_be_made_in_python(kind):
    edge = _native.EdgeStats(3, N=2**40, W=-0.5, P=0.1, bounds=(-1.0, 1.0), available=7)
    assert (edge.action, edge.N, edge.W, edge.P) == (3, 2**40, -0.5, 0.1)
    assert (edge.bounds, edge.available) == ((-1.0, 1.0), 7)
    node = _native.NodeStats(kind, seat=1, N=5, W=[1.0, -1.0], proven=None, edges=(edge,))
    assert (node.kind, node.seat, node.N, node.W) == (kind, 1, 5, [1.0, -1.0])
    assert node.proven is None and node.edges == (edge,)


def test_statistics_of_an_unknown_kind_are_refused():
    with pytest.raises(ValueError, match=r"kind is .other."):
        _native.NodeStats("other", 0, 0, [], None, ())


def test_they_print():
    root = sylvan.search(TicTacToe(), simulations=30).tree.root
    assert repr(root).startswith("<node decision N=31 ") and "edges=9" in repr(root)
    assert repr(root.edges[0]).startswith(f"<edge {root.edges[0].label} N=")


def test_nobody_waits_for_the_garbage_collector():
    """Views are read, walked and dropped: the forest goes with them, and so does its memory."""
    gc.disable()
    try:
        forest = sylvan.Forest([TicTacToe()], simulations=50)
        forest.begin()
        forest.run("uniform")
        result = forest.result()
        assert sum(edge.N for edge in result.tree.root.edges) == 50
        assert result.tree.root.edges[0].child.edges[0].label and result.pv_labels
        gone = weakref.ref(forest)
        del forest, result
        assert gone() is None
    finally:
        gc.enable()
