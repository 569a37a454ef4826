"""Practice without a search: who gets what credit, and that what pays becomes likelier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sylvan.games import Blob
from sylvan.networks import build_network, load_network
from sylvan.training.blob_practice import Practice, PracticeConfig, practise

SMALL = PracticeConfig(tables=40, batch=64, passes=1, average=0.0)


def practice(**settings: float) -> Practice:
    network = build_network("suits1x16", game=Blob(), seed=1)
    return Practice(network, SMALL.replace(**settings), "cpu")


def test_advantages_by_hand() -> None:
    """Three seats; seat 1 decides twice at the first table, seat 2 once at the second."""
    own = practice(trace=0.5)
    shares = np.full((2, 8), np.nan, np.float32)
    shares[0, :3], shares[1, :3] = (0.0, 1.0, 0.5), (0.9, 0.0, 0.6)
    values = np.zeros((3, 8), np.float32)
    values[0, :3], values[1, :3], values[2, :3] = (0.5, 0.5, 0.1), (0.4, 0.2, 0.2), (0.8, 0.4, 0.2)
    values[:, 3:] = 7.0  # of seats that nobody has
    rest = (np.zeros((1, 168), np.uint8), np.ones((1, 66), bool), np.zeros(1, np.int64))
    log = np.zeros(1, np.float32)
    asked = [
        (np.array([0]), np.array([1]), *rest, log, values[:1]),
        (np.array([1]), np.array([2]), *rest, log, values[1:2]),
        (np.array([0]), np.array([1]), *rest, log, values[2:]),
    ]
    turn = own._turn(asked, np.array([3, 3]), shares)
    # Expected utilities: 0.5 - 0.3, 0.4 - 0.2, 0.8 - 0.3; in the end 1 - 0.25 and 0.6 - 0.45.
    second = 0.75 - 0.5
    first = (0.5 - 0.2) + 0.5 * second
    assert turn.advantages == pytest.approx([first, 0.15 - 0.2, second])
    assert turn.shares[0, :3] == pytest.approx([1.0, 0.5, 0.0])  # from seat 1 on
    assert turn.shares[1, :3] == pytest.approx([0.6, 0.9, 0.0])  # from seat 2 on
    assert np.isnan(turn.shares[:, 3:]).all()


def test_a_turn_has_what_was_drawn() -> None:
    own = practice()
    turn = own.play()
    assert len(turn.actions) > 100
    assert turn.legal[np.arange(len(turn.actions)), turn.actions].all()
    assert (turn.legal.sum(axis=1) > 1).all()
    seen = own._unpacked(torch.from_numpy(turn.seen))
    assert np.array_equal(np.packbits(seen.numpy().astype(bool), axis=1), turn.seen)
    with torch.no_grad():
        policy = own.network(seen).policy.masked_fill(~torch.from_numpy(turn.legal), -np.inf)
    logs = torch.log_softmax(policy, 1).gather(1, torch.from_numpy(turn.actions)[:, None])
    assert np.allclose(logs[:, 0], turn.logs, atol=1e-5)


def test_what_pays_becomes_likelier() -> None:
    own = practice(entropy=0.0)
    turn = own.play()
    bids = turn.actions >= 52
    turn.advantages[:] = np.where(turn.actions == 52, 1.0, -1.0) * bids  # a bid of none pays

    def chance() -> float:
        seen = own._unpacked(torch.from_numpy(turn.seen[bids]))
        legal = torch.from_numpy(turn.legal[bids])
        with torch.no_grad():
            policy = own.network(seen).policy.masked_fill(~legal, -np.inf)
        return float(torch.softmax(policy, 1)[:, 52].mean())

    before = chance()
    for _ in range(5):
        own.learn(turn, 1e-3)
    assert chance() > before + 0.02


def test_it_goes_on_for_some_minutes(tmp_path: Path) -> None:
    told: list[str] = []
    network = build_network("suits1x16", game=Blob(), seed=1)
    practise(network, tmp_path, SMALL, minutes=0.01, device="cpu", tell=told.append)
    assert told and "decisions" in told[0]
    load_network(tmp_path / "networks" / "last.safetensors", game=Blob())
