"""Results agree with their tree: policy target, action, value and line."""

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sylvan
from sylvan import Forest, Search
from sylvan.games import Chess, ConnectFour, TicTacToe
from tests.planning.random_games import Shape, evaluate_leaves, make
from tests.planning.settings import configs
from tests.planning.twins import skewed

few = settings(suppress_health_check=list(HealthCheck))


@few
@given(
    seed=st.integers(0, 2**32),
    players=st.integers(1, 4),
    chance=st.sampled_from([0.0, 0.3]),
    config=configs(st.integers(0, 150)),
)
def test_a_result_is_true_to_its_tree(seed, players, chance, config):
    shape = Shape(seed=seed, num_players=players, zero_sum=players == 2, chance=chance)
    result = Search(evaluate_leaves, config).run(make(shape))
    root = result.tree.root
    legal = list(result.game.legal_actions())
    visits = {edge.action: edge.N for edge in root.edges}
    assert set(visits) == set(legal)
    # The target: a distribution over legal actions alone.
    assert result.policy.shape == (result.game.num_actions,) and result.policy.dtype == np.float32
    assert result.policy.sum() == pytest.approx(1, abs=1e-5) and (result.policy >= 0).all()
    assert not np.delete(result.policy, legal).any()
    # The action: legal, part of the target unless the rule is Gumbel's; the best where T is 0.
    assert result.best in legal and result.action in legal
    if config.temperature == 0:
        assert result.action == result.best
    if config.selection != "gumbel":
        assert result.policy[result.action] > 0 and result.policy[result.best] > 0
        eligible = [action for action in legal if result.policy[action] > 0]
        assert visits[result.best] == max(visits[action] for action in eligible)
    # The value, one per seat, and the line.
    assert result.values == root.values and result.value == root.values[root.seat]
    assert len(result.values) == players and all(map(math.isfinite, result.values))
    assert result.pv[0] == result.best
    state = result.game.clone()
    for action in result.pv:
        assert action in state.legal_actions()
        state.apply(action)
    assert len(result.pv_labels) == len(result.pv)


def test_the_target_is_the_visit_distribution_whatever_the_temperature():
    for temperature in (0.0, 1e-3, 1.0, 1e3):
        result = Search(skewed, simulations=60, temperature=temperature, proofs=False).run(
            TicTacToe()
        )
        for edge in result.tree.root.edges:
            assert result.policy[edge.action] == pytest.approx(edge.N / 60)


@pytest.mark.parametrize("temperature", [0.0, 1e-3, 1.0, 1e3])
def test_the_action_follows_the_temperature(temperature):
    """Picked a thousand times: always the best, in proportion to visits, or evenly."""
    forest = Forest([TicTacToe()] * 1000, simulations=40, temperature=temperature, proofs=False)
    forest.run("hash_random")
    results = forest.results()
    best, policy = results[0].best, results[0].policy
    share = 1.0 if temperature < 1 else policy[best] if temperature == 1 else 1 / (policy > 0).sum()
    picked = np.mean([result.action == best for result in results])
    assert picked == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 1000) + 1e-9)
    assert all(policy[result.action] > 0 for result in results)


def test_a_result_outlives_its_search():
    search = Search("hash_random", simulations=50)
    result = search.run(ConnectFour())
    before = (result.policy.copy(), result.pv.copy(), repr(result), result.to_json())
    search.advance(result.best)
    search.run()
    del search
    assert (repr(result), result.to_json()) == before[2:]
    np.testing.assert_array_equal(result.policy, before[0])
    assert result.pv == before[1]


def test_reading_a_result_changes_nothing():
    searches = [
        Search("hash_random", simulations=50, temperature=1.0, noise=True) for _ in range(2)
    ]
    for search in searches:
        search.run(ConnectFour())
    again = [searches[0].result.action for _ in range(5)]
    assert len(set(again)) == 1
    first, second = (search.run().policy.tolist() for search in searches)
    assert first == second


def test_plain_data_is_json():
    result = sylvan.search(Chess(), simulations=30)
    data = json.loads(json.dumps(result.to_json()))
    assert data["best"] == result.best_label and data["best_action"] == result.best
    assert data["stopped_by"] == "simulations" and data["simulations"] == 30
    assert len(data["moves"]) == 20 and len(result.to_json(moves=3)["moves"]) == 3
    assert sum(move["N"] for move in data["moves"]) == 30
    assert all((move["Q"] is None) == (move["N"] == 0) for move in data["moves"])


def test_it_prints():
    result = sylvan.search(TicTacToe([0, 3, 1, 4]), simulations=200, evaluator="uniform")
    assert repr(result).startswith("<SearchResult best=2 value=+1.000 ")
    assert "proven" in str(result) and "  " in str(result)
    assert "<svg" in result._repr_html_()
    assert not [line for line in str(result).splitlines() if len(line) > 100]


@pytest.mark.parametrize("suffix", ["json", "dot", "svg"])
def test_it_is_saved(tmp_path, suffix):
    result = sylvan.search(ConnectFour(), simulations=100)
    path = tmp_path / f"tree.{suffix}"
    result.save(path, depth=2)
    text = path.read_text()
    assert {"json": '"nodes"', "dot": "digraph", "svg": "<svg"}[suffix] in text


def test_a_proven_result_says_so():
    result = sylvan.search(TicTacToe([0, 3, 1, 4]), simulations=10_000, evaluator="uniform")
    assert result.stopped_by == "proven" and result.simulations < 10_000
    assert result.best == 2 and result.values == (1.0, -1.0) and result.value == 1.0
    assert result.policy[2] == 1.0 and result.tree.root.proven == (1.0, -1.0)
    assert result.to_json()["proven"] is True


def test_values_are_for_the_seat_to_move():
    """Whoever can complete a line next has won, seat 0 or 1."""
    for moves, seat in (([0, 3, 1, 4], 0), ([8, 0, 3, 1, 7], 1)):
        result = sylvan.search(TicTacToe(moves), simulations=500, evaluator="uniform")
        assert result.tree.root.seat == seat and result.best in (2, 6)
        assert result.value == result.values[seat] == 1.0 == -result.values[1 - seat]
