"""Every reachable position of tic-tac-toe against its minimax value."""

from functools import cache

import pytest

from sylvan import Forest, SearchConfig, SearchResult
from sylvan.evaluators import evaluator_named
from sylvan.games import TicTacToe
from tests.planning import exact

RULES = {
    "puct": SearchConfig(selection="puct"),
    "puct that explores, in flight": SearchConfig(c_puct=4.0, leaves_in_flight=8),
    "puct that grows": SearchConfig(c_base=100.0, c_factor=2.0, fpu="loss"),
    "uct": SearchConfig(selection="uct"),
    "gumbel": SearchConfig(selection="gumbel", c_scale=0.01),
}
MEMO: exact.Memo = {}


@cache
def positions() -> list[TicTacToe]:
    """All positions in which somebody can move."""
    return [state for state in exact.reachable(TicTacToe()) if not state.is_terminal()]


def search(states: list[TicTacToe], evaluator: str, config: SearchConfig) -> list[SearchResult]:
    forest = Forest(states, config)
    forest.run(evaluator_named(evaluator))
    return forest.results()


def value(state: TicTacToe) -> exact.Values:
    return exact.solve(state, memo=MEMO)


def keeps_the_value(result: SearchResult) -> bool:
    return result.best in exact.best_actions(result.game, memo=MEMO)


def search_until_right(evaluator: str, config: SearchConfig) -> list[SearchResult]:
    """Search every position; where the move loses value, again with ten times the simulations.

    Returns the first search of every position. Fails if 100 times were not enough.
    """
    first = results = search(positions(), evaluator, config)
    for factor in (10, 100):
        wrong = [result.game for result in results if not keeps_the_value(result)]
        if not wrong:
            return first
        more = config.replace(simulations=factor * config.simulations)
        results = search(wrong, evaluator, more)
    assert all(map(keeps_the_value, results)), "more simulations did not help"
    return first


def test_enumeration_knows_tic_tac_toe():
    """5,478 positions, of which 958 are finished, is the count of the literature."""
    states = list(exact.reachable(TicTacToe()))
    assert (len(states), len(positions())) == (5478, 5478 - 958)
    assert value(TicTacToe()) == (0.0, 0.0)
    assert value(TicTacToe([0, 1])) == (1.0, -1.0)
    assert exact.best_actions(TicTacToe([0]), memo=MEMO) == {4}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("rule", RULES)
def test_every_position_is_played_right_and_proofs_equal_minimax(rule, seed):
    evaluator = ("uniform", "rollout")[seed]
    config = RULES[rule].replace(simulations=3000, seed=seed)
    for result in search_until_right(evaluator, config):
        if len(result.game.legal_actions()) <= 5:
            assert result.stopped_by == "proven", str(result.game)
        if result.stopped_by == "proven":
            assert result.values == value(result.game), str(result.game)
            assert keeps_the_value(result)
            support = set(result.policy.nonzero()[0].tolist())
            assert support <= exact.best_actions(result.game, memo=MEMO)


@pytest.mark.slow
@pytest.mark.parametrize("evaluator", ["uniform", "rollout"])
@pytest.mark.parametrize("rule", ["puct", "uct"])
def test_every_position_is_played_right_without_proofs(rule, evaluator):
    results = search_until_right(evaluator, RULES[rule].replace(simulations=300, proofs=False))
    assert {result.stopped_by for result in results} == {"simulations"}


@pytest.mark.parametrize("rule", RULES)
def test_every_bound_in_the_tree_holds_the_minimax_value(rule):
    """Also below the root, and also where the root itself is not proven yet."""
    some = positions()[::40]
    found = 0
    for result in search(some, "rollout", RULES[rule].replace(simulations=150)):
        waiting = [result.tree.root]
        while waiting:
            node = waiting.pop()
            steps = exact.action_values(node.state, memo=MEMO) if node.seat is not None else {}
            for edge in node.edges:
                if edge.bounds is not None:
                    low, high = edge.bounds
                    assert low <= steps[edge.action][node.seat] <= high
                    found += 1
                if edge.child is not None:
                    waiting.append(edge.child)
    assert found > 300
