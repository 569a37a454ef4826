"""Tic-tac-toe through its Python class, by full enumeration."""

from __future__ import annotations

import copy
import pickle
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from sylvan.errors import GameOver, IllegalAction
from sylvan.games import Game, TicTacToe
from sylvan.testing import check_game


def positions() -> dict[bytes, TicTacToe]:
    """Every reachable position, by key."""
    found, waiting = {}, [TicTacToe()]
    while waiting:
        game = waiting.pop()
        if game.key() in found:
            continue
        found[game.key()] = game
        for action in game.legal_actions():
            child = game.clone()
            child.apply(action)
            waiting.append(child)
    return found


def test_it_keeps_the_contract_of_a_game():
    assert isinstance(TicTacToe(), Game)
    assert check_game(TicTacToe).symmetries == 8


def test_every_position_has_its_text_copies_and_payments():
    everything = positions()
    assert len(everything) == 5478
    ends = {game.returns() for game in everything.values() if game.is_terminal()}
    assert ends == {(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)}
    for game in everything.values():
        assert TicTacToe(game.moves()) == game
        assert copy.copy(game) == copy.deepcopy(game) == game
        assert pickle.loads(pickle.dumps(game)) == game  # noqa: S301
    assert len({str(game) for game in everything.values()}) == 5478


def test_symmetries_permute_the_positions():
    everything = positions()
    seen = {game.observation().tobytes() for game in everything.values()}
    for turn, permutation in TicTacToe().symmetries():
        for game in everything.values():
            image = turn(game.observation())
            assert image.tobytes() in seen
            for action in game.legal_actions():
                assert not image[:, permutation[action] // 3, permutation[action] % 3].any()
    assert len({tuple(permutation) for _, permutation in TicTacToe().symmetries()}) == 8


def test_the_mover_sees_its_own_marks_first():
    seen = TicTacToe([4, 0, 8]).observation()
    assert seen.dtype == np.float32
    assert np.argwhere(seen).tolist() == [[0, 0, 0], [1, 1, 1], [1, 2, 2]]


def test_it_prints_and_draws():
    game = TicTacToe([4, 0, 8])
    assert repr(game) == "TicTacToe([4, 0, 8])"
    svg = game._repr_svg_()
    ElementTree.fromstring(svg)
    assert svg.count("<circle") == 1


@pytest.mark.parametrize(
    ("moves", "action", "error", "sentence"),
    [
        ([4], 4, IllegalAction, "Cell 4"),
        ([4], 9, IllegalAction, "cell 9"),
        ([4], -1, IllegalAction, "cell -1"),
        ([0, 3, 1, 4, 2], 8, GameOver, "over"),
        ([4], "0", IllegalAction, "'0'"),
    ],
)
def test_a_refused_move_changes_nothing(moves, action, error, sentence):
    game = TicTacToe(moves)
    with pytest.raises(error, match=sentence):
        game.apply(action)
    assert game == TicTacToe(moves)
    with pytest.raises(error):
        TicTacToe([*moves, action])


def test_names_are_of_legal_actions():
    game = TicTacToe([4])
    assert [game.string_to_action(str(cell)) for cell in game.legal_actions()] == [
        0, 1, 2, 3, 5, 6, 7, 8,
    ]  # fmt: skip
    for text in ("4", "9", "", "00"):
        with pytest.raises(IllegalAction):
            game.string_to_action(text)
    with pytest.raises(IllegalAction):
        game.action_to_string(9)
