"""Leaves in flight: virtual visits by hand, collisions, and that nothing of them stays behind."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Search, SearchConfig, reference
from tests.planning.random_games import Shape, make
from tests.planning.random_games import evaluate as evaluate_random
from tests.planning.random_games import evaluate_leaves as evaluate_random_leaves
from tests.planning.settings import configs
from tests.planning.table_game import TableGame, check_same, decide, end, evaluate, evaluate_leaves
from tests.planning.test_equality import shapes
from tests.planning.test_formulas_counting import check_counts


def batches(table, **settings):
    """The leaves of each batch, as paths of actions; core and reference agree on all of them."""
    config = SearchConfig(**{"proofs": False, "prior_bits": 32, "fpu": "zero", **settings})
    slow_sizes, fast_sizes = [], []

    def spy(states):
        slow_sizes.append([name(state) for state in states])
        return evaluate(states)

    def spy_leaves(leaves):
        fast_sizes.append([name(state) for state in leaves.states])
        return evaluate_leaves(leaves)

    def name(state):
        return names[id(state.table)]

    names, waiting = {id(table): ""}, [table]
    while waiting:
        here = waiting.pop()
        for action, after in enumerate(here.after):
            names[id(after)] = names[id(here)] + str(action)
            waiting.append(after)
    slow = reference.Search(TableGame(table), spy, config)
    slow.run()
    fast = Search(spy_leaves, config).run(TableGame(table))
    check_same(slow, fast)
    assert slow_sizes == fast_sizes
    return slow_sizes


def line(value=0.0, length=3):
    """A position with one move, and so on for some moves; a new object every time."""
    return decide(0, value, (1.0, line(value, length - 1))) if length else end(0)


def test_a_virtual_visit_sends_the_next_walk_elsewhere():
    """P = 0.6, 0.4; c = 1. The root waits alone. Then the first walk takes move 0: N = 2, n0 = 1,
    and before its value is known 0.6 × 1.414 / 2 = 0.42 is less than 0.4 × 1.414 = 0.57.
    """
    table = decide(0, 0.0, (0.6, line()), (0.4, line()))
    settings = {"c_puct": 1, "simulations": 2, "leaves_in_flight": 2}
    assert batches(table, **settings) == [[""], ["0", "1"]]


def test_virtual_visits_do_not_change_q():
    """Move 0 is worth 0.9 and has a visit finished. While a second is under way it stays at 0.9, so
    the next walk takes it again; a virtual loss would make it (0.9 - 1) / 2 and send it away.

    Batch 3: N = 2, n = 1, 0: 0.9 + … leads. N = 3, n0 = 2: 0.9 + 0.5 × 1.73 / 3 = 1.19 against
    0.87: move 0 again, a leaf further down.
    """
    fork = decide(0, 0.9, (0.5, line(0.9)), (0.5, line(0.9)))
    table = decide(0, 0.0, (0.5, fork), (0.5, line()))
    settings = {"c_puct": 1, "simulations": 3, "leaves_in_flight": 2, "collisions": 0}
    assert batches(table, **settings) == [[""], ["0", "1"], ["00"]]
    settings["simulations"] = 4
    assert batches(table, **settings) == [[""], ["0", "1"], ["00", "01"]]


@pytest.mark.parametrize(("collisions", "second"), [(5, ["0"]), (6, ["0", "1"])])
def test_collisions_stay_until_the_batch_closes(collisions, second):
    """P = 0.88, 0.12; c = 1. Move 0 waits for its value; each collision there adds a virtual visit:
    N = 2 + k, n0 = 1 + k: 0.88 / √N against 0.12 √N. The other move wins from N = 8 on, which is
    after six collisions; the batch closes at number `collisions` + 1.
    """
    table = decide(0, 0.0, (0.88, line()), (0.12, line()))
    settings = {"c_puct": 1, "simulations": 2, "leaves_in_flight": 2}
    assert batches(table, **settings, collisions=collisions)[1] == second


def test_a_collision_is_no_simulation():
    """One line of moves: every batch has one leaf, and five simulations are five leaves."""
    table = line(length=8)
    for in_flight in (1, 2, 8):
        found = batches(table, simulations=5, leaves_in_flight=in_flight)
        assert found == [[""], ["0"], ["00"], ["000"], ["0000"], ["00000"]]


def test_a_finished_game_joins_no_batch_and_the_batch_goes_on():
    """Move 0 ends the game and is worth much: walks end there while move 1 waits, until the
    simulations are used up. All of them happen while one leaf is in flight.
    """
    table = decide(0, 0.0, (0.3, end(0.9)), (0.7, line()))
    found = batches(table, c_puct=1, simulations=9, leaves_in_flight=4)
    assert found[:2] == [[""], ["1"]]


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(shape=shapes(), config=configs(st.integers(1, 200)))
def test_nothing_is_in_flight_after_a_search(shape, config):
    """And no batch was larger than it may be, none empty."""
    game, sizes = make(shape), []

    def spy(states):
        sizes.append(len(states))
        return evaluate_random(states)

    search = reference.Search(game, spy, config)
    search.run()
    assert sizes[0] == 1
    assert all(1 <= size <= config.leaves_in_flight for size in sizes)
    waiting = [search.root]
    while waiting:
        node = waiting.pop()
        assert node.in_flight == 0
        assert not node.pending
        waiting += node.children.values()


@pytest.mark.parametrize("rule", ["puct", "uct", "gumbel"])
def test_one_leaf_in_flight_is_a_serial_search(rule):
    """Then collisions cannot happen, and what is allowed of them changes nothing."""
    game = make(Shape(seed=2, depth=9, branching=5))
    results = []
    for collisions in (0, 1, 100):
        config = SearchConfig(
            selection=rule, simulations=200, leaves_in_flight=1, collisions=collisions
        )
        results.append(Search(evaluate_random_leaves, config).run(game))
    assert len({result.tree.root.W for result in results}) == 1
    assert len({tuple(result.policy) for result in results}) == 1


@pytest.mark.parametrize("in_flight", [2, 8, 64])
def test_a_batch_of_many_is_the_same_every_time(in_flight):
    game = make(Shape(seed=4, depth=9, branching=6))
    config = SearchConfig(simulations=300, leaves_in_flight=in_flight, noise=True, seed=9)
    first, second = (Search(evaluate_random_leaves, config).run(game) for _ in range(2))
    assert first.tree.root.W == second.tree.root.W
    assert np.array_equal(first.policy, second.policy)


@pytest.mark.parametrize("fails_at", [1, 2, 7])
def test_an_evaluator_that_fails_leaves_no_virtual_visit_behind(fails_at):
    """The search goes on as if the batch had never been selected."""
    game = make(Shape(seed=4, depth=14, branching=6, stop=0.0))
    calls = 0

    def flaky(leaves):
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise RuntimeError("the network is down")
        return evaluate_random_leaves(leaves)

    search = Search(flaky, simulations=100, leaves_in_flight=8, proofs=False)
    with pytest.raises(RuntimeError, match="down"):
        search.run(game)
    if fails_at > 1:
        check_counts(search.result.tree.root)
        done = search.result.simulations
    else:
        done = 0
    result = search.run()
    check_counts(result.tree.root)
    assert result.simulations == 100
    assert sum(edge.N for edge in result.tree.root.edges) == done + 100
