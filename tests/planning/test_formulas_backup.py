"""Values computed by hand: per seat, with rewards, extra turns and finished games.

Nothing flips a sign by depth, so most examples let a seat move twice in a row, or have three seats:
there a rule by parity gives other numbers.
"""

import numpy as np
import pytest

from sylvan import Forest, Search, SearchConfig, reference
from sylvan.errors import GameOver, SearchStateError
from tests.planning import exact
from tests.planning.random_games import Shape, make
from tests.planning.random_games import evaluate as evaluate_random
from tests.planning.random_games import evaluate_leaves as evaluate_random_leaves
from tests.planning.table_game import (
    PayingTableGame,
    TableGame,
    chance,
    decide,
    end,
    evaluate,
    evaluate_leaves,
    logits,
    nearly,
    order,
    run,
)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("replier", [0, 1])
def test_a_move_is_worth_what_it_brings_the_seat_that_makes_it(seat, replier):
    """Two moves, bad and good for `seat`, whoever moves next: 0.25 √N cannot outweigh 1.6.

    Reading the child's value as it is prefers what is good for the opponent; negating it always is
    wrong where the same seat moves again.
    """
    sign = 1 if seat == 0 else -1
    quiet = (1.0, end(0))
    bad, good = (decide(replier, sign * v, quiet) for v in (-0.8, 0.8))
    table = decide(seat, 0.0, (0.5, bad), (0.5, good))
    assert order(table, 3, c_puct=0.5, fpu="zero") == [0, 1, 1]
    root = run(table, simulations=2, c_puct=0.5, fpu="zero").fast.tree.root
    assert nearly([root.edge(0).Q, root.edge(1).Q], [-0.8, 0.8])
    assert run(table, simulations=20, c_puct=0.5).fast.best == 1


def test_values_go_up_the_path_as_they_are_for_each_seat():
    """Seat 0 moves three times in a row, then seat 1: no edge sees a changed sign."""
    last = decide(1, 0.5, (1.0, end(-1)))
    third = decide(0, 0.25, (1.0, last))
    second = decide(0, -0.5, (1.0, third))
    table = decide(0, 0.125, (1.0, second))
    both = run(table, simulations=4)
    leaf_to_root = [0.5 - 1, 0.25 + 0.5 - 1, -0.5 + 0.25 + 0.5 - 1, 0.125 - 0.5 + 0.25 + 0.5 - 1]
    node, sums = both.fast.tree.root, []
    for _ in range(4):
        sums.append(node.W)
        node = node.edges[0].child
    # the fourth simulation ends the game: seat 0 gets -1, seat 1 gets 1
    assert sums[0] == (leaf_to_root[3] + 0.0, -leaf_to_root[3])
    assert sums[1] == (leaf_to_root[2], -leaf_to_root[2])
    assert sums[3] == (leaf_to_root[0], -leaf_to_root[0])


def test_three_seats_each_choose_for_themselves():
    """Seat 0 may ask seat 1, who picks (-0.9, 0.5, 0), or seat 2, who picks (0.3, 0, 0.8).

    One number for all seats, or credit for the leaf's seat alone, cannot see that the second is
    better for seat 0.
    """
    asks_1 = decide(1, (0, 0, 0), (0.5, end(0.9, -0.5, 0)), (0.5, end(-0.9, 0.5, 0)))
    asks_2 = decide(2, (0, 0, 0), (0.5, end(0.3, 0, 0.8)), (0.5, end(0.6, 0, -0.8)))
    table = decide(0, (0, 0, 0), (0.5, asks_1), (0.5, asks_2))
    game = TableGame(table, num_players=3, zero_sum=False)
    assert exact.solve(game) == (0.3, 0.0, 0.8)
    proven = run(game, simulations=100, proofs=True)
    assert proven.fast.values == (0.3, 0.0, 0.8)
    assert (proven.fast.best, proven.fast.stopped_by) == (1, "proven")
    searched = run(game, simulations=3000)
    assert searched.fast.best == 1
    assert nearly(searched.fast.values, (0.3, 0.0, 0.8), 0.1)


def test_every_seat_gets_its_own_sum():
    """Two simulations: (1, 2, 3)/10 and (4, 5, 6)/10 behind the same move, then both are summed."""
    leaf = decide(2, (0.4, 0.5, 0.6), (1.0, end(0, 0, 0)))
    table = decide(0, (0.7, 0.8, 0.9), (1.0, decide(1, (0.1, 0.2, 0.3), (1.0, leaf))))
    both = run(TableGame(table, num_players=3, zero_sum=False), simulations=2)
    root = both.fast.tree.root
    assert nearly(root.W, (1.2, 1.5, 1.8))
    assert nearly(root.edges[0].child.W, (0.5, 0.7, 0.9))


def test_rewards_and_discount_go_up_from_the_leaf():
    """Steps pay 1 and 0.5, the leaf is worth 0.2, discount 0.9, one move everywhere:

        simulation 1   1 + 0.9 × 0.1                  = 1.09
        simulation 2   1 + 0.9 × (0.5 + 0.9 × 0.2)    = 1.612

    Q of the first step is their mean, 1.351; discounting from root to leaf gives other sums.
    """
    leaf = decide(0, (0.2,) * 2, (1.0, end(0, 0))).paying(0.5, 0.0)
    middle = decide(0, (0.1,) * 2, (1.0, leaf)).paying(1.0, 0.0)
    table = decide(0, (0.4,) * 2, (1.0, middle))
    game = PayingTableGame(table, zero_sum=False, value_range=(-9.0, 9.0))
    both = run(game, simulations=2, discount=0.9)
    root = both.fast.tree.root
    assert nearly(root.edges[0].Q, 1.351)
    assert nearly(root.edges[0].child.edges[0].Q, 0.68)
    assert nearly(root.W[0], 0.4 + 1.09 + 1.612)
    assert nearly(root.W[1], 0.4 + 0.9 * 0.1 + 0.9 * 0.9 * 0.2)


def test_a_reward_is_the_step_s_to_give_and_belongs_to_each_seat():
    """Seat 1 moves: the step that pays it 0.5 (seat 0 pays) beats the one that pays seat 0."""
    for seat, best in ((0, 1), (1, 0)):
        pays_1 = decide(1 - seat, 0.0, (1.0, end(0))).paying(-0.5)
        pays_0 = decide(1 - seat, 0.0, (1.0, end(0))).paying(0.5)
        table = decide(seat, 0.0, (0.5, pays_1), (0.5, pays_0))
        both = run(PayingTableGame(table, value_range=(-1.0, 1.0)), simulations=10)
        assert both.fast.best == best
        worth = {edge.action: edge.Q for edge in both.fast.tree.root.edges}
        assert nearly(worth[best], 0.5)
        assert nearly(worth[1 - best], -0.5)


def test_selection_sees_the_reward_of_the_step():
    """Reward 1 and then nothing, against nothing and then 0.5, which has the higher value."""
    now = decide(0, (0.0, 0.0), (1.0, end(0, 0))).paying(1.0, 0.0)
    later = decide(0, (0.5, 0.0), (1.0, end(0.5, 0.0)))
    table = decide(0, (0.0, 0.0), (0.5, now), (0.5, later))
    game = PayingTableGame(table, zero_sum=False)
    assert order(game, 3, c_puct=0.1, fpu="zero") == [0, 0, 0]
    assert run(game, simulations=20, c_puct=0.5).fast.best == 0


def test_a_terminal_position_is_never_evaluated_and_has_its_result():
    """Its evaluation would be 0.9, its result is -1."""
    asked = []

    def spy(states):
        asked.extend(states)
        return evaluate(states)

    table = decide(0, 0.0, (0.9, end(-1)), (0.1, decide(1, 0.5, (1.0, end(1)))))
    search = reference.Search(TableGame(table), spy, SearchConfig(simulations=30, proofs=False))
    search.run()
    assert [state.is_terminal() for state in asked] == [False, False]
    lost = search.root.children[0]
    assert lost.kind == "terminal"
    assert not lost.children
    assert lost.W == [-lost.N, lost.N]


def test_every_position_of_the_tree_is_evaluated_once():
    """One evaluation gives policy and value; none is asked for twice, nor for a finished game."""
    game = make(Shape(seed=11, depth=8))
    asked = []

    def spy(leaves):
        asked.extend(state.key() for state in leaves.states)
        assert not any(state.is_terminal() for state in leaves.states)
        return evaluate_random_leaves(leaves)

    config = SearchConfig(simulations=300, leaves_in_flight=4)
    result = Search(spy, config).run(game)
    assert len(asked) == len(set(asked))
    waiting, inner = [result.tree.root], 0
    while waiting:
        node = waiting.pop()
        inner += node.kind == "decision"
        waiting += [edge.child for edge in node.edges if edge.child]
    assert len(asked) == inner


def test_chance_is_sampled_by_its_probabilities_and_its_mean_is_weighted():
    """0.8 × 0.5 - 0.2 × 1 = 0.2, against a sure 0.1; an equal mean would be -0.25."""
    risky = chance((0.8, end(0.5, 0.0)), (0.2, end(-1.0, 0.0)))
    table = decide(0, (0.0, 0.0), (0.5, end(0.1, 0.0)), (0.5, risky))
    game = TableGame(table, zero_sum=False)
    both = run(game, simulations=4000, c_puct=3.0)
    root = both.fast.tree.root
    assert both.fast.best == 1
    assert nearly(root.edge(1).Q, 0.2, 0.03)
    outcomes = root.edge(1).child.edges
    assert nearly(outcomes[0].N / root.edge(1).N, 0.8, 0.03)
    assert nearly([edge.P for edge in outcomes], [0.8, 0.2])
    proven = run(game, simulations=4000, proofs=True, c_puct=20.0)
    assert nearly(proven.fast.values[0], 0.2, 1e-6)


def test_priors_are_normalised_over_the_legal_actions_alone():
    """Whatever a network says of illegal ones, even what overflows half precision."""
    game = TableGame(decide(0, 0.0, (0.2, end(0)), (0.3, end(0)), (0.5, end(0))))

    def everything(illegal):
        def answer(leaves):
            policy = np.full((len(leaves), game.num_actions), illegal, np.float32)
            policy[:, :3] = [logits(p) + 7 for p in (0.2, 0.3, 0.5)]
            return policy, np.zeros(len(leaves), np.float32)

        return answer

    for illegal in (0.0, 100.0, 1e32, -1e32, -np.inf):
        result = Search(everything(illegal), simulations=0).run(game)
        priors = [result.tree.root.edge(a).P for a in range(3)]
        assert nearly(priors, [0.2, 0.3, 0.5], 1e-6)


def test_a_legal_action_may_have_no_prior_at_all():
    """Logit -inf: prior 0, and the move is still legal and still found when it wins."""
    table = decide(0, 0.0, (1.0, decide(1, 0.0, (1.0, end(-1)))), (0.0, end(1)))
    both = run(table, simulations=50, proofs=True)
    assert nearly(both.fast.tree.root.edge(1).P, 0.0, 1e-6)
    assert both.fast.best == 1


def test_a_finished_game_is_not_searched():
    """Nor a position in which nobody can choose."""
    with pytest.raises(GameOver, match="finished"):
        Search(evaluate_leaves, simulations=1).run(TableGame(end(1)))
    with pytest.raises(SearchStateError, match="chance"):
        Forest([TableGame(chance((1.0, end(1))))])


def test_the_game_that_is_searched_is_not_changed():
    game = make(Shape(seed=5))
    before = (game.key(), game.ply)
    Search(evaluate_random_leaves, simulations=50).run(game)
    reference.Search(game, evaluate_random, SearchConfig(simulations=50)).run()
    assert (game.key(), game.ply) == before
