"""The actor: games planned with a model, to the bit the same however they came about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sylvan.games.naming import GameSpec
from sylvan.muzero import Actor
from sylvan.planning import SearchConfig
from sylvan.training.selfplay_config import SelfPlayConfig
from tests.muzero.toy_models import Hashed

pytest.importorskip("gymnasium", reason="Gymnasium is not installed (sylvan[gym])")

EXAMPLES = Path(__file__).parents[2] / "examples"
NIM = f"{EXAMPLES / 'nim.py'}:Nim"
SEARCH = set(SearchConfig.model_fields)
CARTPOLE = "gym:CartPole-v1"


def actor(name, seed=7, params=None, **settings):
    """An actor with settings of either kind."""
    search = {name: settings.pop(name) for name in SEARCH & settings.keys() - {"temperature"}}
    search = SearchConfig(**{"simulations": 6, "noise": True, **search})
    config = SelfPlayConfig(**{"games": 6, "positions": 90, "temperature_plies": 4, **settings})
    return Actor(GameSpec(name, params or {}), config, seed, search)


def model_of(name, params=None):
    first = GameSpec(name, params or {}).first()
    return Hashed(first.num_actions, first.num_players)


def fields(record):
    """A record as something that can be compared to the bit."""
    return {
        name: (str(value.dtype), value.shape, value.tobytes())
        if isinstance(value, np.ndarray)
        else value
        for name, value in vars(record).items()
    }


def check(record, spec):
    """A record is one play of the game with its seed, and its targets are what they say."""
    state = spec.episode(record.seed)
    for ply, (action, seat) in enumerate(zip(record.actions, record.seats, strict=True)):
        assert not state.is_terminal() and seat == state.to_play()
        legal, target = record.legal(ply), record.target(ply)
        if len(legal):
            assert sorted(legal.tolist()) == sorted(state.legal_actions())
            np.testing.assert_allclose(target.sum(), 1, atol=1e-6)
            assert target[legal.tolist().index(action)] > 0
            if record.observations is not None:
                np.testing.assert_array_equal(record.observations[ply], state.observation())
        state.apply(int(action))
        if record.rewards is not None:
            np.testing.assert_allclose(record.rewards[ply], state.rewards())
    if record.ending == "end":
        assert state.is_terminal() and not getattr(state, "truncated", False)
        np.testing.assert_allclose(record.returns, state.returns())


@pytest.mark.parametrize("name", [CARTPOLE, "tictactoe", "connect4", NIM])
def test_records_are_plays_of_the_game(name):
    spec, played = GameSpec(name), actor(name)
    records = [record for step in range(3) for record in played.play(model_of(name), step)]
    assert len(records) > 5
    for record in records:
        check(record, spec)
        assert record.ending == "end"
    assert played.statistics.positions == 90
