"""Gumbel search by hand: sequential halving, completed Q, the improved policy, the rule inside.

Danihelka et al. 2022. The noise is handed in, so that every figure can be followed; the formulas
stand here once more in doubles, written from the paper.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan import SearchConfig, reference
from sylvan.reference import gumbel
from tests.planning.bandit import Bandit, improved, sigma
from tests.planning.table_game import TableGame, decide, end, evaluate, nearly, run
from tests.planning.test_formulas import bandits


def visited(bandit, n):
    """The bandit with these visits."""
    after = Bandit(bandit.value, bandit.priors, bandit.worth)
    after.n = list(n)
    return after


def picks(table, noise, **settings):
    """The moves that the root takes, one per simulation; core and reference agree on the tree."""
    taken = []

    def spy(node, search):
        child = gumbel.choose(node, search)
        if node is search.root:
            taken.append(child.action)
        return child

    both = run(table, noise=noise, selection="gumbel", **settings)
    config = SearchConfig(selection="gumbel", proofs=False, prior_bits=32, **settings)
    search = reference.Search(TableGame(table), evaluate, config, rule=spy)
    search.run(noise)
    assert [taken.count(a) for a in range(len(table.after))] == both.visits
    return taken, both


def test_sequential_halving_visits_the_better_half_ever_more():
    """Four of six moves are considered, by noise + logit: 5, 4, 3, 2. Two rounds of all four, then
    the better two share the rest; Q, which is against the noise, decides who they are.

    16 simulations: ⌊16 / (2 × 4)⌋ = 2 rounds, then ⌊16 / (2 × 2)⌋ = 4 rounds of two.
    """
    worth = (0.4, -0.2, 0.3, -0.6, 1.0, 1.0)
    bandit = Bandit(0.0, (1 / 6,) * 6, worth)
    noise = [5.0, 3.0, 4.0, 2.0, -9.0, -9.0]
    taken, both = picks(bandit.table(), noise, simulations=16, max_considered=4)
    assert sorted(taken[:4]) == sorted(taken[4:8]) == [0, 1, 2, 3]
    assert sorted(taken[8:]) == [0] * 4 + [2] * 4
    assert both.visits == [6, 2, 6, 2, 0, 0]
    assert both.fast.best == 0  # ties in visits go to noise + logit + sigma


def test_noise_chooses_what_is_considered_and_without_it_the_priors_do():
    bandit = Bandit(0.0, (0.4, 0.3, 0.2, 0.1), (0.0,) * 4)
    _, both = picks(bandit.table(), [0.0, 0.0, 2.0, 4.0], simulations=4, max_considered=2)
    assert both.visits == [0, 0, 2, 2]
    plain = run(bandit.table(), selection="gumbel", simulations=4, max_considered=2, gumbel_scale=0)
    assert plain.visits == [2, 2, 0, 0]


def test_the_target_is_the_improved_policy_of_completed_values():
    """P = 0.5, 0.3, 0.2; v = 0.1; one visit each to the first two, which are worth 0.2 and -0.1.

        v_mix      = (0.1 + 2 × (0.5 × 0.2 - 0.3 × 0.1) / 0.8) / 3 = 0.0917
        scaled     = 1, 0, (0.0917 + 0.1) / 0.3 = 0.639
        sigma      = (50 + 1) × 0.1 × scaled    = 5.1, 0, 3.258
        ln P + …   = 4.407, -1.204, 1.649
        softmax    = 0.937, 0.0034, 0.0594

    Completing with v alone would give the third 0.068, with the plain mean of Q 0.040, and
    counting visits as the target 1/2, 1/2, 0.
    """
    bandit = Bandit(0.1, (0.5, 0.3, 0.2), (0.2, -0.1, 0.9))
    _, both = picks(bandit.table(), [0.0, 0.0, -9.0], simulations=2, max_considered=2)
    assert both.visits == [1, 1, 0]
    assert nearly(both.policy, [0.93714, 0.00343, 0.05943], 1e-5)
    assert nearly(both.policy, improved(visited(bandit, [1, 1, 0])))


@pytest.mark.parametrize("visits_first", [0.0, 50.0])
def test_sigma_grows_with_the_most_visited_move(visits_first):
    """Eight simulations of two moves: factor (c_visit + 4) × c_scale, at c_scale = 0.25."""
    bandit = Bandit(0.0, (0.5, 0.5), (0.1, -0.1))
    scale = {"c_visit": visits_first, "c_scale": 0.25}
    _, both = picks(bandit.table(), [0.0, 0.0], simulations=8, **scale)
    assert both.visits == [4, 4]
    odds = math.exp((visits_first + 4) * 0.25)
    assert nearly(both.policy, [odds / (1 + odds), 1 / (1 + odds)])


def test_inside_the_visits_follow_the_improved_policy():
    """P = 0.6, 0.4; worth -0.5, 0.5; v = 0. At first pi' = P: the first move. Then v_mix = -0.25,
    scaled 0 and 1, sigma 0 and 5.1: pi' = 0.009, 0.991, and the second move lags behind its share
    from then on. Taking the most likely move without its share of visits would do the same here, so
    with c_scale = 0 the visits are also held against P itself: 6 and 4 of 10.
    """
    bandit = Bandit(0.0, (0.6, 0.4), (-0.5, 0.5))
    above = decide(0, 0.0, (1.0, bandit.table()))
    inside = run(above, selection="gumbel", simulations=9).slow.root.children[0]
    assert [edge.N for edge in inside.children.values()] == [1, 7]
    even = run(above, selection="gumbel", simulations=11, c_scale=0).slow.root.children[0]
    assert [edge.N for edge in even.children.values()] == [6, 4]


def test_noise_is_at_the_root_alone():
    """Below, the rule is deterministic: any noise above gives the same visits there."""
    bandit = Bandit(0.0, (0.6, 0.4), (-0.5, 0.5))
    above = decide(0, 0.0, (1.0, bandit.table()))
    trees = []
    for noise in ([0.0], [7.0], [-7.0]):
        root = run(above, noise=noise, selection="gumbel", simulations=30).slow.root
        trees.append([edge.N for edge in root.children[0].children.values()])
    assert trees[0] == trees[1] == trees[2]


def inside_by_hand(bandit, steps):
    """The argmax of pi' - n / (1 + sum n); stops where rounding may decide."""
    b = visited(bandit, [0] * len(bandit.priors))
    for _ in range(steps):
        share = [n / (1 + sum(b.n)) for n in b.n]
        keys = [
            (p - s, b.priors[a], -a)
            for a, (p, s) in enumerate(zip(improved(b), share, strict=True))
        ]
        *_, second, best = [(-9.0, 0.0, 0), *sorted(keys)]
        if best[0] - second[0] < 1e-5:
            break
        b.n[-best[2]] += 1
    return b.n


@given(bandit=bandits(), seat=st.integers(0, 1))
def test_the_rule_inside_is_the_formula_in_doubles(bandit, seat):
    expected = inside_by_hand(bandit, 25)
    above = decide(seat, 0.0, (1.0, bandit.table(seat)))
    both = run(above, selection="gumbel", simulations=1 + sum(expected))
    assert [edge.N for edge in both.slow.root.children[0].children.values()] == expected


@given(
    bandit=bandits(),
    considered=st.integers(1, 8),
    simulations=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_the_rule_at_the_root_is_the_formula_in_doubles(bandit, considered, simulations, seed):
    """Among the moves with the scheduled visits the best of noise + ln P + sigma."""
    noise = np.random.default_rng(seed).gumbel(size=len(bandit.priors)).tolist()
    b = visited(bandit, [0] * len(bandit.priors))
    considered = min(considered, len(bandit.priors))
    for count in gumbel.schedule(considered, simulations):
        scores = [g + math.log(p) + s for g, p, s in zip(noise, b.priors, sigma(b), strict=True)]
        best = max((a for a, n in enumerate(b.n) if n == count), key=lambda a: scores[a])
        b.n[best] += 1
    both = run(
        bandit.table(),
        noise=noise,
        selection="gumbel",
        simulations=simulations,
        max_considered=considered,
    )
    assert both.visits == b.n
    assert nearly(both.policy, improved(b), 1e-5)


def test_the_answer_is_a_survivor_of_the_halving():
    """The best move was not considered, and the one with the highest Q of those tried wins."""
    bandit = Bandit(0.0, (0.25,) * 4, (-0.3, 0.2, 0.9, 0.1))
    _, both = picks(bandit.table(), [3.0, 2.0, -9.0, 1.0], simulations=20, max_considered=3)
    assert both.fast.best == 1
    assert both.visits[2] == 0


def test_seats_see_their_own_values():
    """The same game for seat 1, with all values turned, gives the same visits."""
    bandit = Bandit(0.3, (0.5, 0.3, 0.2), (0.2, -0.1, 0.6))
    noise = [0.3, 0.1, 0.0]
    first = run(bandit.table(0), noise=noise, selection="gumbel", simulations=20)
    second = run(bandit.table(1), noise=noise, selection="gumbel", simulations=20)
    assert first.visits == second.visits
    assert first.policy == second.policy


def test_a_proven_loss_is_passed_over():
    """The move with the largest noise loses at once; the schedule goes on with the others."""
    table = decide(0, 0.0, (0.5, end(-1)), *[(0.25, decide(1, 0.0, (1.0, end(0))))] * 2)
    both = run(table, noise=[9.0, 0.0, 0.0], selection="gumbel", simulations=8, proofs=True)
    assert both.visits[0] == 1
    assert both.policy[0] == 0.0
    assert both.fast.best in (1, 2)
