"""Counts: what a visit is, who has how many, and what a search with none of them answers."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Forest, Search, SearchConfig, reference
from tests.planning.bandit import Bandit
from tests.planning.random_games import Shape, evaluate, evaluate_leaves, make
from tests.planning.settings import configs
from tests.planning.table_game import TableGame, decide, end, nearly, run
from tests.planning.test_equality import shapes

RULES = ["puct", "uct", "gumbel"]
QUIET = settings(suppress_health_check=list(HealthCheck))


def check_counts(node):
    """Every node has its own evaluation and the visits of its edges, no more and no less.

    A node that is proven has also those that ended there because it was.
    """
    below = sum(edge.N for edge in node.edges)
    own = {"decision": 1, "chance": 0}.get(node.kind, node.N)
    assert own + below <= node.N if node.proven else own + below == node.N
    for edge in node.edges:
        if edge.child is not None:
            assert edge.child.N == edge.N
            check_counts(edge.child)


@QUIET
@given(shape=shapes(), config=configs(st.integers(0, 200)), moves=st.integers(0, 2))
def test_visits_add_up_in_every_node(shape, config, moves):
    """Whatever the settings, leaves in flight and collisions included, also after a move."""
    game = make(shape)
    config = config.replace(horizon=None)  # below it a node is evaluated more than once
    search = Search(evaluate_leaves, config)
    result = search.run(game)
    for _ in range(moves):
        check_counts(result.tree.root)
        state = search.state
        state.apply(result.best)
        if state.is_terminal() or state.is_chance():
            return
        search.advance(result.best)
        result = search.run()
    check_counts(result.tree.root)


@pytest.mark.slow
@QUIET
@given(shape=shapes(), config=configs(st.integers(0, 200)))
def test_a_fresh_root_has_one_visit_more_than_there_were_simulations(shape, config):
    game = make(shape)
    config = config.replace(nodes=None, depth=None)
    slow = reference.Search(game, evaluate, config)
    assert slow.root.N == 0
    slow.run()
    result = Search(evaluate_leaves, config).run(game)
    root = result.tree.root
    assert root.N == slow.root.N == result.simulations + 1
    assert sum(edge.N for edge in root.edges) == result.simulations
    if result.stopped_by == "simulations":
        assert result.simulations == config.simulations
    else:
        assert result.stopped_by in ("proven", "decided")
        assert result.simulations <= config.simulations


def test_a_tree_that_was_not_searched_has_no_visits():
    forest = Forest([make(Shape())], simulations=5)
    assert forest.tree().root.N == 0
    forest.begin()
    assert forest.tree().root.N == 0


@pytest.mark.parametrize("rule", RULES)
def test_a_reused_tree_counts_new_simulations(rule):
    game = make(Shape(seed=3, depth=12, branching=5))
    search = Search(evaluate_leaves, selection=rule, simulations=100, proofs=False)
    first = search.run(game)
    known = first.tree.root.edge(first.best).N
    assert known > 1
    search.advance(first.best)
    second = search.run()
    assert second.simulations == 100
    assert sum(edge.N for edge in second.tree.root.edges) == known - 1 + 100
    third = search.run()  # the same root once more
    assert (third.simulations, third.tree.root.N) == (100, known + 200)


@pytest.mark.parametrize("rule", RULES)
def test_several_moves_at_once_are_the_same_as_one_after_another(rule):
    game = make(Shape(seed=8, depth=12, branching=4, alternate=True))
    config = SearchConfig(selection=rule, simulations=200, proofs=False)
    results = []
    for together in (True, False):
        search = Search(evaluate_leaves, config)
        line = search.run(game).pv[:2]
        if together:
            search.advance(*line)
        else:
            search.advance(line[0])
            search.advance(line[1])
        results.append(search.run())
    assert results[0].tree.root.W == results[1].tree.root.W
    assert results[0].policy.tolist() == results[1].policy.tolist()


def test_a_move_that_was_never_tried_starts_a_new_tree():
    table = decide(0, 0.0, (0.999, end(1)), (0.001, decide(1, 0.0, (1.0, end(0)))))
    search = Search("uniform", simulations=5, proofs=False, c_puct=0.0, fpu="loss")
    search.run(TableGame(table))
    search.advance(1)
    result = search.run()
    assert (result.tree.root.N, result.simulations) == (6, 5)


@pytest.mark.parametrize("rule", ["puct", "uct"])
def test_without_simulations_the_policy_is_the_priors(rule):
    """Where visits would have to be divided by none of them."""
    bandit = Bandit(0.3, (0.2, 0.5, 0.3), (0.0, 0.0, 0.0))
    both = run(bandit.table(), simulations=0, selection=rule)
    assert nearly(both.policy, [0.2, 0.5, 0.3])
    assert (both.fast.best, both.visits, both.slow.root.N) == (1, [0, 0, 0], 1)
    assert nearly(both.fast.value, 0.3)


def test_without_simulations_gumbel_improves_nothing():
    bandit = Bandit(0.3, (0.2, 0.5, 0.3), (0.0, 0.0, 0.0))
    both = run(bandit.table(), simulations=0, selection="gumbel", noise=[0.0, 0.0, 2.0])
    assert nearly(both.policy, [0.2, 0.5, 0.3])
    assert both.fast.best == 2  # noise + ln P


@pytest.mark.parametrize("rule", RULES)
def test_one_simulation_visits_one_move(rule):
    bandit = Bandit(0.3, (0.2, 0.5, 0.3), (0.0, 0.0, 0.0))
    both = run(bandit.table(), simulations=1, selection=rule, gumbel_scale=0)
    assert both.visits == [0, 1, 0]
    assert both.slow.root.N == 2
    if rule != "gumbel":
        assert both.policy == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("rule", ["puct", "uct"])
def test_the_target_is_the_share_of_visits(rule):
    bandit = Bandit(0.0, (0.2, 0.5, 0.3), (0.5, 0.2, 0.0))
    both = run(bandit.table(), simulations=64, selection=rule)
    assert both.policy == [n / 64 for n in both.visits]
    assert sum(both.visits) == 64


def test_gumbel_counts_new_visits_on_a_reused_tree():
    """Two moves, ten simulations each time: five more for each, whatever they had before."""
    inner = Bandit(0.0, (0.5, 0.5), (0.3, 0.3)).table()
    table = decide(0, 0.0, (1.0, inner))
    search = Search("uniform", selection="gumbel", simulations=10, gumbel_scale=0, proofs=False)
    result = search.run(TableGame(table))
    before = {edge.action: edge.N for edge in result.tree.root.edge(0).child.edges}
    search.advance(0)
    after = {edge.action: edge.N for edge in search.run().tree.root.edges}
    assert sum(before.values()) == 9
    assert {a: after[a] - before[a] for a in after} == {0: 5, 1: 5}


def test_other_limits_are_named_and_kept():
    game = make(Shape(seed=3, depth=14, branching=5, stop=0.0))
    for limit, reached in (("nodes", "nodes"), ("depth", "depth")):
        result = Search(evaluate_leaves, simulations=5000, proofs=False, **{limit: 5}).run(game)
        assert result.stopped_by == limit
        assert getattr(result, reached) == 5
        assert sum(edge.N for edge in result.tree.root.edges) == result.simulations
