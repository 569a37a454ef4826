"""Random games of one to four seats, with and without chance, against brute force.

With proofs a root that is small enough is proven, and its values are those of max^n or expectimax.
Without them the mean converges and the most visited action is the best one. The rules here explore
much, so that whole trees are seen within a few thousand simulations.
"""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sylvan import Search, SearchConfig
from tests.planning import exact
from tests.planning.random_games import RandomGame, RewardingGame, Shape

RULES = {
    "puct": SearchConfig(c_puct=50.0),
    "puct in flight": SearchConfig(c_puct=50.0, leaves_in_flight=8),
    "uct": SearchConfig(selection="uct", c_uct=50.0),
    "gumbel": SearchConfig(selection="gumbel", c_scale=0.0),
}
QUIET = settings(suppress_health_check=list(HealthCheck))


class Dyadic:
    """Chance in halves and quarters, so that every expectation is exact in binary."""

    def chance_outcomes(self):
        first = self.draw(20, 3)
        return [(i, 0.5 if i == first else 0.25) for i in range(3)]


class DyadicGame(Dyadic, RandomGame):
    """Without rewards."""


class DyadicRewardingGame(Dyadic, RewardingGame):
    """With rewards in quarters."""


class FineGame(RandomGame):
    """Returns all over the range, so that two actions are hardly ever worth the same."""

    def returns(self):
        values = [2 * self.draw(30 + s, 1009) / 1008 - 1 for s in range(self.num_players)]
        return [values[0], -values[0]] if self.zero_sum else values


def plant(kind: type[RandomGame], shape: Shape) -> RandomGame:
    """A start where a seat is to move; seeds are tried from the shape's own on."""
    game = kind(shape)
    while game.is_terminal() or game.is_chance():
        shape = replace(shape, seed=shape.seed + 1)
        game = kind(shape)
    return game


@st.composite
def shapes(draw, chance=0.0, rewards=st.booleans()):
    players = draw(st.integers(1, 4))
    return Shape(
        seed=draw(st.integers(0, 2**40)),
        num_players=players,
        depth=draw(st.integers(1, 5)),
        branching=draw(st.integers(1, 3)),
        zero_sum=players == 2 and draw(st.booleans()),
        rewards=draw(rewards),
        chance=chance,
        alternate=draw(st.booleans()),
    )


def prove(game: RandomGame, config: SearchConfig, seed: int = 0):
    """Search until the root is proven."""
    result = Search("uniform", config, simulations=200_000, seed=seed).run(game)
    assert result.stopped_by == "proven"
    return result


def is_duel(shape: Shape, discount: float) -> bool:
    """Two seats that play for -1, 0 or 1: proofs are bounds, which chance keeps apart."""
    return shape.zero_sum and not shape.rewards and discount == 1.0


@QUIET
@given(
    shape=shapes(),
    graded=st.booleans(),
    rule=st.sampled_from(sorted(RULES)),
    discount=st.sampled_from([1.0, 0.9, 0.0]),
    seed=st.integers(0, 9),
)
def test_proven_values_are_those_of_max_n(shape, graded, rule, discount, seed):
    """Ties included: the first of the actions that are best for the seat decides for all seats."""
    shape = replace(shape, graded=graded and not is_duel(shape, discount))
    game = plant(RewardingGame if shape.rewards else RandomGame, shape)
    result = prove(game, RULES[rule].replace(discount=discount), seed)
    assert result.values == exact.solve(game, discount)
    assert result.best in exact.best_actions(game, discount)
    assert set(result.policy.nonzero()[0]) <= exact.best_actions(game, discount)


@QUIET
@given(
    shape=shapes(chance=0.4),
    rule=st.sampled_from(sorted(RULES)),
    discount=st.sampled_from([1.0, 0.5]),
    seed=st.integers(0, 9),
)
def test_proven_values_are_those_of_expectimax(shape, rule, discount, seed):
    """Exactly, as all numbers are dyadic; for any number of seats, with rewards and discount."""
    assume(not is_duel(shape, discount))
    game = plant(DyadicRewardingGame if shape.rewards else DyadicGame, shape)
    result = prove(game, RULES[rule].replace(discount=discount), seed)
    assert result.values == exact.solve(game, discount)
    assert result.best in exact.best_actions(game, discount)


@QUIET
@given(shape=shapes(chance=0.4, rewards=st.just(True)), rule=st.sampled_from(sorted(RULES)))
def test_proven_expectations_are_right_for_any_probabilities(shape, rule):
    """To 1e-6, as probabilities are kept in single precision."""
    shape = replace(shape, num_players=1 + shape.num_players % 2)
    shape = replace(shape, zero_sum=shape.num_players == 2)
    game = plant(RewardingGame, shape)
    result = prove(game, RULES[rule])
    assert result.values == pytest.approx(exact.solve(game), abs=1e-6)


@QUIET
@given(shape=shapes(chance=0.4, rewards=st.just(False)), rule=st.sampled_from(sorted(RULES)))
def test_bounds_hold_the_expectation_where_chance_decides_between_win_and_loss(shape, rule):
    game = plant(RandomGame, replace(shape, num_players=2, zero_sum=True))
    result = Search("uniform", RULES[rule], simulations=1000).run(game)
    worth = exact.action_values(game)
    for edge in result.tree.root.edges:
        low, high = edge.bounds or (-1, 1)
        assert low - 1e-9 <= worth[edge.action][game.to_play()] <= high + 1e-9


def margin(state) -> float:
    """How much the best action is worth above the next one, where that is least in the game."""
    if state.is_terminal():
        return 2.0
    actions = state.legal_actions() or [outcome for outcome, _ in state.chance_outcomes()]
    least = 2.0
    for action in actions:
        after = state.clone()
        after.apply(action)
        least = min(least, margin(after))
    if not state.is_chance():
        worth = [values[state.to_play()] for values in exact.action_values(state).values()]
        *_, second, best = [-3.0, *sorted(worth)]
        least = min(least, best - second)
    return least


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["puct", "uct"])
@pytest.mark.parametrize("chance", [0.0, 0.4])
@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_without_proofs_the_mean_converges_and_most_visits_go_to_the_best(players, chance, rule):
    """On games in which no choice is a close one; more simulations where they are needed."""
    config = SearchConfig(selection=rule, c_puct=3.0, proofs=False)
    tested = 0
    for seed in range(1000, 1400):
        shape = Shape(seed, players, depth=3, branching=3, zero_sum=players == 2, chance=chance)
        game = plant(FineGame, shape)
        if margin(game) < 0.2 or len(game.legal_actions()) < 2:
            continue
        value, best = exact.solve(game)[game.to_play()], exact.best_actions(game)
        for simulations in (1_000, 10_000, 100_000):
            result = Search("uniform", config, simulations=simulations, seed=seed).run(game)
            if {result.best} == best and abs(result.value - value) < 0.1:
                break
        assert {result.best} == best
        assert result.value == pytest.approx(value, abs=0.1)
        tested += 1
        if tested == 6:
            return
    pytest.fail("too few games are clear")
