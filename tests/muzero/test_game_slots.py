"""Game slots: native and Python slots give the same views and moves."""

from __future__ import annotations

import numpy as np
import pytest

from sylvan.errors import IllegalAction
from sylvan.games.naming import GameSpec
from sylvan.muzero.game_slots import CUT, FAILED, NativeGameSlots, PythonGameSlots
from sylvan.planning.outcomes import OVER, UNMOVED

GAMES = 12


@pytest.mark.parametrize("name", ["tictactoe", "connect4", "chess"])
def test_native_slots_equal_python_slots(name):
    spec, rng = GameSpec(name), np.random.default_rng(3)
    tables = [
        kind([spec.first() for _ in range(GAMES)]) for kind in (NativeGameSlots, PythonGameSlots)
    ]
    overs = 0
    for _ in range(80):
        one, two = (table.views() for table in tables)
        for name, array in one._asdict().items():
            np.testing.assert_array_equal(array, getattr(two, name), err_msg=name)
        actions = np.array([rng.choice(np.flatnonzero(legal)) for legal in one.legal])
        actions[rng.random(GAMES) < 0.2] = -1
        landings = [table.play(actions) for table in tables]
        for name, array in landings[0]._asdict().items():
            np.testing.assert_array_equal(array, getattr(landings[1], name), err_msg=name)
        np.testing.assert_array_equal(landings[0].turns == UNMOVED, actions < 0)
        for place in np.flatnonzero(landings[0].turns == OVER).tolist():
            overs += 1
            for table in tables:
                assert table.state(place).returns() == tuple(landings[0].returns[place])
                table.plant(place, spec.first())
    assert overs or spec.name == "chess"


def test_a_failing_game_does_not_affect_others():
    table = PythonGameSlots([GameSpec("connect4").first() for _ in range(3)])
    landings = table.play(np.array([0, 99, 1]))
    assert landings.turns.tolist() == [1, FAILED, 1]
    assert list(table.faults) == [1] and isinstance(table.faults[1], IllegalAction)
    assert table.play(np.array([0, -1, 1])).turns.tolist() == [0, UNMOVED, 0]
    assert not table.faults


def test_a_truncated_episode_still_has_a_view():
    pytest.importorskip("gymnasium", reason="Gymnasium is not installed (sylvan[gym])")
    spec = GameSpec("gym:CartPole-v1", {"max_episode_steps": 2})
    table = PythonGameSlots([spec.episode(1), spec.episode(2)])
    table.play(np.array([0, 0]))
    landings = table.play(np.array([1, -1]))
    assert landings.turns.tolist() == [CUT, UNMOVED] and landings.rewards.tolist() == [[1], [0]]
    views = table.views()
    assert views.cut.tolist() == [True, False] and views.legal.all()
    np.testing.assert_array_equal(views.observations[0], table.state(0).observation())
