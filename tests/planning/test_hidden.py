"""Information-set search: the core equals the reference visit for visit, and neither peeks."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Forest, Search, SearchConfig, reference
from sylvan._native import Rng
from sylvan.errors import ConfigError, GameContractError, SearchStateError
from sylvan.evaluators import Rollout
from sylvan.planning import BulkForest
from sylvan.planning.outcomes import CHANCE, OVER, UNMOVED
from tests.planning import random_games
from tests.planning.hidden_games import (
    HiddenGame,
    Shape,
    evaluate,
    evaluate_leaves,
    make,
    permuted,
)
from tests.planning.settings import configs
from tests.planning.twins import finish, found

RELAXED = {"suppress_health_check": list(HealthCheck)}


@st.composite
def shapes(draw):
    players = draw(st.integers(1, 4))
    return Shape(
        seed=draw(st.integers(0, 2**40)),
        num_players=players,
        depth=draw(st.integers(1, 12)),
        branching=draw(st.sampled_from([1, 2, 3, 5, 7])),
        hands=draw(st.sampled_from([1, 2, 3, 20])),
        zero_sum=players == 2 and draw(st.booleans()),
        rewards=draw(st.booleans()),
        chance=draw(st.sampled_from([0.0, 0.0, 0.3])),
        stop=draw(st.sampled_from([0.0, 0.1, 0.3])),
        secret_ends=draw(st.booleans()),
    )


@st.composite
def hidden_configs(draw):
    config = draw(configs(st.integers(0, 300)))
    return config.replace(
        selection=draw(st.sampled_from(["puct", "puct", "uct"])),
        flat_priors=draw(st.booleans()),
        stop_at_new_views=draw(st.booleans()),
    )


def compare(node, view, *, root=True):
    """The two trees have the same shape and the same numbers, to the bit."""
    assert (view.N, view.kind, list(view.W)) == (node.N, node.kind, node.W)
    edges = {edge.action: edge for edge in view.edges}
    seen = {a: c for a, c in node.children.items() if root or c.available}
    assert edges.keys() == seen.keys()
    for action, child in seen.items():
        edge = edges[action]
        assert edge.N == child.N
        assert edge.available == (node.N if root else child.available)
        assert not root or np.float32(edge.P) == child.prior
        if child.N:
            compare(child, edge.child, root=False)


def run_both(game, config, moves=0):
    """Search with the core and with the reference, some moves in a row on the same tree; other
    seats move at random in between.
    """
    seat, rng = game.to_play(), Rng(config.seed, 7)
    slow = reference.DealSearch(game.observe(seat), evaluate, config)
    fast = Search(evaluate_leaves, config)
    for move in range(moves + 1):
        slow.run()
        result = fast.run(game.observe(seat) if move == 0 else None)
        assert (result.stopped_by, result.simulations) == (slow.stopped_by, slow.started)
        assert (result.nodes, result.depth) == (slow.nodes, slow.depth)
        compare(slow.root, result.tree.root)
        actions = list(slow.root.children)
        np.testing.assert_array_equal(result.policy[actions], reference.policy(slow))
        assert result.best == reference.best(slow)
        assert result.action == reference.pick(slow)
        action = result.best
        while True:
            game.apply(action)
            view = game.observe(seat) if game.shape.secret_ends else None
            slow.advance(action, view)
            fast.advance(action, view=view)
            if game.is_terminal():
                return
            if not game.is_chance() and game.to_play() == seat:
                break
            legal = (
                [a for a, _ in game.chance_outcomes()] if game.is_chance() else game.legal_actions()
            )
            action = legal[rng.below(len(legal))]


@pytest.mark.slow
@settings(max_examples=3 * settings.default.max_examples, **RELAXED)
@given(shape=shapes(), config=hidden_configs(), moves=st.integers(0, 3))
def test_core_equals_reference(shape, config, moves):
    run_both(make(shape), config, moves)


class OpenView(random_games.RandomGame):
    """A game that hides nothing, seen as if it did."""

    def clone(self):
        copy = super().clone()
        copy.observer = self.observer
        return copy

    def observe(self, seat):
        view = self.clone()
        view.observer = seat
        return view

    def sample(self, rng):
        deal = self.clone()
        deal.observer = None
        return deal


@settings(**RELAXED)
@given(
    seed=st.integers(0, 2**40),
    config=hidden_configs(),
    fpu=st.sampled_from(["parent", "zero", "loss", 0.25]),
)
def test_where_nothing_is_hidden_it_is_the_search_of_open_games(seed, config, fpu):
    """Every action is always available then, so the formulas are those of the open search."""
    config = config.replace(proofs=False, noise=False, temperature=0.0, stop_early=False)
    config = config.replace(flat_priors=False, fpu=fpu, fpu_root=None, c_deviation=0.0)
    shape = random_games.Shape(seed=seed, num_players=3, zero_sum=False, depth=9)
    game = random_games.make(shape)
    view = OpenView(game.shape).observe(game.to_play())
    search = Search(random_games.evaluate_leaves, config)
    one, two = found(search.run(game)), found(search.run(view))
    assert one[1:] == two[1:]


@st.composite
def modes(draw):
    """Settings of any search that does not cheat."""
    config = draw(hidden_configs())
    if draw(st.booleans()):
        return config
    selection = draw(st.sampled_from(["puct", "uct", "gumbel"]))
    deals = draw(st.sampled_from([1, 3, 10]))
    if selection == "gumbel":
        plain = {"stop_early": False, "lcb": 0.0, "shortest_win": False}
        config = config.replace(widening=None, rave=0.0, **plain)
    return config.replace(hidden="determinised", deals=deals, selection=selection)


@pytest.mark.slow
@settings(**RELAXED)
@given(shape=shapes(), config=modes(), other=st.integers(0, 2**32), plies=st.integers(0, 6))
def test_other_hands_than_the_true_ones_change_nothing(shape, config, other, plies):
    """The result is the same to the bit whatever the hidden hands are in the game."""
    game, rng = make(shape), Rng(other, 1)
    for _ in range(plies):
        after = game.clone()
        moves = [a for a, _ in game.chance_outcomes()] if game.is_chance() else game.legal_actions()
        after.apply(moves[rng.below(len(moves))])
        if after.is_terminal():
            break
        game = after
    if game.is_chance():
        return
    seat = game.to_play()
    search = Search(evaluate_leaves, config)
    one = found(search.run(game.observe(seat)))
    two = found(search.run(permuted(game, seat, Rng(other)).observe(seat)))
    assert one == two


def test_a_cheating_search_is_told_apart_by_other_hands():
    """The property above fails for a search that peeks."""
    differs = 0
    for seed in range(20):
        game = make(Shape(seed=seed, hands=20))
        search = Search(evaluate_leaves, simulations=50, hidden="cheating")
        one, two = search.run(game), search.run(permuted(game, game.to_play(), Rng(seed)))
        differs += one.value != two.value
    assert differs > 10


def test_nothing_falls_back_to_the_true_hands():
    game = make(Shape(seed=3))
    seat = game.to_play()
    with pytest.raises(SearchStateError, match="full state of HiddenGame"):
        Search("uniform").run(game)
    with pytest.raises(SearchStateError, match="full state of HiddenGame"):
        Forest([game])
    with pytest.raises(ConfigError, match="cheating"):
        Search("uniform", hidden="cheating").run(game.observe(seat))
    with pytest.raises(SearchStateError, match=f"seat {seat}"):
        Search("uniform").run(game.observe(1 - seat))


def test_a_game_that_gives_a_view_for_a_deal_is_told():
    class Lazy(HiddenGame):
        def sample(self, rng):
            return self.clone()

    game = Lazy(make(Shape(seed=3)).shape)
    with pytest.raises(GameContractError, match=r"Lazy\.sample\(\)"):
        Search("uniform").run(game.observe(game.to_play()))


def compare_deals(slow, result):
    """The sums over all deals, node by node at the root."""
    edges = {edge.action: edge for edge in result.tree.root.edges}
    for action in slow.searches[0].root.children:
        nodes = [search.root.children[action] for search in slow.searches]
        assert edges[action].N == sum(node.N for node in nodes)
    assert result.tree.root.N == sum(search.root.N for search in slow.searches)
    actions = list(slow.searches[0].root.children)
    np.testing.assert_array_equal(result.policy[actions], slow.policy())
    assert (result.best, result.action) == (slow.best(), slow.pick())


@pytest.mark.slow
@settings(**RELAXED)
@given(
    shape=shapes(),
    config=configs(st.integers(0, 200)),
    deals=st.sampled_from([1, 2, 7]),
    moves=st.integers(0, 2),
)
def test_determinised_search_equals_the_reference(shape, config, deals, moves):
    game = make(replace(shape, secret_ends=False))
    config = config.replace(hidden="determinised", deals=deals)
    seat, rng = game.to_play(), Rng(config.seed, 7)
    slow = reference.DeterminisedSearch(game.observe(seat), evaluate, config)
    fast = Search(evaluate_leaves, config)
    for move in range(moves + 1):
        slow.run()
        result = fast.run(game.observe(seat) if move == 0 else None)
        assert result.simulations == sum(search.started for search in slow.searches)
        compare_deals(slow, result)
        moved = [result.best]
        game.apply(result.best)
        while not game.is_terminal() and (game.is_chance() or game.to_play() != seat):
            odds = [a for a, _ in game.chance_outcomes()]
            legal = odds if game.is_chance() else game.legal_actions()
            moved.append(legal[rng.below(len(legal))])
            game.apply(moved[-1])
        if game.is_terminal():
            return
        fast.advance(*moved)
        slow.plant(game.observe(seat))


@pytest.mark.parametrize("selection", ["puct", "gumbel"])
def test_outcomes_of_dealt_views_have_a_row_per_view(selection):
    """They are the results of each view, however many deals stand behind it."""
    views = [game.observe(game.to_play()) for game in (make(Shape(seed=n)) for n in range(4))]
    config = SearchConfig(
        simulations=60, selection=selection, noise=True, hidden="determinised", deals=3
    )
    forest = BulkForest(views, config)
    forest.plant(2, make(Shape(seed=9)).observe(make(Shape(seed=9)).to_play()))
    blank = forest.outcomes()
    assert blank.offsets.tolist() == [0] * 5 and not blank.values.any()
    assert blank.best.tolist() == blank.seats.tolist() == [-1] * 4
    forest.run(evaluate_leaves)
    found = forest.outcomes()
    assert len(found.offsets) == 5 and found.offsets[-1] == len(found.actions)
    assert found.dense(7).shape == (4, 7)
    for tree, result in enumerate(forest.results()):
        edges = slice(found.offsets[tree], found.offsets[tree + 1])
        actions, (policy, priors) = found.actions[edges], (found.policy[edges], found.priors[edges])
        assert actions.tolist() == forest.state(tree).legal_actions()
        np.testing.assert_array_equal(policy, result.policy[actions])
        visits = {edge.action: edge.N for edge in result.tree.root.edges}
        assert found.visits[edges].tolist() == [visits[action] for action in actions]
        logits = np.array(evaluate([forest.state(tree).sample(Rng(1))])[0][0])
        np.testing.assert_allclose(priors, np.exp(logits) / np.exp(logits).sum(), rtol=1e-4)
        assert (found.best[tree], found.seats[tree]) == (result.best, result.tree.root.seat)
        np.testing.assert_allclose(found.values[tree], result.values, rtol=1e-6)
        surprise = (policy * np.log(np.maximum(policy, 1e-30) / priors)).sum()
        assert found.surprise[tree] == pytest.approx(surprise, abs=1e-4)
        assert found.simulations[tree] == result.simulations == 60


def test_chance_in_dealt_views_is_as_likely_as_the_observer_thinks():
    """A number per view, and each view has deals of its own to draw from."""
    game = make(Shape(seed=3, chance=0.5, stop=0.0, depth=9))
    seat = game.to_play()
    while not game.is_chance():
        game.apply(game.legal_actions()[0])
    view, count = game.observe(seat), 2000
    odds, hands = np.zeros(7), [game.fitting(s) for s in range(2)]
    hands[seat] = [game.hands[seat]]
    for deal in itertools.product(*hands):
        for action, chance in HiddenGame(game.shape, deal, game.hash, game.past).chance_outcomes():
            odds[action] += chance / np.prod([len(hand) for hand in hands])
    forest = BulkForest([make(Shape()).observe(0)] * count, hidden="determinised", deals=2)
    for tree in range(count):
        forest._native.plant(tree, view)
    numbers = np.random.default_rng(1).random(count)
    numbers[::2] = -1
    drawn = forest.draw(numbers)
    assert drawn.shape == (count,) and (drawn[::2] == -1).all()
    shares = np.bincount(drawn[1::2], minlength=7) / (count / 2)
    assert np.count_nonzero(odds) > 1
    np.testing.assert_allclose(shares, odds, atol=0.06)
    with pytest.raises(SearchStateError, match=r"1 entries.*2000 trees"):
        forest.draw([0.5])


def test_values_are_merged_not_votes():
    """An action that is best by little in most deals loses to one far better in the rest."""

    class Lottery(HiddenGame):
        """One hidden card of ten: action 0 pays 0.1, action 1 pays 1 for card 0, else 0.05."""

        num_players, zero_sum = 2, False

        def legal_actions(self):
            return [] if self.is_terminal() else [0, 1]

        def to_play(self):
            return 0

        def is_terminal(self):
            return self.ply == 1

        def ended(self, key, ply):
            return ply == 1

        def fitting(self, seat):
            return list(range(10))

        def returns(self):
            prize = 1.0 if self.hands[1] == 0 else 0.05
            return [0.1 if self.past[0][2] == 0 else prize, 0.0]

    game = Lottery(Shape(hands=10, depth=1))
    config = {"simulations": 4000, "hidden": "determinised", "deals": 200, "proofs": False}
    result = Search("uniform", **config).run(game.observe(0))
    votes = [result.tree.root.edge(action).N for action in (0, 1)]
    assert votes[0] > votes[1] and result.best == 1  # 0.1 against 0.145 on average


def availability(node):
    """All counts and sums of a tree. (P below the root is that of an edge's last walk.)"""
    edges = sorted(node.edges, key=lambda edge: edge.action)
    below = [
        (edge.action, edge.N, edge.W, edge.available, edge.child and availability(edge.child))
        for edge in edges
    ]
    return node.N, node.W, below


@pytest.mark.slow
@settings(**RELAXED)
@given(shape=shapes(), config=hidden_configs(), batches=st.integers(1, 12))
def test_giving_up_leaves_no_trace(shape, config, batches):
    """Neither in visits nor in what was available; walks that waited for priors go too."""
    game = make(shape)
    config = config.replace(nodes=None, depth=None, leaves_in_flight=8, simulations=500)
    forest = Forest([game.observe(game.to_play())], config)
    for _ in range(batches):
        if (leaves := forest.select()) is None:
            return
        forest.update(*evaluate_leaves(leaves))
    forest.abandon()  # walks that wait to go on
    before, done = availability(forest.result().tree.root), forest.result().simulations
    if forest.select() is None:
        return
    forest.abandon()
    if forest.result().simulations == done:  # else some came to the end of the game
        assert availability(forest.result().tree.root) == before
    finish(forest, evaluate_leaves)
    assert forest.result().simulations == 500


class Blind(HiddenGame):
    """A game whose observation raises for some hands: what the priors of a view depend on."""

    def observation(self):
        if self.hands[self.to_play()] == 2:
            raise ZeroDivisionError("no observation")
        return super().observation()


def test_an_observation_that_raises_is_the_games_error():
    """Else views with different hands would share priors."""
    game = next(
        game
        for game in (Blind(Shape(seed=seed, depth=8)) for seed in range(100))
        if game.hands[game.to_play()] != 2
    )
    with pytest.raises(ZeroDivisionError, match="no observation"):
        Search("hash_random", simulations=500).run(game.observe(game.to_play()))


def test_playouts_by_a_policy():
    """A function plays in the deals that were drawn, and is asked only where a seat moves."""
    asked = []

    def first(state, rng):
        asked.append(state.observer)
        return state.legal_actions()[0]

    game = make(Shape(seed=5, chance=0.3, depth=8))
    view = game.observe(game.to_play())
    one = Search(Rollout(policy=first, playouts=2), simulations=50).run(view)
    two = Search(Rollout(policy=first, playouts=2), simulations=50).run(view)
    assert found(one) == found(two) and set(asked) == {None}
    with pytest.raises(ConfigError, match='"clever"'):
        Search(Rollout(policy="clever"), simulations=5).run(view)


@pytest.mark.slow
@settings(**RELAXED)
@given(
    shape=shapes(),
    config=hidden_configs(),
    hidden=st.sampled_from(["information_set", "determinised"]),
    keep=st.booleans(),
)
def test_played_views_are_those_that_were_advanced(shape, config, hidden, keep):
    """`play` in many trees does what `advance`, or a new tree, does in one, whoever is to move."""
    shape = replace(shape, secret_ends=False)
    config = config.replace(hidden=hidden, deals=3, simulations=min(config.simulations, 20))
    game, rng = make(shape), Rng(config.seed, 9)
    seat = game.to_play()
    bulk, single = (BulkForest([game.observe(seat)] * 2, config) for _ in range(2))
    for forest in (bulk, single):
        forest.run(evaluate_leaves)
    while not game.is_terminal():
        odds = [a for a, _ in game.chance_outcomes()] if game.is_chance() else game.legal_actions()
        action = odds[rng.below(len(odds))]
        game.apply(action)
        transitions = bulk.play([action, -1], keep=keep)
        if keep:
            single.advance(0, action)
        else:
            single._native.plant(0, game.observe(seat))
            single._states[0] = game.observe(seat)
        assert transitions.turns[1] == UNMOVED
        over, turn = game.is_terminal(), CHANCE if game.is_chance() else game.to_play()
        assert transitions.turns[0] == (OVER if over else turn)
        if game.to_play() == seat and not over and not game.is_chance():
            break
    if not game.is_terminal():
        results = []
        for forest in (bulk, single):
            forest.begin()
            forest.run(evaluate_leaves)
            results.append([found(result, 3) for result in forest.results()])
        assert results[0] == results[1]
