"""PUCT and UCT by hand, on the core and on the reference, against the mistakes of the literature.

Every example is small enough for pencil and paper, and its docstring has the figures. Where a known
mistake is at stake the same example is played by the mistaken formula, which must choose otherwise:
a test that the mistake would pass is no test of it.
"""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.bandit import FPU, Bandit, play, puct, uct
from tests.planning.table_game import TableGame, decide, end, order, run


def number(x):
    """First-play urgency as a number."""
    return lambda b: x


def test_the_denominator_is_outside_the_root():
    """P = 0.78, 0.22; all Q = 0; c = 1: the first move three times, then the second.

        N   P0 √N / (1 + n0)        P1 √N
        1   0.78                    0.22
        2   0.78 × 1.414 / 2 = 0.55   0.31
        3   0.78 × 1.732 / 3 = 0.45   0.38
        4   0.78 × 2 / 4     = 0.39   0.44

    With √(N / (1 + n)) the first would stay at 0.78 until N = 13.
    """
    bandit = Bandit(0.0, (0.78, 0.22), (0.0, 0.0))

    def inside(b, a):
        return b.priors[a] * math.sqrt(b.visits / (1 + b.n[a]))

    assert order(bandit.table(), 4, c_puct=1, fpu="zero") == [0, 0, 0, 1]
    assert play(bandit, 4, inside) == [0, 0, 0, 0]


@pytest.mark.parametrize(("fpu", "second"), [(0.15, 0), (0.18, 1)])
def test_a_node_counts_its_own_evaluation_and_no_more(fpu, second):
    """P = 0.6, 0.4; Q0 = 0.3; c = 1. At the second choice N = 2:

        first    0.3 + 0.6 × 1.414 / 2 = 0.724
        second   fpu + 0.4 × 1.414     = fpu + 0.566

    so the second wins from fpu = 0.159 on. Without the root's own visit N = 1, and it would win
    only from 0.2 on; with one visit too many N = 3, and it would win from 0.127 on; and with
    W / (N + 1) for Q from 0.009 on.
    """
    bandit = Bandit(0.0, (0.6, 0.4), (0.3, 0.0))
    assert order(bandit.table(), 2, c_puct=1, fpu=fpu) == [0, second]

    def shifted(by):
        def score(b, a):
            q = b.worth[a] if b.n[a] else fpu
            return q + b.priors[a] * math.sqrt(b.visits + by) / (1 + b.n[a])

        return score

    def halved(b, a):
        q = b.worth[a] * b.n[a] / (1 + b.n[a]) if b.n[a] else fpu
        return q + b.priors[a] * math.sqrt(b.visits) / (1 + b.n[a])

    if second == 1:
        assert play(bandit, 2, shifted(-1)) == [0, 0]
    else:
        assert play(bandit, 2, shifted(+1)) == [0, 1]
        assert play(bandit, 2, halved) == [0, 1]


def test_the_first_simulation_follows_the_priors():
    """With N = 0 all scores would be equal, and the lowest index would come first."""
    bandit = Bandit(0.0, (0.1, 0.2, 0.4, 0.3), (0.0,) * 4)
    assert order(bandit.table(), 1) == [2]


@pytest.mark.parametrize(
    ("fpu", "factor", "second", "ignored"),
    [(-0.03, 1.0, 1, 0), (-0.2, 2.0, 1, 0), (-0.04, 1.0, 0, 0)],
)
def test_exploration_grows_with_the_logarithm(fpu, factor, second, ignored):
    """P = 0.6, 0.4; Q0 = 0.3; c_puct = 1, c_base = 1. At the second choice N = 2, so
    c = 1 + factor × ln((1 + 2 + 1) / 1) = 1 + 1.386 factor:

        factor 1   0.3 + 2.386 × 0.424 = 1.312   against   fpu + 2.386 × 0.566 = fpu + 1.350
        factor 2   0.3 + 3.773 × 0.424 = 1.901   against   fpu + 2.134

    so the second wins from -0.037 on, or -0.233. Without growth it would need 0.159, with
    ln((N + base) / base) = ln 3 it would need 0.003.
    """
    bandit = Bandit(0.0, (0.6, 0.4), (0.3, 0.0))
    grown = {"c_base": 1.0, "c_factor": factor}
    assert order(bandit.table(), 2, c_puct=1, fpu=fpu, **grown) == [0, second]
    assert play(bandit, 2, puct(1.0, number(fpu))) == [0, ignored]
    assert order(bandit.table(), 2, c_puct=1, fpu=fpu) == [0, ignored]

    def without_one(b, a):
        c = 1 + factor * math.log(b.visits + 1)
        q = b.worth[a] if b.n[a] else fpu
        return q + c * b.priors[a] * math.sqrt(b.visits) / (1 + b.n[a])

    assert play(bandit, 2, without_one) == [0, 0]


@pytest.mark.parametrize("where", ["root", "inside"])
@pytest.mark.parametrize(
    ("fpu", "value", "worth", "second"),
    [
        # N = 2: the first has worth + 0.424, the second fpu + 0.566.
        ("parent", 0.3, 0.5, 1),  # mean 0.4: 0.966 against 0.924; the raw 0.3 would lose
        ("parent", 0.5, 0.7, 1),  # mean 0.6: 1.166 against 1.124
        ("reduction", 0.4, 0.3, 0),  # 0.35 - 0.3 √0.6 = 0.118: 0.683 against 0.724
        ("reduction", 0.7, 0.3, 1),  # 0.5 - 0.232: 0.833 against 0.724
        ("zero", 0.4, 0.3, 0),  # 0.566 against 0.724: the node's value has no part in it
        ("zero", -0.4, 0.1, 1),  # 0.566 against 0.524
        ("loss", 0.9, -0.7, 0),  # -0.434 against -0.276
        ("loss", 0.9, -0.9, 1),  # -0.434 against -0.476
        (0.2, 0.4, 0.3, 1),  # 0.766 against 0.724
        (0.1, 0.4, 0.3, 0),  # 0.666 against 0.724
    ],
)
def test_first_play_urgency_is_what_its_rule_says(where, fpu, value, worth, second):
    """At the root and inside, each by its own setting; the other one has another rule."""
    bandit = Bandit(value, (0.6, 0.4), (worth, 0.0))
    other = "loss" if fpu != "loss" else "parent"
    if where == "root":
        assert order(bandit.table(), 2, c_puct=1, fpu=other, fpu_root=fpu) == [0, second]
        return
    above = decide(0, 0.0, (1.0, bandit.table()))
    counts = []
    for simulations in (2, 3):  # the first one evaluates the bandit itself
        both = run(above, simulations=simulations, c_puct=1, fpu=fpu, fpu_root=other)
        counts.append([edge.N for edge in both.slow.root.children[0].children.values()])
    assert counts == [[1, 0], [2, 0] if second == 0 else [1, 1]]


@pytest.mark.parametrize("where", ["root", "inside"])
def test_the_reduction_takes_the_root_of_the_mass_tried(where):
    """0.35 - 0.3 × 0.6 would be 0.17 and win: 0.736 against 0.724. The root has its own amount."""
    bandit = Bandit(0.4, (0.6, 0.4), (0.3, 0.0))
    wrong = puct(1.0, lambda b: b.mean - 0.3 * b.mass)
    assert play(bandit, 2, wrong) == [0, 1]
    amount = {"fpu_reduction": 5.0, "fpu_root_reduction": 0.3}
    if where == "root":
        assert order(bandit.table(), 2, c_puct=1, fpu="reduction", **amount) == [0, 0]
        assert order(bandit.table(), 2, c_puct=1, fpu="reduction", fpu_reduction=0.1) == [0, 1]
        return
    above = decide(0, 0.0, (1.0, bandit.table()))
    amount = {"fpu_reduction": 0.1, "fpu_root_reduction": 5.0}
    inside = run(above, simulations=3, c_puct=1, fpu="reduction", **amount).slow.root.children[0]
    assert [edge.N for edge in inside.children.values()] == [1, 1]


def test_ties_go_to_the_higher_prior_then_to_the_lower_index():
    """With c = 0 and no knowledge all scores are equal for ever."""
    table = Bandit(0.0, (0.2, 0.3, 0.3, 0.2), (0.0,) * 4).table()
    assert order(table, 5, c_puct=0, fpu="zero") == [1] * 5
    table = Bandit(0.0, (0.25,) * 4, (0.0,) * 4).table()
    assert order(table, 6, c_puct=1, fpu="zero") == [0, 1, 2, 3, 0, 1]


def one_seat(value, priors, worth, value_range):
    """A bandit whose values lie in another range."""
    moves = [(p, end(q, 0.0)) for p, q in zip(priors, worth, strict=True)]
    moves = [(p, replace(after, values=after.values[:1])) for p, after in moves]
    table = replace(decide(0, (value, 0.0), *moves), values=(value,))
    return TableGame(table, num_players=1, value_range=value_range)


def test_known_values_are_scaled_to_the_range_of_the_constants():
    """In a game of 0 … 1 a worth of 0.65 is 0.3 on the scale -1 … 1: the example of the counts.

    Unscaled the first would have 0.65 + 0.424 = 1.074, and 0.18 + 0.566 would lose.
    """
    game = one_seat(0.5, (0.6, 0.4), (0.65, 0.0), (0.0, 1.0))
    assert order(game, 2, c_puct=1, fpu=0.18) == [0, 1]
    assert order(game, 2, c_puct=1, fpu=0.15) == [0, 0]
    assert order(game, 2, c_puct=1, fpu=0.18, value_range=(-1.0, 1.0)) == [0, 0]


def test_an_untried_move_is_not_worth_the_worst_in_a_game_of_zero_to_one():
    """Urgency "zero" is the middle of the range: 0.566 against 0.1 + 0.424 for a worth of 0.55.

    Where 0 is the worst there is, the search would stick to the move tried first: 0.55 + 0.424.
    """
    game = one_seat(0.5, (0.6, 0.4), (0.55, 0.0), (0.0, 1.0))
    assert order(game, 2, c_puct=1, fpu="zero") == [0, 1]
    assert order(game, 4, c_puct=1, fpu="loss") == [0, 0, 0, 0]
    raw = Bandit(0.5, (0.6, 0.4), (0.55, 0.0))
    assert play(raw, 2, puct(1.0, number(0.0))) == [0, 0]


def test_a_range_that_is_not_known_is_learned_over_the_tree():
    """P = 0.8, 0.15, 0.05; worth -90, 10, 12; c = 4. The first is tried and is -90, the second and
    is 10. Then they are 0 and 1 on the scale of what was seen, N = 3:

        0 + 4 × 0.8 × 1.732 / 2 = 2.77   against   1 + 4 × 0.15 × 1.732 / 2 = 1.52

    Without normalisation the second would have 10.5 and the first -87.
    """
    game = one_seat(0.0, (0.8, 0.15, 0.05), (-90.0, 10.0, 12.0), (-math.inf, math.inf))
    assert order(game, 3, c_puct=4, fpu="zero") == [0, 1, 0]
    assert order(game, 3, c_puct=4, fpu="zero", value_range="tree") == [0, 1, 0]
    raw = Bandit(0.0, (0.8, 0.15, 0.05), (-90.0, 10.0, 12.0))
    assert play(raw, 3, puct(4.0, number(0.0))) == [0, 1, 1]


def test_a_range_of_siblings_has_the_node_in_it():
    """The same game: worth -90 and the node's mean, which is above it, make the range, so the first
    move and the untried ones are all at 0, and 4 × 0.8 √N / N leads over 4 × 0.15 √N until N = 6:
    1.31 against 1.47.
    """
    game = one_seat(0.0, (0.8, 0.15, 0.05), (-90.0, 10.0, 12.0), (-math.inf, math.inf))
    assert order(game, 6, c_puct=4, fpu="zero", value_range="siblings") == [0, 0, 0, 0, 0, 1]


def test_the_node_s_own_mean_widens_the_range_of_its_siblings():
    """P = 0.79, 0.21; worth 0 and 0.03; value 1; c = 1. Three times the first, 0.79 √N / N against
    0.21 √N, then the second. Now N = 5, and the mean is (1 + 0.03) / 5 = 0.206:

        first    0            + 0.79 × 2.236 / 4 = 0.442
        second   0.03 / 0.206 + 0.21 × 2.236 / 2 = 0.380

    Among the moves alone the second would be at the top of the range, with 1.235.
    """
    game = one_seat(1.0, (0.79, 0.21), (0.0, 0.03), (-math.inf, math.inf))
    taken = order(game, 5, c_puct=1, fpu="zero", value_range="siblings")
    assert taken == [0, 0, 0, 1, 0]


def test_uct_has_a_logarithm_and_tries_every_move_first():
    """P = 0.2, 0.5, 0.3; Q = 0.5, 0.2, 0; c = 1. Each once, by prior; then Q + √(ln N / n):

        N   first           second          third
        4   0.5 + 1.177     0.2 + 1.177     1.177
        5   0.5 + 0.897     0.2 + 1.269     1.269
        6   0.5 + 0.946     0.2 + 0.946     1.339
        7   0.5 + 0.805     0.2 + 0.986     1.395

    PUCT, which is not UCB1 by another name, would try the second move twice before any other.
    """
    bandit = Bandit(0.0, (0.2, 0.5, 0.3), (0.5, 0.2, 0.0))
    hand = [1, 2, 0, 0, 1, 0, 2]
    assert order(bandit.table(), 7, selection="uct", c_uct=1) == hand
    assert play(bandit, 2, puct(1.0, number(0.0))) == [1, 1]

    def without_own_visit(b, a):
        return (
            uct(1.0)(b, a)
            if b.n[a] == 0
            else b.worth[a] + math.sqrt(math.log(b.visits - 1) / b.n[a])
        )

    long = order(bandit.table(), 40, selection="uct", c_uct=1)
    assert long == play(bandit, 40, uct(1.0))
    assert long != play(bandit, 40, without_own_visit)


@st.composite
def bandits(draw):
    count = draw(st.integers(1, 6))
    weights = draw(st.lists(st.integers(1, 50), min_size=count, max_size=count))
    values = st.integers(-100, 100).map(lambda x: x / 100)
    worth = draw(st.lists(values, min_size=count, max_size=count))
    return Bandit(draw(values), [w / sum(weights) for w in weights], worth)


@given(
    bandit=bandits(),
    seat=st.integers(0, 1),
    c=st.sampled_from([0.3, 1.0, 2.5]),
    base=st.sampled_from([None, 5.0, 19652.0]),
    factor=st.sampled_from([0.5, 2.0]),
    fpu=st.sampled_from(["parent", "reduction", "zero", "loss"]),
)
def test_puct_is_the_formula_in_doubles(bandit, seat, c, base, factor, fpu):
    """Wherever two scores are not so close that single precision decides."""
    expected = play(bandit, 25, puct(c, FPU[fpu], base, factor), gap=1e-5)
    steps = len(expected)
    growth = {"c_base": base, "c_factor": factor}
    both = run(bandit.table(seat), simulations=steps, c_puct=c, fpu=fpu, **growth)
    assert both.visits == [expected.count(a) for a in range(len(bandit.priors))]


@given(bandit=bandits(), seat=st.integers(0, 1), c=st.sampled_from([0.3, 1.4]))
def test_uct_is_the_formula_in_doubles(bandit, seat, c):
    expected = play(bandit, 25, uct(c), gap=1e-5)
    both = run(bandit.table(seat), simulations=len(expected), selection="uct", c_uct=c)
    assert both.visits == [expected.count(a) for a in range(len(bandit.priors))]
