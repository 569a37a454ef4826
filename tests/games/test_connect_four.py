"""Connect Four's Python class; Rust tests compare the rules with a simple implementation."""

from __future__ import annotations

import copy
import pickle
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sylvan
from sylvan.errors import ConfigError, GameOver, IllegalAction, IllegalPosition
from sylvan.games import ConnectFour, Game, from_open_spiel
from sylvan.testing import check_game

picks = st.lists(st.integers(0, 6), max_size=60)
sizes = st.sampled_from([(7, 6), (4, 4), (1, 63), (32, 1), (9, 6), (5, 3), (12, 4)])


def played(actions: list[int], columns: int = 7, rows: int = 6) -> ConnectFour:
    """The position after the actions, without illegal ones."""
    game = ConnectFour(columns=columns, rows=rows)
    for action in actions:
        if action in game.legal_actions():
            game.apply(action)
    return game


def test_it_keeps_the_contract_of_a_game():
    assert isinstance(ConnectFour(), Game)
    assert check_game(ConnectFour, games=10).symmetries == 2
    for columns, rows in [(1, 63), (32, 1), (8, 7), (10, 5)]:
        check_game(ConnectFour(columns=columns, rows=rows), games=3)


@pytest.mark.parametrize("seed", range(5))
def test_open_spiel_plays_by_the_same_rules(seed):
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    rng = np.random.default_rng(seed)
    ours, theirs = ConnectFour(), from_open_spiel("connect_four")
    while not theirs.is_terminal():
        assert ours.legal_actions() == list(theirs.legal_actions())
        assert ours.to_play() == theirs.to_play()
        # Theirs: the stones of seat 0, of seat 1, free cells; the bottom row first.
        mover = ours.to_play()
        seen = theirs.observation()[[mover, 1 - mover], ::-1]
        np.testing.assert_array_equal(ours.observation(), seen)
        action = int(rng.choice(ours.legal_actions()))
        ours.apply(action)
        theirs.apply(action)
    assert ours.is_terminal() and not ours.legal_actions()
    assert ours.returns() == tuple(theirs.returns())


@given(picks, sizes)
def test_a_copy_is_equal_and_independent(actions, size):
    game = played(actions, *size)
    for other in (
        game.clone(),
        copy.copy(game),
        copy.deepcopy(game),
        pickle.loads(pickle.dumps(game)),  # noqa: S301
        ConnectFour.from_rows(game.to_rows()),
    ):
        assert other == game and type(other) is ConnectFour
        assert other.key() == game.key()
        if not game.is_terminal():
            other.apply(other.legal_actions()[0])
            assert other != game and other.key() != game.key()
            assert game.stones == other.stones - 1


@given(picks)
def test_text_and_lists_name_the_same_moves(actions):
    game = ConnectFour()
    names = ""
    legal = []
    for action in actions:
        if action in game.legal_actions():
            names += game.action_to_string(action)
            legal.append(game.string_to_action(names[-1]))
            game.apply(action)
    assert ConnectFour(names) == ConnectFour(legal) == ConnectFour(np.array(legal, int)) == game


def test_a_subclass_stays_a_subclass():
    class Mine(ConnectFour):
        pass

    assert type(Mine("44").clone()) is Mine
    assert type(Mine.from_rows("..../....")) is Mine


def test_a_subclass_with_other_rules_is_searched_by_them():
    class LeftmostOnly(ConnectFour):
        def legal_actions(self):
            return super().legal_actions()[:1]

    result = sylvan.search(LeftmostOnly(), simulations=10, evaluator="uniform")
    assert [edge.action for edge in result.tree.root.edges] == [0]


def test_numbers_of_wide_boards_are_separated():
    game = ConnectFour("10 1, 12", columns=12, rows=4)
    assert game == ConnectFour([9, 0, 11], columns=12, rows=4)
    assert game.string_to_action("12") == 11


def test_row_zero_of_an_observation_is_the_top():
    seen = ConnectFour("4453").observation()
    assert seen.dtype == np.float32
    assert np.argwhere(seen).tolist() == [[0, 5, 3], [0, 5, 4], [1, 4, 3], [1, 5, 2]]


def test_it_prints_and_draws():
    game = ConnectFour("1213141")
    assert str(ConnectFour(columns=12, rows=1)).splitlines()[1].split() == [
        str(column) for column in range(1, 13)
    ]
    assert repr(ConnectFour("12", columns=4, rows=2)) == "ConnectFour.from_rows('..../xo..')"
    svg = game._repr_svg_()
    ElementTree.fromstring(svg)
    assert svg.count("<circle") == 42
    assert svg.count('stroke="#ffffff"') == 4  # the winning line
    assert ConnectFour("121314")._repr_svg_().count('stroke="#ffffff"') == 0


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: ConnectFour("4x"), IllegalAction, '"x"'),
        (lambda: ConnectFour("8"), IllegalAction, '"8"'),
        (lambda: ConnectFour("4444444"), IllegalAction, r"Move 7.*column 4"),
        (lambda: ConnectFour("12121212"), GameOver, r"Move 8.*over"),
        (lambda: ConnectFour([3, -1]), IllegalAction, "column -1"),
        (lambda: ConnectFour([10**30]), IllegalAction, "column 1000"),
        (lambda: ConnectFour([1.5]), IllegalAction, r"1.5"),
        (lambda: ConnectFour(columns=8, rows=8), ConfigError, r"8 columns.*8 rows"),
        (lambda: ConnectFour(columns=0), ConfigError, "0 columns"),
        (lambda: ConnectFour(rows=-1), ConfigError, r"rows.*-1"),
        (lambda: ConnectFour.from_rows("x./.o"), IllegalPosition, "under"),
        (lambda: ConnectFour.from_rows("xy"), IllegalPosition, "'y'"),
    ],
)
def test_what_cannot_be_made(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


@pytest.mark.parametrize(
    ("moves", "action", "error"),
    [
        ("444444", 3, IllegalAction),
        ("4", 7, IllegalAction),
        ("4", -1, IllegalAction),
        ("1212121", 3, GameOver),
        ("4", None, IllegalAction),
    ],
)
def test_a_refused_move_changes_nothing(moves, action, error):
    game = ConnectFour(moves)
    with pytest.raises(error):
        game.apply(action)
    assert game == ConnectFour(moves)


def test_names_are_of_legal_actions():
    game = ConnectFour("444444")
    for text in ("4", "0", "8", "", "one", "+1"):
        with pytest.raises(IllegalAction, match=re.escape(text) if text else None):
            game.string_to_action(text)
    with pytest.raises(IllegalAction):
        game.action_to_string(7)


def test_states_change_so_they_have_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(ConnectFour())
    assert ConnectFour() != "a game"
    assert ConnectFour() != ConnectFour(columns=6)


@given(picks)
def test_the_mirror_maps_observations_and_actions(actions):
    (_, (mirror, permutation)) = ConnectFour().symmetries()
    game, image = ConnectFour(), ConnectFour()
    for action in actions:
        if action in game.legal_actions():
            game.apply(action)
            image.apply(permutation[action])
    np.testing.assert_array_equal(mirror(game.observation()), image.observation())
