"""The network for cards: suits are alike to it, one serves all tables, and it needs no PyTorch."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sylvan import _native
from sylvan.blob.players import Bot
from sylvan.errors import NetworkError
from sylvan.evaluators import OnnxEvaluator
from sylvan.games import Blob, ConnectFour
from sylvan.networks import build_network, export_onnx

SUITS = ["spades", "hearts", "clubs", "diamonds", "none"]


def network(seed: int = 1) -> torch.nn.Module:
    built = build_network("suits2x32", game=Blob(), seed=seed)
    with torch.no_grad():  # the last layers begin near zero, where nothing could be told apart
        for parameter in built.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.manual_seed(seed)))
    return built.eval()


def middle_of_a_round(order: tuple[int, ...], plies: int) -> Blob:
    """The same round with its suits in another order."""
    game = Blob(4, 5, sequence="single", trump="hearts", seed=3)
    hands = [game.hand(seat) for seat in range(4)]
    moved = [[order[card // 13] * 13 + card % 13 for card in hand] for hand in hands]
    other = Blob(4, 5, sequence="single", trump=SUITS[order[1]], seed=None)
    other.deal(moved)
    rng = _native.Rng(0)
    for _ in range(plies):
        action = Bot("counter").choose(game, rng)
        game.apply(action)
        other.apply(order[action // 13] * 13 + action % 13 if action < 52 else action)
    return other


@pytest.mark.parametrize("plies", [2, 9, 15])
def test_suits_are_alike(plies: int) -> None:
    orders = list(permutations(range(4)))
    seen = [middle_of_a_round(order, plies).observation() for order in orders]
    with torch.no_grad():
        output = network()(torch.from_numpy(np.stack(seen)))
    policy: NDArray[np.float32] = output.policy.numpy()
    for order, logits in zip(orders, policy, strict=True):
        cards = np.concatenate([np.arange(13) + 13 * suit for suit in order])
        assert np.allclose(logits[cards], policy[0, :52], atol=1e-4)
        assert np.allclose(logits[52:], policy[0, 52:], atol=1e-4)
    assert np.allclose(output.value, output.value[:1], atol=1e-5)
    assert np.ptp(policy[0, :52]) > 1e-2  # it says something


@pytest.mark.slow
def test_one_network_serves_all_tables(tmp_path: Path) -> None:
    built = network()
    export_onnx(built, tmp_path / "blob.onnx")
    evaluator = OnnxEvaluator(tmp_path / "blob.onnx")
    for players in range(3, 9):
        game = Blob(players, min(6, 52 // players), seed=players)
        evaluator.header.check(game)
        answer = evaluator.infer(game.observation()[None])
        assert answer.policy.shape == (1, 66) and answer.value.shape == (1, 8)
        assert ((answer.value >= 0) & (answer.value <= 1)).all()


def test_it_is_for_cards_alone() -> None:
    with pytest.raises(NetworkError, match="Blob"):
        build_network("suits2x32", game=ConnectFour())
    with pytest.raises(NetworkError, match="bids_and_cards"):
        build_network("mlp2x32", game=Blob(), policy="bids_and_cards")
