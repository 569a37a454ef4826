"""The built-in evaluators: what they say of a position, by name, by object and from Python."""

import itertools
import math
import warnings

import numpy as np
import pytest

from sylvan import Forest, Search, _native, evaluators
from sylvan.blob.card_counter import CardCounter
from sylvan.blob.players import Bot
from sylvan.errors import ConfigError, NetworkError
from sylvan.evaluators import (
    HashRandom,
    Material,
    Rollout,
    Uniform,
    evaluator_for,
    evaluator_named,
    shipped_network,
)
from sylvan.games import Blob, Chess, ConnectFour, TicTacToe
from tests.planning.broken_games import Pass
from tests.planning.random_games import RandomGame, Shape, make

ALL = [Uniform(), HashRandom(), Rollout(), Rollout(playouts=5, max_length=3)]


def say(evaluator, *states, seed=0, **settings):
    """Logits per state and values `[states, seats]` of some positions."""
    forest = Forest(states, simulations=1, seed=seed, **settings)
    leaves = forest.select()
    logits, values = evaluator(leaves)
    rows = np.split(logits, leaves.offsets[1:-1])
    return rows, values


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Uniform, Rollout, Material, CardCounter, HashRandom])
def test_every_evaluator_has_a_name(kind):
    assert evaluator_named(kind.name) == kind()
    assert kind().native == (kind.name, kind().native[1])
    assert kind.__doc__ and (kind is CardCounter or kind.__name__ in evaluators.__all__)


def test_functions_and_none_have_no_name():
    assert evaluator_named(None) is None
    assert evaluator_named(say) is say
    assert evaluator_for(TicTacToe(), say) is say


def test_the_default_is_the_network_of_the_game():
    names = {"chess": Chess(), "connect4": ConnectFour(), "tictactoe": TicTacToe()}
    for name, game in names.items():
        network = evaluator_for(game, None)
        assert network.name == f"{name} network"
        assert evaluator_for(game, None) is network is evaluator_for(game, "shipped")


def test_the_default_without_a_network():
    assert evaluator_for(Blob(), None) == CardCounter()
    with warnings.catch_warnings(action="error"):
        for game in (ConnectFour(columns=5, rows=4), make(Shape())):
            assert evaluator_for(game, None) == Rollout()


@pytest.mark.parametrize("damage", ["missing", "flipped"])
def test_without_its_network_chess_uses_material_and_says_so(damage, tmp_path, monkeypatch):
    file = shipped_network(Chess())
    if damage == "flipped":
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        (tmp_path / file.name).write_bytes(data)
    monkeypatch.setattr("sylvan.evaluators.shipped.NETS", tmp_path)
    with pytest.warns(RuntimeWarning, match="Material"):
        assert evaluator_for(Chess(), None) == Material()
    with pytest.raises((ConfigError, NetworkError)):
        evaluator_for(Chess(), "shipped")


def test_a_forest_in_another_encoding_uses_the_fallback():
    forest = Forest([Chess()], simulations=20)
    forest.run()
    assert forest.result().evaluator == "material"
    forest = Forest([Chess().encoded(evaluator_for(Chess(), None).encoding)], simulations=20)
    forest.run()
    assert forest.result().evaluator == "chess network"


@pytest.mark.parametrize("setting", ["playouts", "max_length"])
@pytest.mark.parametrize("value", [0, -3])
def test_rollouts_need_something_to_play(setting, value):
    with pytest.raises(ConfigError, match=rf"{setting}.*{value}.*1"):
        Rollout(**{setting: value})


# --- what all of them promise --------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", ALL, ids=str)
def test_answers_fit_the_batch(evaluator):
    for state in (
        TicTacToe([4]),
        ConnectFour("4"),
        Chess(),
        make(Shape(num_players=3, zero_sum=False)),
    ):
        logits, values = say(evaluator, state, state)
        assert [len(row) for row in logits] == [len(state.legal_actions())] * 2
        assert values.shape == (2, state.num_players)
        assert all(np.isfinite(row).all() for row in logits) and np.isfinite(values).all()
        low, high = state.value_range
        assert (values >= low).all() and (values <= high).all()
        if state.zero_sum:
            np.testing.assert_array_equal(values[:, 0], -values[:, 1])


@pytest.mark.parametrize("evaluator", ALL, ids=str)
def test_answers_repeat(evaluator):
    for state in (ConnectFour("44"), make(Shape(seed=2))):
        first, second = say(evaluator, state, seed=5), say(evaluator, state, seed=5)
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_array_equal(first[1], second[1])


# --- uniform -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "middle"), [((-1, 1), 0), ((0, 10), 5), ((-3, -1), -2), ((0, math.inf), 0)]
)
def test_uniform_is_the_middle_of_the_range(span, middle):
    logits, values = say(Uniform(), Pass(span=span))
    assert logits[0].tolist() == [0.0] and values.tolist() == [[middle]]


# --- hash random ---------------------------------------------------------------------------------


def test_hash_random_is_fixed_by_the_position():
    transposed = say(HashRandom(), ConnectFour("1526"), ConnectFour("2516"))
    here, there = say(HashRandom(), ConnectFour("1526"), ConnectFour("5261"))[1]
    np.testing.assert_array_equal(transposed[0][0], transposed[0][1])
    assert here[0] != there[0]
    assert here[0] == say(HashRandom(), ConnectFour("1526"), seed=99)[1][0][0]


def test_hash_random_knows_states_without_a_key_by_what_they_show(monkeypatch):
    monkeypatch.setattr(RandomGame, "key", lambda self: None)
    states = [make(Shape(seed=seed)) for seed in range(5)]
    assert len({tuple(row) for row in say(HashRandom(), *states)[1].tolist()}) == 5


def test_hash_random_is_spread_over_its_range():
    states = [ConnectFour(list(moves)) for moves in itertools.product(range(7), repeat=3)]
    logits, values = say(HashRandom(), *states)
    flat = np.concatenate(logits)
    assert flat.min() >= -2 and flat.max() < 2 and abs(flat.mean()) < 0.15
    assert abs(values[:, 0].mean()) < 0.2 and values[:, 0].std() == pytest.approx(0.577, abs=0.08)


# --- rollouts ------------------------------------------------------------------------------------


def expected(state, discount=1.0):
    """The exact mean of random play: what seat 0 gets."""
    if state.is_terminal():
        return state.returns()[0]
    if state.is_chance():
        branches = state.chance_outcomes()
    else:
        actions = state.legal_actions()
        branches = [(action, 1 / len(actions)) for action in actions]
    total = 0.0
    for action, probability in branches:
        child = state.clone()
        child.apply(action)
        total += probability * (child.rewards()[0] + discount * expected(child, discount))
    return total


@pytest.mark.parametrize(
    "state",
    [
        TicTacToe([4, 0, 8, 2]),
        TicTacToe([0, 4, 8]),
        make(Shape(seed=3, depth=5, chance=0.4)),
        make(Shape(seed=5, depth=5, num_players=1, zero_sum=False, chance=0.3)),
        make(Shape(seed=7, depth=5, rewards=True)),
    ],
    ids=["forced", "open", "chance", "one seat", "rewards"],
)
@pytest.mark.parametrize("discount", [1.0, 0.8])
def test_rollouts_are_the_mean_of_random_games(state, discount):
    count = 8000 if isinstance(state, TicTacToe) else 1500
    _, values = say(Rollout(playouts=count), state, discount=discount)
    spread = 4 * 2.0 / math.sqrt(count) * (2.5 if state.value_range[1] > 1 else 1)
    assert values[0, 0] == pytest.approx(expected(state, discount), abs=spread)


def test_rollouts_differ_from_leaf_to_leaf_and_from_seed_to_seed():
    states = [ConnectFour()] * 60
    values = say(Rollout(), *states)[1][:, 0]
    assert {-1.0, 1.0} <= set(values.tolist()) <= {-1.0, 0.0, 1.0}
    assert values.tolist() != say(Rollout(), *states, seed=1)[1][:, 0].tolist()


def test_a_game_that_is_cut_off_counts_as_the_middle():
    _, values = say(Rollout(playouts=10, max_length=2), ConnectFour())
    assert values.tolist() == [[0.0, 0.0]]
    _, values = say(Rollout(playouts=10, max_length=2), Pass(span=(2, 6)))
    assert values.tolist() == [[4.0]]


# --- material ------------------------------------------------------------------------------------


def test_material_counts():
    even, up, down = (
        say(Material(), Chess(fen))[1][0, 0]
        for fen in (
            "4k3/pppp4/8/8/8/8/PPPP4/4K3 w - - 0 1",
            "4k3/pppp4/8/8/8/8/PPPP4/3QK3 w - - 0 1",
            "3qk3/pppp4/8/8/8/8/PPPP4/4K3 w - - 0 1",
        )
    )
    assert down < -0.5 < even < 0.5 < up
    assert up == pytest.approx(-down, abs=0.2)


def test_material_likes_captures():
    game = Chess("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1")
    (logits,), _ = say(Material(), game)
    actions = game.legal_actions()
    assert actions[int(np.argmax(logits))] == game.string_to_action("exd5")


def test_material_plays_the_game_of_the_other_colour_the_same():
    """A position and its mirror image, colours exchanged, are judged alike by who is to move."""
    white = Chess("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 0 1")
    black = Chess("rnbqk2r/pppp1ppp/5n2/2b1p3/4P3/2N5/PPPP1PPP/R1BQKBNR b KQkq - 0 1")
    (first, second), values = say(Material(), white, black)
    assert values[0, 0] == pytest.approx(values[1, 1], abs=1e-6)
    here = dict(zip(white.legal_actions(), first, strict=True))
    there = dict(zip(black.legal_actions(), second, strict=True))
    assert here == pytest.approx(there, abs=1e-5), "codes are seen from the mover's side"


def test_an_answer_from_python_is_that_of_a_native_run():
    for evaluator in (*ALL, Material()):
        game = Chess()
        native = Search(evaluator, simulations=60, seed=2).run(game)
        asked = Search(evaluator.__call__, simulations=60, seed=2).run(game)
        assert native.policy.tolist() == asked.policy.tolist() and native.value == asked.value


# --- the card counter -----------------------------------------------------------------------------


@pytest.mark.parametrize("moves", [0, 2, 5, 9, 14])
@pytest.mark.parametrize("rivalry", [0.0, 1.0])
def test_the_card_counter_plays_the_round_out(moves, rivalry):
    game, bot = Blob(4, 3, seed=3, rivalry=rivalry).this_round(), Bot("counter")
    for _ in range(moves):
        game.apply(game.legal_actions()[0])
    (logits,), values = say(CardCounter(lean=2.5), game, hidden="cheating")
    chosen = bot.choose(game, _native.Rng(0))
    legal = game.legal_actions()
    assert logits.tolist() == [2.5 * (action == chosen) for action in legal]
    while not game.is_terminal():
        game.apply(bot.choose(game, _native.Rng(0)))
    assert values[0] == pytest.approx(game.returns(), abs=1e-6)


def test_the_card_counter_knows_one_game():
    with pytest.raises(ConfigError, match="'card_counter'"):
        Search("card_counter", simulations=1).run(Chess())
