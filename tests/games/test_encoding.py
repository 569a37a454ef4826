"""Encodings of chess: the game's methods, and the search's use of an evaluator's encoding."""

from __future__ import annotations

import numpy as np
import pytest

import sylvan
from sylvan.errors import ConfigError, EvaluationError, GameContractError, IllegalAction
from sylvan.games import Chess, TicTacToe
from sylvan.games.chess import expand_planes
from sylvan.games.encoding import CODECS, ENCODERS, HISTORY_FILLS, Encoding
from sylvan.testing import check_game

MAIA = Encoding(encoder="lc0_112", codec="lc0")


class Network:
    """An evaluator with an encoding, which records its inputs."""

    name = "network"

    def __init__(self, encoding, whole=True):
        self.encoding, self.whole = encoding, whole
        self.shapes = set()

    def __call__(self, leaves):
        self.shapes.add((leaves.observations.shape[1], leaves.num_logits))
        rows = np.tile(np.arange(leaves.num_logits, dtype=np.float32), (len(leaves), 1)) / 100
        if self.whole:
            return rows, np.zeros(len(leaves))
        owner = np.repeat(np.arange(len(leaves)), np.diff(leaves.offsets))
        return rows[owner, leaves.logit_indices], np.zeros(len(leaves))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("codec", CODECS)
def test_a_game_shows_itself_as_asked(encoder, codec):
    for fill in HISTORY_FILLS:
        encoding = Encoding(encoder, codec, fill)
        game = Chess(moves="e4 e5", encoder=encoder, codec=codec, history_fill=fill)
        assert game.encoding == encoding == game.clone().encoding
        assert game == Chess(moves="e4 e5").encoded(encoding)
        assert game.num_logits == encoding.num_logits == CODECS[codec]
        expanded = expand_planes(game.observation()[None], encoder)
        assert expanded.shape == (1, *encoding.observation_shape)
        assert eval(repr(game), {"Chess": Chess}) == game  # noqa: S307
        assert game.encoded(Encoding()) == Chess(moves="e4 e5")


@pytest.mark.parametrize("encoder", ENCODERS)
def test_it_keeps_the_contract_of_a_game_in_every_encoding(encoder):
    check_game(Chess("8/P5k1/8/8/8/8/1K5p/8 w - - 0 60", encoder=encoder, codec="lc0"), games=2)


def test_the_encoding_is_part_of_key_and_equality_but_not_of_the_position():
    plain, shown = Chess(), Chess().encoded(MAIA)
    assert plain != shown and plain.key() != shown.key() and plain.zobrist == shown.zobrist
    assert plain.legal_actions() == shown.legal_actions()
    assert shown.encoded(None) == shown and plain.encoding == Encoding()


def test_search_shows_positions_as_the_evaluator_reads_them():
    for whole in (True, False):
        network = Network(MAIA, whole)
        search = sylvan.Search(network, simulations=30)
        result = search.run(Chess())
        assert network.shapes == {(112, 1858)}
        # The largest logit at the start is that of the last legal output: h2h4.
        priors = {edge.action: edge.P for edge in result.tree.root.edges}
        assert max(priors, key=priors.__getitem__) == Chess().string_to_action("h4")
        search.advance(result.best)
        search.run()
        assert search.state.encoding == MAIA


def test_both_forms_of_a_policy_mean_the_same():
    game = Chess("r3k2r/P6P/8/8/8/8/p6p/R3K2R w KQkq - 0 1")
    whole, legal = (
        sylvan.search(game, evaluator=Network(MAIA, whole), simulations=200, seed=3)
        for whole in (True, False)
    )
    assert [edge.N for edge in whole.tree.root.edges] == [edge.N for edge in legal.tree.root.edges]


def test_a_forest_says_how_to_encode():
    states = [Chess(), Chess(moves="e4")]
    with pytest.raises(ConfigError, match=r"state\.encoded\(evaluator\.encoding\)"):
        sylvan.Forest(states, simulations=5).run(Network(MAIA))
    forest = sylvan.Forest([state.encoded(MAIA) for state in states], simulations=5)
    forest.run(Network(MAIA))
    with pytest.raises(ConfigError, match="state"):
        forest.plant(0, Chess())
    with pytest.raises(ConfigError, match="State 1"):
        sylvan.Forest([Chess(), Chess().encoded(MAIA)], simulations=5)


def test_policies_of_another_codec_are_refused():
    forest = sylvan.Forest([Chess().encoded(MAIA)], simulations=5)
    leaves = forest.select()
    assert leaves is not None
    with pytest.raises(EvaluationError, match="1858"):
        forest.update(np.zeros((1, 4672), np.float32), np.zeros(1))


def test_games_without_encodings():
    game = TicTacToe()
    assert game.encoding is None and game.num_logits == 9 and game.logit_index(4) == 4
    assert game.encoded(None) == game
    with pytest.raises(ConfigError, match=r"TicTacToe.*encoding"):
        sylvan.search(game, evaluator=Network(MAIA), simulations=5)
    forest = sylvan.Forest([game], simulations=5)
    leaves = forest.select()
    assert leaves is not None and (leaves.logit_indices == leaves.actions).all()


class Halved(TicTacToe):
    """A game written in Python whose policy has an output for every second index only."""

    num_logits = 18

    def legal_actions(self):
        return super().legal_actions()

    def logit_index(self, action):
        return 2 * action + self.shift

    shift = 0


def test_a_game_in_python_may_say_where_its_logits_are():
    forest = sylvan.Forest([Halved()], simulations=5)
    leaves = forest.select()
    assert leaves is not None and leaves.num_logits == 18
    assert leaves.logit_indices.tolist() == [2 * action for action in leaves.actions]
    row = np.full((1, 18), -np.inf, np.float32)
    row[0, 10] = 0
    forest.update(row, np.zeros(1))
    assert [edge.action for edge in forest.result().tree.root.edges if edge.P == 1] == [5]


def test_an_index_beyond_the_outputs_breaks_the_contract():
    class Beyond(Halved):
        shift = 5

    forest = sylvan.Forest([Beyond()], simulations=5)
    forest.select()
    with pytest.raises(GameContractError, match=r"num_logits.*18"):
        forest.update(np.zeros((1, 18), np.float32), np.zeros(1))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Encoding(encoder="lc0"), ConfigError, ["encoder is 'lc0'", "lc0_112"]),
        (lambda: Encoding(codec="uci"), ConfigError, ["codec is 'uci'", "az73, lc0"]),
        (lambda: Encoding(history_fill=True), ConfigError, ["history_fill is True", "always"]),
        (lambda: Chess(encoder="lc0"), ConfigError, ['encoder is "lc0"', "'lc0_112'"]),
        (lambda: Chess(codec="uci"), ConfigError, ['codec is "uci"', "'az73' or 'lc0'"]),
        (lambda: Chess().logit_index(0), IllegalAction, ["Action 0"]),
        (lambda: Chess().action_at_logit(0), IllegalAction, ["output 0", "az73"]),
        (lambda: Chess().action_at_logit(-1), IllegalAction, ["output -1"]),
        (
            lambda: expand_planes(np.zeros((1, 112), np.uint64), "az119"),
            ConfigError,
            ["112 planes", "az119 has 119"],
        ),
        (lambda: expand_planes(np.zeros((1, 1), np.uint64), "x"), ConfigError, ["planes18"]),
    ],
)
def test_wrong_input_is_told_the_rule_and_the_fix(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), str(caught.value)
