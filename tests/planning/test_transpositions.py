"""Transpositions: one node per position. The reference against exact values and against its own
rules; the core against the reference.
"""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import sylvan
from sylvan import Search, SearchConfig, reference
from sylvan.errors import ConfigError, GameContractError
from sylvan.games import Chess, ConnectFour
from sylvan.planning import BulkForest
from sylvan.reference import graph
from sylvan.views.dot import to_dot
from sylvan.views.schema import validate
from sylvan.views.snapshot import snapshot
from tests.planning.random_games import Shape, evaluate, evaluate_leaves, make, nearly
from tests.planning.settings import configs
from tests.planning.test_equality import compare, run_both

ANY = settings(suppress_health_check=list(HealthCheck))


@st.composite
def meeting(draw, **given):
    """Games in which many lines meet."""
    players = draw(st.integers(1, 3))
    drawn = Shape(
        seed=draw(st.integers(0, 2**40)),
        num_players=players,
        depth=draw(st.integers(2, 12)),
        branching=draw(st.sampled_from([2, 3, 5])),
        stop=draw(st.sampled_from([0.0, 0.05, 0.3])),
        zero_sum=players == 2 and draw(st.booleans()),
        graded=draw(st.booleans()),
        rewards=draw(st.booleans()),
        chance=draw(st.sampled_from([0.0, 0.0, 0.2])),
        alternate=draw(st.booleans()),
        width=draw(st.sampled_from([2, 4, 8, 30])),
    )
    return replace(drawn, **given)


def searched(game, config):
    slow = reference.Search(game, evaluate, config)
    slow.run()
    return slow


def exact(game, discount=1.0, known=None):
    """The values of a position per seat, by backward induction over distinct positions."""
    known = {} if known is None else known
    key = game.position_key(0)
    if key in known:
        return known[key]
    if game.is_terminal():
        return list(game.returns())
    steps = []
    moves = game.chance_outcomes() if game.is_chance() else [(a, 1) for a in game.legal_actions()]
    for action, weight in moves:
        after = game.clone()
        after.apply(action)
        pairs = zip(after.rewards(), exact(after, discount, known), strict=True)
        steps.append((weight, [r + discount * v for r, v in pairs]))
    if game.is_chance():
        known[key] = [sum(w * v[s] for w, v in steps) for s in range(game.num_players)]
    else:
        known[key] = max((v for _, v in steps), key=lambda values: values[game.to_play()])
    return known[key]


@ANY
@given(shape=meeting(), discount=st.sampled_from([1.0, 0.9]), simulations=st.integers(0, 300))
def test_every_visit_counts_once_and_values_come_from_the_edges(shape, discount, simulations):
    config = SearchConfig(
        simulations=simulations, discount=discount, transpositions=True, proofs=False, prior_bits=32
    )
    slow = searched(make(shape), config)
    into = {}
    nodes = graph.positions(slow.root)
    assert len(nodes) == slow.nodes
    for node in nodes:
        tried = [edge for edge in node.children.values() if edge.tried]
        for edge in tried:
            into.setdefault(id(edge.at), []).append(edge)
        own = 1 if node.kind == "decision" else 0
        if node.kind != "terminal":
            assert node.N == own + sum(edge.N for edge in tried)
    for node in nodes:
        if node is not slow.root:
            assert node.N == sum(edge.N for edge in into[id(node)])
    # W of the root: its own evaluation, and W of each edge.
    [(_, own)] = evaluate([make(shape)])
    total = [float(np.float32(v)) for v in own]
    for edge in slow.root.children.values():
        for seat, (w, r) in enumerate(zip(edge.W, edge.reward, strict=True)):
            total[seat] += edge.N * r + discount * w
    assert all(map(nearly, total, slow.root.W))


@ANY
@given(shape=meeting(), simulations=st.integers(0, 200))
def test_a_shared_edge_is_worth_its_visits_times_the_value_of_the_position(shape, simulations):
    config = SearchConfig(simulations=simulations, transpositions=True, proofs=False)
    slow = searched(make(shape), config)
    for node in graph.positions(slow.root):
        for edge in node.children.values():
            if edge.shared is not None and edge.N:
                position = edge.shared
                now = [edge.N * (w / position.N) for w in position.W]
                assert graph.worth(edge, slow) == now


@ANY
@given(shape=meeting(), simulations=st.integers(10, 300), seed=st.integers(0, 99))
def test_an_edge_is_as_many_visits_old_as_its_node_has_edges_at_most(shape, simulations, seed):
    """So many backups through a node bring all its edges up to date, whoever changed them."""
    config = SearchConfig(simulations=simulations, transpositions=True, proofs=False, seed=seed)
    slow = searched(make(shape), config)
    for node in graph.positions(slow.root):
        tried = [edge for edge in node.children.values() if edge.tried]
        for _ in tried:
            graph.refresh(node, slow)
            node.N += 1
        for edge in tried:
            assert edge.W == graph.worth(edge, slow)


@ANY
@given(shape=meeting(num_players=2, zero_sum=True, rewards=False), simulations=st.integers(1, 400))
def test_proofs_equal_the_exact_values(shape, simulations):
    game = make(replace(shape, graded=False))
    slow = searched(game, SearchConfig(simulations=simulations, transpositions=True))
    value = exact(game)[0]
    low, high = slow.root.bounds
    assert low <= value <= high or (game.shape.chance and low - 1 < value < high + 1)


@ANY
@given(shape=meeting(num_players=2, zero_sum=True, rewards=False, chance=0.0))
def test_it_proves_what_a_graph_this_small_holds(shape):
    """Every position needs a visit or two, however many lines lead to it, if all are tried."""
    game = make(replace(shape, graded=False, width=3, depth=6))
    slow = searched(game, SearchConfig(simulations=800, transpositions=True, c_puct=50.0))
    assert slow.root.proven is not None
    assert slow.root.proven[0] == exact(game)[0]


@ANY
@given(shape=meeting(num_players=2, zero_sum=True, chance=0.0))
@example(shape=Shape(seed=110_166_565, branching=5, graded=True, stop=0.0))
def test_values_converge_without_proofs(shape):
    """Priors are nearly equal: PUCT tries an edge late if its prior is small."""
    game = make(replace(shape, width=3, depth=6, alternate=True))
    config = SearchConfig(
        simulations=12_000, transpositions=True, proofs=False, policy_temperature=10.0
    )
    result = Search(evaluate_leaves, config).run(game)
    low, high = game.value_range
    assert abs(result.value - exact(game)[game.to_play()]) < 0.05 * (high - low)


@ANY
@given(shape=meeting(width=0), simulations=st.integers(0, 200))
def test_without_meeting_lines_it_is_the_search_of_a_tree(shape, simulations):
    config = SearchConfig(simulations=simulations)
    tree, shared = (searched(make(shape), config.replace(transpositions=t)) for t in (False, True))
    stack = [(tree.root, shared.root)]
    while stack:
        a, b = stack.pop()
        assert b.shared is None
        assert (a.N, a.W, a.bounds, a.exact) == (b.N, b.W, b.bounds, b.exact)
        stack += zip(a.children.values(), b.children.values(), strict=True)


def test_a_graph_needs_fewer_nodes():
    game = make(Shape(seed=3, depth=8, branching=4, width=5, stop=0.0))
    tree, shared = (
        searched(game, SearchConfig(simulations=400, transpositions=t, proofs=False))
        for t in (False, True)
    )
    assert shared.nodes <= 1 + 8 * 5 < tree.nodes


def liar(actions):
    """A game whose key is the same in two positions with other moves."""
    game = make(Shape(seed=3, depth=4, branching=4, width=0, stop=0.0))

    class Liar(type(game)):
        def key(self):
            return b"same"

        def legal_actions(self):
            return actions[self.last] if self.ply == 1 else super().legal_actions()

    return Liar(game.shape, game.hash)


def test_a_key_that_lies_is_reported_with_both_states():
    game = liar([[a % 3, 5] for a in range(7)])
    with pytest.raises(GameContractError, match=r"\[\d\].*\[\d\]"):
        searched(game, SearchConfig(simulations=50, transpositions=True))


@pytest.mark.parametrize(
    "other", [{"selection": "gumbel"}, {"widening": 1.0}, {"rave": 5.0}, {"horizon": 3}]
)
def test_settings_that_need_a_tree_are_refused(other):
    with pytest.raises(ConfigError, match=next(iter(other))):
        SearchConfig(transpositions=True, **other)


def test_the_exact_values_of_these_tests_are_exact():
    game = make(Shape(seed=5, depth=3, branching=2, stop=0.0, alternate=True))

    def value(state):
        if state.is_terminal():
            return state.returns()[0]
        values = []
        for action in state.legal_actions():
            after = state.clone()
            after.apply(action)
            values.append(value(after))
        return (max, min)[state.to_play()](values)

    assert math.isclose(exact(game)[0], value(game))


# --- the core ------------------------------------------------------------------------------------


@st.composite
def graph_configs(draw, simulations):
    """Any settings that go with transpositions."""
    config = draw(configs(simulations))
    tree = {"widening": None, "rave": 0.0, "horizon": None}
    selection = "puct" if config.selection == "gumbel" else config.selection
    return config.replace(selection=selection, **tree).replace(transpositions=True)


# A game in which W of a shared edge of the root is not up to date after 30 simulations.
STALE = Shape(seed=403, num_players=1, depth=8, branching=5, zero_sum=False, stop=0.0, width=2)
BY_BOUND = SearchConfig(simulations=30, transpositions=True, lcb=0.5, proofs=False)


@settings(max_examples=3 * settings.default.max_examples, suppress_health_check=list(HealthCheck))
@given(shape=meeting(), config=graph_configs(st.integers(0, 400)), moves=st.integers(0, 3))
@example(shape=STALE, config=BY_BOUND, moves=0)
def test_core_equals_reference(shape, config, moves):
    run_both(make(shape), config, moves)


QUEENING = "4k3/8/8/8/8/8/PP6/4K2R w - - 0 1"
KNIGHT = "8/5k2/4p3/8/4P3/3K1N2/8/8 w - - 0 1"
BLOCKED = "k7/8/8/p1p1p1p1/P1P1P1P1/8/8/K7 w - - 0 1"  # only the kings move


def evaluate_chess(states):
    """Logits and values that depend on the position alone."""
    answers = []
    for state in states:
        rng = np.random.default_rng(state.zobrist % 2**32)
        logits = rng.integers(-6, 7, len(state.legal_actions())) / 3
        value = float(rng.integers(-20, 21)) / 20
        answers.append((logits.tolist(), [value, -value]))
    return answers


def evaluate_chess_leaves(leaves):
    answers = evaluate_chess(leaves.states)
    logits = np.array([x for row, _ in answers for x in row], np.float32)
    return logits, np.array([values for _, values in answers], np.float32)


@pytest.mark.parametrize("repetitions", [2, 3])
@pytest.mark.parametrize("in_flight", [1, 4])
def test_core_equals_reference_where_lines_repeat_positions(repetitions, in_flight):
    game = Chess(BLOCKED, repetitions=repetitions)
    config = SearchConfig(simulations=2500, transpositions=True, leaves_in_flight=in_flight)
    slow, fast = (
        reference.Search(game, evaluate_chess, config),
        Search(evaluate_chess_leaves, config),
    )
    for state in (game, None):
        slow.run()
        result = fast.run(state)
        assert (result.nodes, result.depth) == (slow.nodes, slow.depth)
        assert [
            edge.N for edge in sorted(result.tree.root.edges, key=lambda edge: edge.action)
        ] == [child.N for _, child in sorted(slow.root.children.items())]
        compare(slow.root, result.tree.root, most=3)
        edges = [c for node in graph.positions(slow.root) for c in node.children.values()]
        assert any(edge.repeats for edge in edges)
        assert all(node.kind != "terminal" for node in graph.positions(slow.root))
        slow.advance(result.best)
        fast.advance(result.best)


def test_a_repetition_proves_nothing():
    game = Chess(BLOCKED, repetitions=2)
    config = SearchConfig(simulations=2500, transpositions=True)
    slow = reference.Search(game, evaluate_chess, config)
    slow.run()
    assert all(node.bounds == (-1.0, 1.0) for node in graph.positions(slow.root))


@pytest.mark.parametrize("seed", [4, 19, 26, 29])
def test_a_kept_graph_goes_on_when_played_moves_repeat_positions(seed):
    """A draw by positions before the root depends on the moves that were played meanwhile."""
    rng = random.Random(seed)
    state = Chess(["8/2k5/3p4/8/3P4/2K5/8/8 w - - 0 1", QUEENING, KNIGHT][seed % 3])
    forest = BulkForest([state], simulations=300, transpositions=True)
    for _ in range(60):
        forest.run("material")
        best = int(forest.outcomes().best[0])
        action = best if rng.random() < 0.5 else rng.choice(state.legal_actions())
        state.apply(action)
        if state.is_terminal():
            break
        forest.play([action])


@pytest.mark.parametrize("in_flight", [1, 8])
def test_a_full_graph_drops_its_least_visited_parts(in_flight):
    settings = {"evaluator": "hash_random", "simulations": 60_000, "transpositions": True}
    found = [
        sylvan.search(ConnectFour(), bytes=2**20, leaves_in_flight=in_flight, seed=seed, **settings)
        for seed in (0, 0)
    ]
    for result in found:
        assert result.stopped_by == "simulations" and result.bytes <= 2**20 * (1 + 1 / 32)
        assert sum(edge.N for edge in result.tree.root.edges) == 60_000
    one, two = ([edge.N for edge in result.tree.root.edges] for result in found)
    assert one == two


def test_threads_do_not_change_a_graph():
    games = [ConnectFour(moves) for moves in ("", "4", "44", "445")]
    visits = []
    for threads in (1, 3):
        forest = sylvan.Forest(games, simulations=2000, transpositions=True, threads=threads)
        forest.run("hash_random")
        visits.append([[edge.N for edge in r.tree.root.edges] for r in forest.results()])
    assert visits[0] == visits[1]


def test_the_core_reports_a_key_that_lies_with_both_lines():
    game = liar([[a % 3, 5] for a in range(7)])
    with pytest.raises(GameContractError, match=r"equal keys .* \[\d.*\], and after \[\d.*\]"):
        Search(evaluate_leaves, simulations=50, transpositions=True).run(game)


def test_a_game_without_keys_is_searched_as_a_tree():
    class Nameless(type(make(Shape(seed=3)))):
        def key(self):
            return None

    shape = Shape(seed=3, depth=8, branching=4, width=5, stop=0.0)
    plain, nameless = (
        Search(evaluate_leaves, simulations=200, transpositions=t).run(
            kind(shape, make(shape).hash)
        )
        for kind, t in ((type(make(shape)), False), (Nameless, True))
    )
    assert plain.nodes == nameless.nodes


def test_views_draw_a_shared_position_once():
    config = SearchConfig(simulations=300, transpositions=True, proofs=False)
    game = make(Shape(seed=3, depth=8, branching=4, width=5, stop=0.0))
    result = Search(evaluate_leaves, config).run(game)
    rows = snapshot(result, visits=1)["nodes"]
    again = [row for row in rows if "same_as" in row]
    assert again and validate(snapshot(result, visits=1))
    parents = {row["parent"] for row in rows}
    for row in again:
        first = rows[row["same_as"]]
        assert row["id"] not in parents and "same_as" not in first
        assert row["depth"] == first["depth"] and row["values"] == first["values"]
    assert len(rows) - len(again) == result.nodes
    dot = to_dot(result, visits=1)
    assert dot.count("fillcolor") == result.nodes


def test_fine_70_is_solved():
    """Kb1 is the only winning move; a tree does not find it in 14 million simulations."""
    game = Chess("8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1")
    result = sylvan.search(game, evaluator="material", simulations=200_000, transpositions=True)
    assert result.best_label == "Kb1"


def test_a_line_that_repeats_has_no_edges_at_its_end():
    """The position may have some: other lines go on there."""
    game = Chess(BLOCKED, repetitions=2)
    result = sylvan.search(game, evaluator="material", simulations=3000, transpositions=True)
    node = result.tree.root
    for label in ("Kb1", "Kb8", "Ka1", "Ka8"):
        edge = next(edge for edge in node.edges if edge.label == label)
        assert edge.child is not None
        node = edge.child
    assert node.N and not node.edges
