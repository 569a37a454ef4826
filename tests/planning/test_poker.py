"""Kuhn and Leduc poker: the search finds the exact best response to fixed opponents."""

import pytest

from sylvan import Search
from tests.planning.poker import BestResponse, information_sets, of_actions, policy_of

pytest.importorskip("pyspiel")
from sylvan.games.open_spiel import from_open_spiel


def searched(name, states, seat, policy, **settings):
    """The result of searching an information set, and the exact values of its actions."""
    game = from_open_spiel(name)
    for action in states[0][1].history():
        game.apply(action)
    view = BestResponse(game, seat, policy).observe(0)
    result = Search("rollout", **settings).run(view)
    weight = sum(weight for weight, _ in states)
    exact = {a: value / weight for a, value in of_actions(states, seat, policy).items()}
    return result, exact


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("seed", [1, 2])
def test_kuhn(seat, seed):
    """In every information set, first or later, of either seat."""
    name, policy = "kuhn_poker", policy_of(seed)
    spiel = from_open_spiel(name).spiel
    for states in information_sets(spiel, seat, policy).values():
        result, exact = searched(name, states, seat, policy, simulations=1500, c_puct=0.7)
        best = max(exact.values())
        assert exact[result.best] == pytest.approx(best, abs=0.05)
        assert result.tree.root.edge(result.best).Q == pytest.approx(best, abs=0.15)


@pytest.mark.slow
def test_leduc():
    """Before the first bet and in the second round."""
    name, policy = "leduc_poker", policy_of(3)
    sets = information_sets(from_open_spiel(name).spiel, 0, policy)
    chosen = [states for key, states in sets.items() if "[Round1: ]" in key][:2]
    chosen += [states for key, states in sets.items() if "[Round 2]" in key][:40:20]
    assert len(chosen) == 4
    for states in chosen:
        result, exact = searched(name, states, 0, policy, simulations=12_000, c_puct=0.3)
        best = max(exact.values())
        assert exact[result.best] == pytest.approx(best, abs=0.01)
        # Means over all simulations, those that try what is worse later included.
        assert -0.45 < result.tree.root.edge(result.best).Q - best < 0.1
