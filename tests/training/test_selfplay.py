"""Self-play: what is recorded, and that it is the same however it came about."""

import numpy as np
import pytest

from sylvan.games.naming import GameSpec
from sylvan.planning import SearchConfig
from sylvan.training.selfplay import SelfPlay, SelfPlayConfig
from tests.planning.twins import skewed


def plain(spec, **settings):
    search = {
        name: settings.pop(name)
        for name in ("selection", "threads", "simulations", "noise", "forced_playouts")
        if name in settings
    }
    search = SearchConfig(**{"simulations": 12, "noise": True, **search})
    config = SelfPlayConfig(**{"games": 6, "positions": 60, "temperature_plies": 4, **settings})
    return SelfPlay(GameSpec(spec), config, seed=7, search=search)


def fields(record):
    """A record as something that can be compared to the bit."""
    return {
        name: value.tobytes() + str((value.dtype, value.shape)).encode()
        if isinstance(value, np.ndarray)
        else value
        for name, value in vars(record).items()
    }


GAMES = {"native": "connect4", "python": "examples/nim.py:Nim", "chance": "examples/pig.py:Pig"}


@pytest.mark.parametrize("spec", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize("selection", ["puct", "gumbel"])
def test_a_run_goes_on_from_its_state_to_the_bit(spec, selection):
    whole = plain(spec, selection=selection)
    for step in range(2):
        whole.play(skewed, step)
    saved = whole.state_dict()
    expected = [fields(record) for step in (2, 3) for record in whole.play(skewed, step)]
    resumed = plain(spec, selection=selection, threads=2)
    resumed.load_state_dict(saved)
    found = [fields(record) for step in (2, 3) for record in resumed.play(skewed, step)]
    assert expected and found == expected
    again, same = whole.state_dict(), resumed.state_dict()
    assert again.keys() == same.keys()
    for name, value in again.items():
        np.testing.assert_array_equal(value, same[name], err_msg=name)
