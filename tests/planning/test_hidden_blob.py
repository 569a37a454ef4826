"""Blob: searches of what a seat knows do not depend on what it does not know."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Forest, Rng, Search
from sylvan.errors import SearchStateError
from sylvan.evaluators import Rollout
from sylvan.games import Blob
from tests.planning.test_hidden import modes
from tests.planning.twins import found, skewed


def judged(leaves):
    """Logits and values that depend on what is seen, as a network's would."""
    logits, values = skewed(leaves)
    low, high = leaves.forest.value_range
    values = low + (values + 1) / 2 * (high - low)
    return logits, values[:, None].repeat(leaves.forest.num_players, 1)


EVALUATORS = [
    "uniform",
    "rollout",
    "hash_random",
    Rollout(policy="rule"),
    Rollout(policy="counter"),
    judged,
]


def played(seed, players, cards, plies):
    """A round in which some random moves were made."""
    game, rng = Blob(players=players, cards=cards, seed=seed), Rng(seed, 5)
    for _ in range(plies):
        legal = game.legal_actions()
        after = game.clone()
        after.apply(legal[rng.below(len(legal))])
        if after.is_terminal() or after.round != game.round or after.is_chance():
            break
        game = after
    return game


@settings(suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32),
    players=st.integers(3, 6),
    cards=st.integers(1, 7),
    plies=st.integers(0, 30),
    config=modes(),
    evaluator=st.sampled_from(EVALUATORS),
    belief=st.sampled_from([(1, 1.0, 1.0), (4, 0.1, 1.0), (3, 0.2, 0.5)]),
    other=st.integers(0, 2**32),
)
def test_permuted_hands_change_nothing(
    seed, players, cards, plies, config, evaluator, belief, other
):
    """For every mode, network, playout policy and belief: to the bit."""
    game = played(seed, players, cards, plies).with_belief(*belief)
    seat = game.to_play()
    twin = game.observe(seat).sample(Rng(other))
    settings = config.replace(simulations=min(config.simulations, 60))
    search = Search(evaluator, settings)
    assert found(search.run(game.observe(seat)), 3) == found(search.run(twin.observe(seat)), 3)


def test_the_whole_game_is_refused():
    game = Blob(players=3, cards=2)
    with pytest.raises(SearchStateError, match="full state"):
        Search("rollout").run(game)
    assert Search("rollout", hidden="cheating", simulations=10).run(game).simulations == 10


def test_trees_are_kept_while_others_move():
    game = Blob(players=3, cards=4, seed=5)
    seat = game.to_play()
    search = Search("rollout", simulations=2000)
    for _ in range(6):
        result = search.run(game.observe(seat)) if search._forest is None else search.run()
        assert result.simulations == 2000 and result.tree.root.N >= 2001
        actions = [result.best]
        game.apply(result.best)
        while game.to_play() != seat and not game.is_terminal():
            actions.append(game.legal_actions()[0])
            game.apply(actions[-1])
        if game.round > 0 or game.is_terminal():
            break
        search.advance(*actions)
        assert search.state.observer == seat and search.state.hand(seat) == game.hand(seat)


def test_a_forest_of_views():
    """Many seats at once; threads change nothing."""
    views = [Blob(players=4, cards=5, seed=s) for s in range(6)]
    views = [game.observe(game.to_play()) for game in views]
    forests = [Forest(views, simulations=200, threads=threads) for threads in (1, 3)]
    for forest in forests:
        forest.run("rollout")
    one, two = ([found(result, 3) for result in forest.results()] for forest in forests)
    assert one == two
    assert forests[0].outcomes().simulations.tolist() == [200] * 6


def test_one_card_bids_find_their_exact_value():
    """The leader of a one-card round without trump who holds ♥2 wins if no other holds a heart."""
    game = Blob(players=3, cards=1, sequence=[1], trump="none", hook="off", dealer=2, seed=None)
    view = game.enter(0, [13], None)  # ♥2, to bid first and to lead
    result = Search("rollout", simulations=30_000, c_puct=5.0).run(view)
    win = 39 * 38 / (51 * 50)
    exact = {53: win, 52: (1 - win) * 10 / 11}  # of bids of one and none, own points
    for action, value in exact.items():
        assert result.tree.root.edge(action).Q == pytest.approx(value, abs=0.02)
    assert result.best == 53


def test_a_spade_wins_where_no_higher_one_is_out():
    """The leader of a one-card round with spades for trump who holds ♠5, and knows nothing else."""
    game = Blob(players=3, cards=1, sequence=[1], trump="spades", hook="off", dealer=2, seed=None)
    result = Search("rollout", simulations=30_000, c_puct=5.0).run(game.enter(0, ["5S"]))
    win = 42 * 41 / (51 * 50)
    assert result.tree.root.edge(53).Q == pytest.approx(win, abs=0.02)
    assert result.tree.root.edge(52).Q == pytest.approx((1 - win) * 10 / 11, abs=0.02)
    assert result.best == 53
