"""Self-play in a game with hidden cards: searches, targets, and resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sylvan.games import Blob
from sylvan.games.naming import GameSpec
from sylvan.networks.checkpoint import read_checkpoint
from sylvan.planning import SearchConfig
from sylvan.replay.buffer import Replay
from sylvan.replay.record import GameRecord
from sylvan.replay.targets import TargetConfig, outcomes, value_targets
from sylvan.runs.config import TrainingConfig, merged
from sylvan.runs.loop import train
from sylvan.runs.presets import preset_settings
from sylvan.runs.watcher import Watcher
from sylvan.selfplay.selfplay import SelfPlay, SelfPlayConfig

SPEC = GameSpec("blob", {"players": 3, "cards": 2})


def records(seed: int = 1) -> list[GameRecord]:
    config = SelfPlayConfig(games=6, positions=300, max_plies=None)
    selfplay = SelfPlay(SPEC, config, seed, search=SearchConfig(simulations=6, noise=True))
    return selfplay.play(lambda _: "card_counter", step=1)


def test_records_are_games_and_values_are_about_rounds() -> None:
    found = records()
    assert len(found) > 3
    for record in found:
        game, begins = SPEC.first(), list[int]()
        searched = set(record.searched.tolist())
        z = outcomes(record, until_chance=True)
        for ply, action in enumerate(record.actions.tolist()):
            seat = -1 if game.is_chance() else game.to_play()
            assert seat == record.seats[ply]
            if ply in searched:
                assert set(record.legal(ply)) <= set(game.legal_actions())
                assert len(game.legal_actions()) > 1
            elif seat >= 0:
                assert game.legal_actions() == [action]  # a chance node
            if seat >= 0 and (not begins or record.seats[ply - 1] < 0):
                begins.append(ply)
            game.apply(action)
        assert game.is_terminal()
        assert len(begins) == len(game.sequence) == 5
        sizes = dict(zip(begins, game.sequence, strict=True))
        for begin, cards in sizes.items():
            assert ((z[begin] >= 0) & (z[begin] <= 1)).all()
            made = z[begin] * (10 + cards)
            assert np.allclose(made, np.round(made), atol=1e-4)  # whole points of that round
        total = sum(np.round(z[begin] * (10 + cards)) for begin, cards in sizes.items())
        assert np.array_equal(total, game.points)


def test_rows_have_the_seats_of_the_network(tmp_path: Path) -> None:
    targets = TargetConfig(until_chance=True)
    replay = Replay(tmp_path, SPEC, targets=targets, value="seats")
    found = records()
    replay.append(found)
    batch = replay.sample(64, np.random.default_rng(0))
    assert batch.value.shape == (64, 8)
    assert np.isnan(batch.value[:, 3:]).all() and not np.isnan(batch.value[:, :3]).any()
    for (number, ply), value in zip(batch.positions, batch.value, strict=True):
        record = found[number]
        row = record.searched.tolist().index(ply)
        assert np.allclose(value[:3], value_targets(record, targets, "seats")[row], atol=1e-6)


def settings(steps: int) -> TrainingConfig:
    own: dict[str, Any] = {
        "run": {"steps": steps, "minutes": None, "threads": 1, "device": "cpu"},
        "network": {"size": "suits1x16"},
        "search": {"simulations": 4},
        "selfplay": {"games": 6, "positions": 150},
        "learner": {"batch": 32},
        "arena": {"every": 0},
    }
    return TrainingConfig(**merged(preset_settings("blob", "cpu", **SPEC.params), own))


@pytest.mark.slow
def test_a_run_that_is_cut_goes_on_to_the_bit(tmp_path: Path) -> None:
    class Cut(Watcher):
        def game_ended(self, record: GameRecord) -> None:
            if self.steps == 3:
                raise Pulled

        def step_begin(self, step: int, progress: float) -> None:
            self.steps = step

    class Pulled(Exception):
        pass

    train(settings(4), tmp_path / "whole")
    with pytest.raises(Pulled):
        train(settings(4), tmp_path / "cut", watch=Cut())
    train(settings(4), tmp_path / "cut")
    networks = [
        read_checkpoint(tmp_path / name / "networks" / "last.safetensors")[1]
        for name in ("whole", "cut")
    ]
    assert networks[0].keys() == networks[1].keys()
    assert all(np.array_equal(networks[0][key], networks[1][key]) for key in networks[0])


def learned(folder: Path, steps: int, positions: int, size: str, simulations: int) -> Any:
    """A match of a network trained on rounds of two cards against random moves.

    The card counter wins by 10.7 points there.
    """
    from sylvan.blob.match import play_match
    from sylvan.blob.network_player import NetworkPlayer
    from sylvan.blob.players import Bot

    own: dict[str, Any] = {
        "run": {"steps": steps, "minutes": None, "threads": 1, "device": "cpu"},
        "network": {"size": size},
        "search": {"simulations": simulations},
        "selfplay": {"games": 64, "positions": positions},
        "arena": {"every": 0},
    }
    game = {"players": 3, "cards": 2}
    train(TrainingConfig(**merged(preset_settings("blob", "cpu", **game), own)), folder)
    player = NetworkPlayer(folder / "networks" / "best.onnx")
    return play_match(player, Bot("random"), 200, rules=Blob(**game))


@pytest.mark.slow
def test_it_learns_something(tmp_path: Path) -> None:
    """A few steps reach a third of the card counter's advantage over random moves."""
    report = learned(tmp_path, steps=5, positions=1000, size="suits1x32", simulations=8)
    assert report.difference > 3 and report.difference > 2 * report.half_width


@pytest.mark.soak
def test_it_learns_to_play(tmp_path: Path) -> None:
    """A minute reaches more than half of it."""
    report = learned(tmp_path, steps=8, positions=3000, size="suits1x64", simulations=24)
    assert report.difference > 5 and report.difference > 4 * report.half_width
