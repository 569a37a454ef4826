"""A network of Blob as a player, in batches of hands, and as the evaluator of a search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sylvan
from sylvan import _native
from sylvan.blob.match import play_match
from sylvan.blob.network_player import NetworkPlayer, network_search
from sylvan.blob.players import Bot
from sylvan.blob.search import SearchPlayer
from sylvan.errors import NetworkError
from sylvan.evaluators import OnnxEvaluator
from sylvan.evaluators.serving import NetworkServer
from sylvan.games import Blob, TicTacToe
from sylvan.networks import build_network, export_onnx, save_network
from sylvan.planning import SearchConfig

RULES = Blob(4, 3)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "blob.onnx"
    export_onnx(build_network("suits1x16", game=Blob(), seed=3), path)
    return path


class OneByOne:
    """The same player, without batches."""

    def __init__(self, player: NetworkPlayer) -> None:
        self.player = player

    def choose(self, view: Blob, rng: _native.Rng) -> int:
        return self.player.choose(view, rng)


@pytest.mark.slow
@pytest.mark.parametrize("others", [Bot("counter"), Bot("random"), Bot("rollouts", deals=2)])
def test_rounds_side_by_side_are_rounds_one_by_one(file: Path, others: Bot) -> None:
    network = NetworkPlayer(file)
    together = play_match(network, others, 6, rules=RULES)
    alone = play_match(OneByOne(network), others, 6, rules=RULES)
    for one, two in zip(vars(together).values(), vars(alone).values(), strict=True):
        assert np.array_equal(one, two)


def test_two_networks_sit_at_one_table(file: Path) -> None:
    network = NetworkPlayer(file)
    report = play_match(network, NetworkPlayer(file), 5, rules=RULES)
    assert np.allclose(report.differences, 0)  # the same player in all seats of the same deals


def test_it_sees_its_own_cards_only(file: Path) -> None:
    network, rng = NetworkPlayer(file), _native.Rng(0)
    game = Blob(5, 4, seed=2)
    while not game.is_terminal():
        view = game.observe(game.to_play())
        action = network.choose(view, rng)
        assert all(network.choose(view.sample(seed), rng) == action for seed in range(3))
        game.apply(action)


@pytest.mark.parametrize("rivalry", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("players", [3, 5, 8])
def test_values_are_those_of_the_seats_at_the_table(
    file: Path, players: int, rivalry: float
) -> None:
    """The network's shares start with the observer; a search needs utilities by seat."""
    evaluator = OnnxEvaluator(file)
    game = Blob(players, 4, seed=1, rivalry=rivalry)
    for bid in (2, 0):
        game.bid(game.to_play(), bid)
    seat = game.to_play()
    view = game.observe(seat)
    forest = sylvan.Forest([view], sylvan.SearchConfig(simulations=2))
    leaves = forest.select()
    assert leaves is not None and leaves.seats.tolist() == [seat]
    _, values = evaluator(leaves)
    shares = evaluator.infer(view.observation()[None]).value[0, :players].astype(np.float64)
    for place, share in enumerate(shares):
        others = (shares.sum() - share) / (players - 1)
        assert values[0, (seat + place) % players] == pytest.approx(
            share - rivalry * others, abs=1e-5
        )


def test_a_search_asks_it(file: Path) -> None:
    game = Blob(6, 3, seed=5)
    seat = game.to_play()
    search = sylvan.Search(OnnxEvaluator(file), simulations=64, seed=1)
    result = search.run(game.observe(seat))
    assert result.simulations == 64 and result.best in game.legal_actions()
    swapped = game.observe(seat).sample(9)  # other hands, the same view
    again = sylvan.Search(OnnxEvaluator(file), simulations=64, seed=1).run(swapped.observe(seat))
    visits = [[edge.N for edge in found.tree.root.edges] for found in (result, again)]
    assert visits[0] == visits[1]


def test_what_it_likes_is_a_distribution_over_what_is_legal(file: Path) -> None:
    network, game = NetworkPlayer(file), Blob(4, 3, seed=6)
    view = game.observe(game.to_play())
    likes = network.likes(view)
    assert sum(likes) == pytest.approx(1) and len(likes) == len(view.legal_actions())
    assert view.legal_actions()[int(np.argmax(likes))] == network.choose(view, _native.Rng(0))


def test_an_opinion_is_half_of_the_roots_priors() -> None:
    """The other half is the card counter's priors, which are equal at the own seat."""
    game = Blob(4, 3, seed=6)
    view = game.observe(game.to_play())
    sure = [0.0, 0.0, 1.0, 0.0]
    player = SearchPlayer(SearchConfig(simulations=20), opinion=lambda _: sure)
    result = player.search(view, _native.Rng(3))
    assert [edge.P for edge in sorted(result.tree.root.edges, key=lambda edge: edge.action)] == (
        pytest.approx([0.125, 0.125, 0.625, 0.125], abs=1e-6)
    )
    assert player.name == "network_search:20"


def test_a_search_with_an_opinion_does_not_peek(file: Path) -> None:
    player, game = network_search(file, 200), Blob(5, 4, seed=8)
    seat = game.to_play()
    visits = []
    for hands in (game, game.observe(seat).sample(1), game.observe(seat).sample(2)):
        result = player.search(hands.observe(seat), _native.Rng(4))
        visits.append([edge.N for edge in result.tree.root.edges])
    assert visits[0] == visits[1] == visits[2]


def test_other_networks_are_refused(tmp_path: Path) -> None:
    export_onnx(build_network("mlp1x8", game=TicTacToe(), seed=0), tmp_path / "other.onnx")
    with pytest.raises(NetworkError, match=r"tic_tac_toe.*blob"):
        NetworkPlayer(tmp_path / "other.onnx")


def test_a_checkpoint_of_pytorch_plays_the_same(file: Path, tmp_path: Path) -> None:
    """`sylvan practise` writes nothing else."""
    save_network(build_network("suits1x16", game=Blob(), seed=3), tmp_path / "blob.safetensors")
    players = NetworkPlayer(tmp_path / "blob.safetensors"), NetworkPlayer(file)
    one, two = [play_match(player, Bot("rule"), 2, rules=RULES) for player in players]
    assert (one.differences == two.differences).all()


def test_a_network_of_a_server_plays_the_same(file: Path, tmp_path: Path) -> None:
    local = OnnxEvaluator(file, threads=1)
    with NetworkServer(local, f"socket:{tmp_path / 'n'}"):
        served = NetworkPlayer(f"socket:{tmp_path / 'n'}")
        one, two = [
            play_match(player, Bot("rule"), 3, rules=RULES)
            for player in (served, NetworkPlayer(file))
        ]
    assert (one.differences == two.differences).all()
