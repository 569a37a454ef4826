"""Game slots: native and Python slots, here and in processes, give the same views and moves."""

from __future__ import annotations

import numpy as np
import pytest

from sylvan.errors import IllegalAction
from sylvan.games.naming import GameSpec
from sylvan.muzero.game_keeper import GameKeeper
from sylvan.muzero.game_slots import NativeGameSlots, PythonGameSlots
from sylvan.muzero.starts import Order, Starts
from sylvan.muzero.turns import CUT, FAILED
from sylvan.planning.outcomes import OVER, UNMOVED
from sylvan.selfplay.config import SelfPlayConfig

GAMES = 12
CONFIG = SelfPlayConfig()


def native_slots(spec, count, config=CONFIG):
    slots = NativeGameSlots(Starts(spec, config), config.verdict, count)
    return begun(slots, range(count))


def python_slots(spec, count, config=CONFIG):
    return begun(PythonGameSlots(GameKeeper(spec, config), spec.first(), count), range(count))


def begun(slots, which):
    slots.begin({slot: Order(slot, slot, 100 + slot) for slot in which})
    return slots


@pytest.mark.parametrize("name", ["tictactoe", "connect4", "chess"])
@pytest.mark.parametrize("opening_share", [0.0, 1.0])
def test_native_slots_equal_python_slots(name, opening_share):
    spec, rng = GameSpec(name), np.random.default_rng(3)
    config = SelfPlayConfig(opening_share=opening_share)
    tables = [kind(spec, GAMES, config) for kind in (native_slots, python_slots)]
    everyone, overs = np.arange(GAMES), 0
    for _ in range(80):
        one, two = (table.views(everyone) for table in tables)
        for name, array in one._asdict().items():
            np.testing.assert_array_equal(array, getattr(two, name), err_msg=name)
        actions = np.array([rng.choice(np.flatnonzero(legal)) for legal in one.legal])
        actions[rng.random(GAMES) < 0.2] = -1
        landings = [table.play(actions) for table in tables]
        for name, array in landings[0]._asdict().items():
            np.testing.assert_array_equal(array, getattr(landings[1], name), err_msg=name)
        np.testing.assert_array_equal(landings[0].turns == UNMOVED, actions < 0)
        for slot in range(GAMES):
            assert tables[0].score(slot) == tables[1].score(slot)
        over = np.flatnonzero(landings[0].turns == OVER).tolist()
        overs += len(over)
        for table in tables:
            for slot in over:
                table.end(slot)
            begun(table, over)
    assert overs or spec.name == "chess"


def test_a_failing_game_does_not_affect_others():
    table = python_slots(GameSpec("connect4"), 3)
    landings = table.play(np.array([0, 99, 1]))
    assert landings.turns.tolist() == [1, FAILED, 1]
    assert list(table.faults) == [1] and isinstance(table.faults[1], IllegalAction)
    assert table.play(np.array([0, -1, 1])).turns.tolist() == [0, UNMOVED, 0]
    assert not table.faults


def test_a_truncated_episode_still_has_a_view():
    pytest.importorskip("gymnasium", reason="Gymnasium is not installed (sylvan[gym])")
    spec = GameSpec("gym:CartPole-v1", {"max_episode_steps": 2})
    table = python_slots(spec, 2)
    table.play(np.array([0, 0]))
    landings = table.play(np.array([1, -1]))
    assert landings.turns.tolist() == [CUT, UNMOVED] and landings.rewards.tolist() == [[1], [0]]
    views = table.views(np.arange(2))
    assert views.cut.tolist() == [True, False] and views.legal.all()
    state = spec.episode(100)
    state.apply(0)
    state.apply(1)
    np.testing.assert_array_equal(views.observations[0], state.observation())
