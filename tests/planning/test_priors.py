"""Options of priors: temperature, floor, bonus of forcing actions."""

import chess
import numpy as np
import pytest

import sylvan
from sylvan import Search, SearchConfig, reference
from sylvan.games import Chess, ConnectFour
from tests.planning.test_equality import compare


def priors(**options):
    root = sylvan.search(ConnectFour(), simulations=0, evaluator="hash_random", **options).tree.root
    return np.array([root.edge(a).P for a in range(7)])


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_temperature_of_priors_is_a_power_of_them(temperature):
    powers = priors() ** (1 / temperature)
    found = priors(policy_temperature=temperature)
    np.testing.assert_allclose(found, powers / powers.sum(), rtol=1e-5)


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_no_prior_is_below_the_floor(temperature):
    plain = priors(policy_temperature=temperature)
    raised = np.maximum(plain, 0.6 * plain.max())
    assert (raised > plain).sum() > 1
    found = priors(policy_temperature=temperature, prior_floor=0.6)
    np.testing.assert_allclose(found, raised / raised.sum(), rtol=1e-5)


def test_an_impossible_action_has_no_floor():
    def answer(leaves):
        logits = np.zeros((len(leaves), 7))
        logits[:, 0] = -np.inf
        return logits, np.zeros(len(leaves))

    root = sylvan.search(ConnectFour(), simulations=0, evaluator=answer, prior_floor=0.5).tree.root
    assert root.edge(0).P < 1e-30


POSITIONS = [
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "4k3/8/8/8/8/8/8/4K2R w K - 0 1",
    "5k2/8/8/8/8/8/8/4K2R w K - 0 1",
]


@pytest.mark.parametrize("fen", POSITIONS)
def test_forcing_moves_are_captures_promotions_and_checks(fen):
    board, game = chess.Board(fen), Chess(fen)
    for move in board.legal_moves:
        forcing = board.is_capture(move) or bool(move.promotion) or board.gives_check(move)
        assert game.is_forcing(game.string_to_action(move.uci())) == forcing, move


def test_forcing_moves_have_a_bonus():
    game = Chess(POSITIONS[0])
    plain, raised = (
        sylvan.search(game, simulations=0, evaluator="uniform", forcing_bonus=b).tree.root
        for b in (0.0, 1.0)
    )
    weights = {e.action: e.P * np.e ** game.is_forcing(e.action) for e in plain.edges}
    for edge in raised.edges:
        assert edge.P == pytest.approx(weights[edge.action] / sum(weights.values()), rel=1e-5)


@pytest.mark.parametrize("transpositions", [False, True])
def test_core_equals_reference_on_forcing_moves(transpositions):
    def evaluate(states):
        return [([0.0] * len(s.legal_actions()), [0.0, 0.0]) for s in states]

    config = SearchConfig(
        simulations=150, forcing_bonus=0.7, prior_floor=0.1, transpositions=transpositions
    )
    game = Chess(POSITIONS[0])
    slow = reference.Search(game, evaluate, config)
    slow.run()
    compare(slow.root, Search("uniform", config).run(game).tree.root)
