"""Information-set search: the core equals the reference visit for visit, and neither peeks."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylvan import Search, reference
from sylvan._native import Rng
from tests.planning import random_games
from tests.planning.hidden_games import Shape, evaluate, evaluate_leaves, make, permuted
from tests.planning.settings import configs
from tests.planning.twins import found

RELAXED = {"deadline": None, "suppress_health_check": list(HealthCheck)}


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
    seats move at random in between."""
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


@settings(max_examples=300, **RELAXED)
@given(shape=shapes(), config=hidden_configs(), moves=st.integers(0, 3))
def test_core_equals_reference(shape, config, moves):
    run_both(make(shape), config, moves)


class Seen(random_games.RandomGame):
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


@settings(max_examples=100, **RELAXED)
@given(
    seed=st.integers(0, 2**40),
    config=hidden_configs(),
    fpu=st.sampled_from(["parent", "zero", "loss", 0.25]),
)
def test_where_nothing_is_hidden_it_is_the_search_of_open_games(seed, config, fpu):
    """Every action is always available then, so the formulas are those of the open search."""
    config = config.replace(
        proofs=False, noise=False, temperature=0.0, flat_priors=False, fpu=fpu, fpu_root=None
    )
    shape = random_games.Shape(seed=seed, num_players=3, zero_sum=False, depth=9)
    game = random_games.make(shape)
    view = Seen(game.shape).observe(game.to_play())
    search = Search(random_games.evaluate_leaves, config)
    one, two = found(search.run(game)), found(search.run(view))
    assert one[1:] == two[1:]


@settings(max_examples=100, **RELAXED)
@given(shape=shapes(), config=hidden_configs(), other=st.integers(0, 2**32))
def test_other_hands_than_the_true_ones_change_nothing(shape, config, other):
    """The result is the same to the bit whatever the hidden hands are in the game."""
    game = make(shape)
    seat = game.to_play()
    search = Search(evaluate_leaves, config)
    one = found(search.run(game.observe(seat)))
    two = found(search.run(permuted(game, seat, Rng(other)).observe(seat)))
    assert one == two
