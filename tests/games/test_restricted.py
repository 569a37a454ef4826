"""Roots restricted to a few moves, as in UCI's `searchmoves`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sylvan
from sylvan.errors import GameOver, IllegalAction
from sylvan.games import Chess
from tests.games.chess_games import boards


def test_only_these_moves_until_one_is_played():
    game = Chess().restricted(["e4", "d2d4", Chess().string_to_action("c4")])
    texts = {game.action_to_string(action) for action in game.legal_actions()}
    assert texts == {"c2c4", "d2d4", "e2e4"}
    assert game.clone().legal_actions() == game.legal_actions()
    assert game != Chess() and game.key() != Chess().key()
    assert game.restricted(None) == Chess()
    game.apply(game.string_to_action("e4"))
    assert game == Chess(moves="e4") and len(game.legal_actions()) == 20


@given(boards(), st.data())
def test_a_search_chooses_from_them_and_from_all_below(board, data):
    game = Chess.from_board(board)
    if game.is_terminal():
        return
    legal = game.legal_actions()
    some = data.draw(st.lists(st.sampled_from(legal), min_size=1, unique=True))
    restricted = game.restricted(some)
    # The order is that of the rules, for any order of the request.
    assert restricted.legal_actions() == [action for action in legal if action in some]
    evaluator = data.draw(st.sampled_from(["material", "uniform", "hash_random"]))
    tree = sylvan.search(restricted, simulations=60, evaluator=evaluator, seed=1).tree
    assert {edge.action for edge in tree.root.edges} == set(some)
    for edge in tree.root.edges:
        if edge.N and edge.child.kind == "decision":
            after = game.clone()
            after.apply(edge.action)
            assert {below.action for below in edge.child.edges} == set(after.legal_actions())


def test_the_tree_can_be_left_by_any_move():
    search = sylvan.Search("uniform", simulations=50)
    search.run(Chess().restricted(["e4"]))
    search.advance(Chess().string_to_action("d4"))
    assert len(search.run().tree.root.edges) == 20


def test_noise_is_for_the_moves_to_choose_from():
    game = Chess().restricted(["e4", "d4"])
    search = sylvan.Search("uniform", simulations=10, noise=True, dirichlet_fraction=0.5)
    result = search.run(game, noise=[1.0, 0.0])
    assert np.allclose([edge.P for edge in result.tree.root.edges], [0.75, 0.25])


def test_moves_that_cannot_be_chosen():
    game = Chess()
    with pytest.raises(IllegalAction, match="e2e5"):
        game.restricted(["e4", "e2e5"])
    with pytest.raises(IllegalAction, match=r"Action 0 \(a1a2\)"):
        game.restricted([0])
    with pytest.raises(IllegalAction, match="moves"):
        game.restricted([])
    with pytest.raises(GameOver):
        Chess(moves="f3 e5 g4 Qh4").restricted([0])
