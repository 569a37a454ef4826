"""The random parts: Dirichlet noise at the root, and the temperature of the picked move."""

import math

import numpy as np
import pytest

from sylvan import Forest, Search, SearchConfig, reference
from sylvan._native import Rng
from tests.planning.bandit import Bandit
from tests.planning.random_games import Shape, make
from tests.planning.random_games import evaluate as evaluate_random
from tests.planning.random_games import evaluate_leaves as evaluate_random_leaves
from tests.planning.table_game import (
    TableGame,
    check_same,
    decide,
    end,
    evaluate,
    evaluate_leaves,
    nearly,
    run,
)

PRIORS = (0.5, 0.3, 0.2)
BANDIT = Bandit(0.0, PRIORS, (0.1, 0.0, 0.05))


def priors(both):
    """P of the root's edges, with whatever noise there is."""
    return [float(child.prior) for child in both.slow.root.children.values()]


# Noise ------------------------------------------------------------------------------------------


def test_there_is_no_noise_unless_it_is_asked_for():
    assert nearly(priors(run(BANDIT.table(), simulations=20)), PRIORS, 1e-7)
    assert SearchConfig().noise is False


def test_a_fraction_of_zero_is_no_noise():
    plain = run(BANDIT.table(), simulations=50)
    none = run(BANDIT.table(), simulations=50, noise=None, dirichlet_fraction=0.0)
    config = {"simulations": 50, "dirichlet_fraction": 0.0}
    mixed = Search(evaluate_leaves, SearchConfig(noise=True, proofs=False, prior_bits=32, **config))
    assert plain.visits == none.visits
    result = mixed.run(TableGame(BANDIT.table()))
    assert [result.tree.root.edge(a).N for a in range(3)] == plain.visits


def noisy(noise=None, table=None, **settings):
    """A search with noise, core and reference alike."""
    config = SearchConfig(**{"noise": True, "proofs": False, "prior_bits": 32, **settings})
    game = TableGame(table or BANDIT.table())
    slow = reference.Search(game, evaluate, config)
    slow.run(noise)
    result = Search(evaluate_leaves, config).run(game, noise=noise)
    check_same(slow, result)
    return [float(child.prior) for child in slow.root.children.values()], result


def test_noise_is_mixed_in_and_not_multiplied():
    """0.75 P + 0.25 η: where η is 0 a prior keeps three quarters, as a factor it would be lost."""
    mixed, _ = noisy([0.0, 0.0, 1.0], simulations=5)
    assert nearly(mixed, [0.375, 0.225, 0.4])
    mixed, _ = noisy([0.1, 0.6, 0.3], simulations=5, dirichlet_fraction=1.0)
    assert nearly(mixed, [0.1, 0.6, 0.3])


@pytest.mark.parametrize("alpha", [0.03, 0.3, 3.0])
def test_noisy_priors_add_up_to_one(alpha):
    """Drawn numbers are normalised: gamma variates as they come would not add up."""
    seen = set()
    for seed in range(20):
        mixed, _ = noisy(simulations=3, seed=seed, dirichlet_alpha=alpha)
        assert nearly(sum(mixed), 1.0)
        assert all(p >= 0.75 * q - 1e-6 for p, q in zip(mixed, PRIORS, strict=True))
        seen.add(tuple(mixed))
    assert len(seen) > 10


def test_noise_is_drawn_once_per_search():
    """The same priors stay in force from the first simulation to the last."""
    drawn = []

    class Spy:
        def __init__(self, rng):
            self.rng = rng

        def dirichlet(self, alpha, n):
            drawn.append(n)
            return self.rng.dirichlet(alpha, n)

    config = SearchConfig(noise=True, simulations=100)
    search = reference.Search(make(Shape(seed=1)), evaluate_random, config)
    search.rng = Spy(search.rng)
    search.run()
    assert drawn == [len(search.root.children)]
    first, _ = noisy(simulations=1, seed=4)
    last, _ = noisy(simulations=300, seed=4)
    assert first == last


def test_noise_is_at_the_root_alone_and_comes_after_its_expansion():
    """The first search has it too, and no node below ever has."""
    inner = Bandit(0.0, (0.7, 0.3), (0.0, 0.0)).table()
    table = decide(0, 0.0, (0.6, inner), (0.4, inner))
    mixed, result = noisy(table=table, simulations=30, seed=1)
    assert not nearly(mixed, [0.6, 0.4], 1e-3)
    for edge in result.tree.root.edges:
        assert nearly(sorted(e.P for e in edge.child.edges), [0.3, 0.7])


def test_a_second_search_mixes_into_the_original_priors():
    """On the same root, and on a node that has become root; noise on noise would drift."""
    inner = Bandit(0.0, (0.7, 0.3), (0.0, 0.0)).table()
    table = decide(0, 0.0, (0.6, inner), (0.4, inner))
    config = SearchConfig(noise=True, simulations=20, proofs=False, prior_bits=32)
    search = Search(evaluate_leaves, config)
    search.run(TableGame(table), noise=[1.0, 0.0])
    again = search.run(noise=[0.0, 1.0]).tree.root
    assert nearly([again.edge(0).P, again.edge(1).P], [0.45, 0.55])
    search.advance(0)
    below = search.run(noise=[0.0, 1.0]).tree.root
    assert nearly([below.edge(0).P, below.edge(1).P], [0.525, 0.475])


def test_trees_of_a_forest_have_noise_of_their_own():
    forest = Forest([make(Shape(seed=1))] * 4, simulations=5, noise=True)
    for leaves in forest:
        forest.update(*evaluate_random_leaves(leaves))
    roots = [tuple(edge.P for edge in result.tree.root.edges) for result in forest.results()]
    assert len(set(roots)) == 4


def test_draws_have_the_moments_of_their_distributions():
    """Dirichlet: mean 1/k, variance (k - 1) / (k² (kα + 1)). Gumbel: mean γ, variance π²/6."""
    rng = Rng(7)
    for alpha, k in ((0.3, 4), (0.03, 10), (5.0, 3)):
        draws = np.array([rng.dirichlet(alpha, k) for _ in range(4000)])
        assert nearly(draws.sum(1), 1.0, 1e-9)
        assert nearly(draws.mean(0), 1 / k, 0.03)
        assert nearly(draws.var(0), (k - 1) / (k**2 * (k * alpha + 1)), 0.01)
    gumbel = np.array(rng.gumbel(40_000))
    assert nearly(gumbel.mean(), 0.57722, 0.03)
    assert nearly(gumbel.var(), math.pi**2 / 6, 0.06)


# Temperature ------------------------------------------------------------------------------------


def shares(temperature, bandit=BANDIT, trees=4000, **settings):
    """How often each move is picked, and the visits it is picked from."""
    config = SearchConfig(**{"proofs": False, "simulations": 50, **settings})
    forest = Forest([TableGame(bandit.table())] * trees, config, temperature=temperature)
    for leaves in forest:
        forest.update(*evaluate_leaves(leaves))
    results = forest.results()
    picked = np.bincount([result.action for result in results], minlength=len(bandit.priors))
    visits = [results[0].tree.root.edge(a).N for a in range(len(bandit.priors))]
    assert all(result.policy.tolist() == results[0].policy.tolist() for result in results[:50])
    return picked / trees, np.array(visits, float), results[0]


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 1e3])
def test_moves_are_picked_in_proportion_to_tempered_visits(temperature):
    """N^(1/T): 1 is the visits themselves, 1e3 nearly uniform."""
    share, visits, _ = shares(temperature)
    weights = visits ** (1 / temperature)
    assert nearly(share, weights / weights.sum(), 0.03)


@pytest.mark.parametrize("temperature", [0.0, 1e-3])
def test_a_temperature_near_zero_takes_the_most_visited_move(temperature):
    """In logarithms nothing underflows: 50 visits to the power of 1000 would."""
    share, visits, _ = shares(temperature, trees=200)
    assert share[visits.argmax()] == 1.0


def test_a_small_temperature_still_tells_close_counts_apart():
    """100 and 99 visits at T = 0.01: 0.99^100 = 0.366, so 73 % and 27 %."""
    even = Bandit(0.0, (0.5, 0.5), (0.0, 0.0))
    share, visits, _ = shares(0.01, even, trees=2000, simulations=199)
    assert visits.tolist() == [100, 99]
    assert nearly(share, [0.732, 0.268], 0.03)


def test_ties_are_shared_at_a_temperature_and_settled_at_zero():
    """Equal visits: by prior, then the lower index, at 0; evenly at any other."""
    even = Bandit(0.0, (0.25,) * 4, (0.0,) * 4)
    share, visits, _ = shares(1e-3, even, simulations=40)
    assert visits.tolist() == [10] * 4
    assert nearly(share, 0.25, 0.03)
    share, _, result = shares(0.0, even, trees=50, simulations=40)
    assert share.tolist() == [1, 0, 0, 0]
    assert result.best == 0
    higher = Bandit(0.0, (0.3, 0.4, 0.3), (0.0,) * 3)
    _, visits, result = shares(0.0, higher, trees=1, simulations=3, selection="uct")
    assert (visits.tolist(), result.best) == ([1, 1, 1], 1)


def test_a_move_without_visits_is_never_picked():
    bandit = Bandit(0.0, (0.98, 0.01, 0.01), (0.9, 0.0, 0.0))
    share, visits, _ = shares(1e3, bandit, trees=500, simulations=5)
    assert visits.tolist() == [5, 0, 0]
    assert share.tolist() == [1, 0, 0]


@pytest.mark.parametrize("rule", ["puct", "uct", "gumbel"])
def test_the_target_does_not_depend_on_the_temperature(rule):
    targets = []
    for temperature in (0.0, 1e-3, 1.0, 1e3):
        both = run(
            BANDIT.table(), simulations=50, selection=rule, temperature=temperature, gumbel_scale=0
        )
        targets.append(both.policy)
        assert (
            both.fast.best
            == run(BANDIT.table(), simulations=50, selection=rule, gumbel_scale=0).fast.best
        )
    assert targets[0] == targets[1] == targets[2] == targets[3]


def test_a_proven_loss_is_never_picked_however_many_visits_it_once_had():
    """The reply that loses is seen late, so the losing move collects visits first."""
    trap = decide(1, 0.9, (0.99, decide(0, 0.9, (1.0, end(1)))), (0.01, end(-1)))
    safe = decide(1, 0.0, (1.0, decide(0, 0.0, (1.0, decide(1, 0.0, (1.0, end(0)))))))
    table = decide(0, 0.0, (0.9, trap), (0.1, safe))
    for simulations in range(2, 60):
        both = run(table, simulations=simulations, proofs=True, temperature=1.0)
        loss = both.slow.root.children[0]
        if loss.bounds[1] == -1.0:
            assert loss.N > both.slow.root.children[1].N
            assert both.policy == [0.0, 1.0]
            assert both.fast.action == both.fast.best == 1
            return
    pytest.fail("the trap was never proven")
