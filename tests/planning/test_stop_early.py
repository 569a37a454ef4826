"""Stopping early: the same choice for fewer simulations."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sylvan
from sylvan import Forest, Search, SearchConfig
from sylvan.errors import ConfigError
from sylvan.evaluators import HashRandom
from sylvan.games import Blob, Chess, ConnectFour
from tests.planning.random_games import evaluate_leaves, make
from tests.planning.test_equality import run_both, shapes
from tests.planning.twins import skewed

few = settings(suppress_health_check=list(HealthCheck))


@few
@given(
    shape=shapes(),
    simulations=st.integers(0, 400),
    in_flight=st.sampled_from([1, 2, 8]),
    collisions=st.sampled_from([None, 0, 5]),
    selection=st.sampled_from(["puct", "uct"]),
)
def test_the_choice_is_that_of_the_whole_search(
    shape, simulations, in_flight, collisions, selection
):
    """Without proofs, always."""
    config = SearchConfig(
        simulations=simulations,
        leaves_in_flight=in_flight,
        collisions=collisions,
        selection=selection,
        proofs=False,
    )
    whole = Search(evaluate_leaves, config).run(make(shape))
    early = Search(evaluate_leaves, config.replace(stop_early=True)).run(make(shape))
    assert early.best == whole.best and early.simulations <= whole.simulations
    assert early.simulations == simulations or early.stopped_by == "decided"


@pytest.mark.parametrize("simulations", [50, 200, 1000])
def test_it_stops_at_the_first_moment_and_not_before(simulations):
    """The first edge leads by more than the simulations that are left."""

    def lead(result):
        first, second = (edge.N for edge in result.tree.root.edges[:2])
        return first - second

    game, material = Chess("k7/8/8/8/8/3q4/4P3/K7 w - - 0 1"), "material"
    early = sylvan.search(game, simulations=simulations, evaluator=material, stop_early=True)
    assert early.stopped_by == "decided" and early.simulations < simulations
    assert lead(early) > simulations - early.simulations
    before = sylvan.search(game, simulations=early.simulations - 1, evaluator=material)
    assert lead(before) <= simulations - before.simulations


def test_an_only_move_takes_no_simulation():
    forced = Chess("k7/8/8/8/8/8/1q6/K7 w - - 0 1")
    [move] = forced.legal_actions()
    found = sylvan.search(forced, simulations=300, evaluator="uniform", stop_early=True)
    assert (found.simulations, found.stopped_by, found.best) == (0, "decided", move)
    assert found.tree.root.N == 1


@few
@given(
    shape=shapes(),
    simulations=st.integers(0, 400),
    in_flight=st.sampled_from([1, 3, 8]),
    transpositions=st.booleans(),
    moves=st.integers(0, 3),
)
def test_the_core_equals_the_reference(shape, simulations, in_flight, transpositions, moves):
    config = SearchConfig(
        simulations=simulations,
        stop_early=True,
        leaves_in_flight=in_flight,
        transpositions=transpositions,
    )
    run_both(make(shape), config, moves)


def test_every_tree_stops_on_its_own():
    states = [ConnectFour(moves) for moves in ("", "4", "44", "4453")]
    config = SearchConfig(simulations=200, stop_early=True, leaves_in_flight=4)
    for threads in (1, 3):
        forest = Forest(states, config.replace(threads=threads))
        forest.run(skewed)
        alone = [Search(skewed, config).run(state) for state in states]
        for one, other in zip(forest.results(), alone, strict=True):
            assert (one.simulations, one.best) == (other.simulations, other.best)


def test_a_deadline_leaves_as_many_simulations_as_fit_at_the_speed_so_far():
    """One move has nearly all of the prior, so half of a minute is enough, at any speed."""

    def evaluate(leaves):
        logits = np.zeros(len(leaves.actions), np.float32)
        logits[leaves.offsets[:-1]] = 20.0
        return logits, np.zeros(len(leaves), np.float32)

    config = SearchConfig(simulations=None, seconds=0.5, stop_early=True)
    found = Search(evaluate, config).run(Chess())
    assert found.stopped_by == "decided" and found.simulations > 1


def test_hidden_cards_do_not_stop_early():
    game = Blob(players=3, cards=2, seed=1)
    view = game.observe(game.to_play())
    for hidden in ("information_set", "determinised"):
        config = SearchConfig(simulations=64, deals=8, hidden=hidden, stop_early=True)
        assert Search(HashRandom(), config).run(view).stopped_by == "simulations"


@pytest.mark.parametrize("other", [{"selection": "gumbel"}, {"temperature": 1.0}])
def test_settings_that_need_the_whole_search(other):
    with pytest.raises(ConfigError, match="stop_early"):
        SearchConfig(stop_early=True, **other)
