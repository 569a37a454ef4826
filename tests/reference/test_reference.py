"""The specification: short, extensible by rules, and equal to the core on native games."""

import inspect
import math
import zlib
from pathlib import Path

import numpy as np
import pytest

from sylvan import Search, SearchConfig, reference
from sylvan.evaluators import evaluator_named
from sylvan.games import Chess, ConnectFour, TicTacToe
from sylvan.reference import outcome, selection
from tests.planning.random_games import Shape, evaluate, make
from tests.planning.test_equality import compare


def test_it_is_shorter_than_650_lines():
    """Not counted: other sources of states (learned models, hidden information), transpositions,
    stopping early, shortest wins, deviations, options of priors, `__init__.py`, and the functions
    of options that are off by default: RAVE (`mixed`, `update_amaf`), progressive widening
    (`candidates`), forced playouts (`earned_visits`), lower confidence bounds (`best_by_bound`),
    and the horizon (`at_horizon`).
    """
    sources = {"latent.py", "deals.py", "determinised.py"}
    excluded = {"__init__.py", *sources, "graph.py", "decided.py", "endings.py"}
    excluded |= {"deviation.py", "priors.py"}
    files = [
        path for path in Path(reference.__file__).parent.glob("*.py") if path.name not in excluded
    ]
    optional = (
        selection.mixed,
        reference.Search.update_amaf,
        selection.candidates,
        outcome.earned_visits,
        outcome.best_by_bound,
        reference.Search.at_horizon,
    )
    options = sum(len(inspect.getsource(function).splitlines()) for function in optional)
    assert sum(len(path.read_text().splitlines()) for path in files) - options < 650


def test_learned_models_are_listed():
    assert "latent" in reference.__all__ and "`latent`" in reference.__doc__


# --- custom rules --------------------------------------------------------------------------------


def by_prior(node, search):
    """Choose the edge with the highest prior."""
    return max(search.open_edges(node), key=lambda child: (child.prior, -child.index))


def epsilon_greedy(node, search):
    """Choose the best mean, or with probability 1/4 any edge."""
    edges = search.open_edges(node)
    if search.rng.uniform() < 0.25:
        return edges[search.rng.below(len(edges))]
    return max(edges, key=lambda child: float(search.q(node, child)) if child.N else math.inf)


def least_visited(node, search):
    """Breadth first."""
    return min(search.open_edges(node), key=lambda child: child.started)


def run(rule, simulations=200, **shape):
    game = make(Shape(**{"seed": 3, "stop": 0.0, "depth": 30, **shape}))
    search = reference.Search(game, evaluate, SearchConfig(simulations=simulations), rule=rule)
    search.run()
    return search


@pytest.mark.parametrize("rule", [by_prior, epsilon_greedy, least_visited])
def test_a_rule_is_a_function(rule):
    root = run(rule).root
    assert root.N == 201 and sum(child.N for child in root.children.values()) == 200


def test_a_rule_decides_where_visits_go():
    root = run(by_prior, simulations=20).root
    likeliest = max(root.children.values(), key=lambda child: (child.prior, -child.index))
    assert likeliest.N == 20
    even = [child.N for child in run(least_visited, seed=4).root.children.values()]
    assert len(even) > 1 and max(even) - min(even) <= 1
    greedy = run(epsilon_greedy).root.children.values()
    assert max(child.N for child in greedy) > 2 * min(child.N for child in greedy) > 0


def test_a_rule_sees_seats_not_signs():
    """The rule gets Q of the seat to move at each node."""
    seen = set()

    def spy(node, search):
        seen.add(node.seat)
        for child in node.children.values():
            if child.N and child.exact is None:
                expected = np.float32(child.W[node.seat] / child.N)
                assert search.q(node, child) == expected
        return selection.puct(node, search)

    run(spy, num_players=3, zero_sum=False)
    assert seen == {0, 1, 2}


def test_built_in_rules_can_be_passed_as_functions():
    """PUCT, UCT and Gumbel give the same trees as functions and by name."""
    for name, rule in (("puct", selection.puct), ("uct", selection.uct)):
        game = make(Shape(seed=8))
        by_name = reference.Search(game, evaluate, SearchConfig(selection=name))
        by_hand = reference.Search(game, evaluate, SearchConfig(), rule=rule)
        visits = [[c.N for c in search.run().children.values()] for search in (by_name, by_hand)]
        assert visits[0] == visits[1]


# --- native games --------------------------------------------------------------------------------


def evaluate_state(state):
    """Return logits of the legal actions and values per seat, a function of the position with many
    ties.
    """
    digest = zlib.crc32(np.asarray(state.observation()).tobytes())
    rng = np.random.default_rng(digest)
    logits = rng.integers(-6, 7, len(state.legal_actions())) / 3
    value = float(rng.integers(-20, 21)) / 20
    return logits.tolist(), [value, -value]


def evaluate_states(states):
    return [evaluate_state(state) for state in states]


def evaluate_leaves(leaves):
    answers = evaluate_states(leaves.states)
    logits = np.array([x for row, _ in answers for x in row], np.float32)
    return logits, np.array([values for _, values in answers], np.float32)


CONFIGS = {
    "defaults": {},
    "growing exploration": {"c_base": 50.0, "c_factor": 2.0, "fpu": "parent"},
    "noise": {"noise": True, "dirichlet_alpha": 0.3, "temperature": 1.0},
    "uct": {"selection": "uct", "c_uct": 0.7, "fpu": "zero"},
    "gumbel": {"selection": "gumbel", "max_considered": 8},
    "in flight": {"leaves_in_flight": 8, "collisions": 3},
    "learned range": {"value_range": "tree", "discount": 0.97, "proofs": False},
    "transpositions": {"transpositions": True},
    "coarse priors": {"prior_bits": 16, "fpu_root": "loss"},
}
GAMES = {
    "tic-tac-toe": TicTacToe([4]),
    "connect four": ConnectFour("44352"),
    "small board": ConnectFour(columns=4, rows=4),
    "chess": Chess(moves="e4 e5 Bc4 Nc6 Qh5"),
    "chess endgame": Chess("8/8/8/8/7q/5k2/8/6K1 w - - 98 80"),
    "repetition": Chess(moves="Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("settings", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_core_equals_reference_on_native_games(game, settings):
    config = SearchConfig(simulations=150, seed=9, **settings)
    slow, fast = reference.Search(game, evaluate_states, config), Search(evaluate_leaves, config)
    for state in (game, None):
        slow.run()
        result = fast.run(state)
        compare(slow.root, result.tree.root)
        actions = list(slow.root.children)
        np.testing.assert_array_equal(result.policy[actions], reference.policy(slow))
        assert (result.best, result.action) == (reference.best(slow), reference.pick(slow))
        assert (result.stopped_by, result.simulations) == (slow.stopped_by, slow.started)
        after = fast.state
        after.apply(result.best)
        if after.is_terminal():
            break
        slow.advance(result.best)
        fast.advance(result.best)


@pytest.mark.parametrize("evaluator", ["hash_random", "uniform"])
@pytest.mark.parametrize(
    "game", [TicTacToe(), ConnectFour(), Chess()], ids=lambda g: type(g).__name__
)
def test_the_reference_equals_a_run_with_a_native_evaluator(game, evaluator):
    """Record a native evaluator's outputs; with them the reference builds the same tree."""
    config = SearchConfig(simulations=300, seed=4)
    said = {}

    def ask(states):
        return [said[path(state)] for state in states]

    def path(state):
        return np.asarray(state.observation()).tobytes() + bytes([state.to_play()])

    def record(leaves):
        logits, values = native(leaves)
        for i, state in enumerate(leaves.states):
            row = logits[leaves.offsets[i] : leaves.offsets[i + 1]]
            said[path(state)] = (row.tolist(), values[i].tolist())
        return logits, values

    native = evaluator_named(evaluator)
    result = Search(native, config).run(game)
    Search(record, config).run(game)
    slow = reference.Search(game, ask, config)
    slow.run()
    compare(slow.root, result.tree.root)
