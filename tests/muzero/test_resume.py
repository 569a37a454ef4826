"""A run that learns its model, killed anywhere, ends with the same bits as one that was not.

Episodes in progress are played again from their seeds and actions.
"""

import signal

import pytest

from tests.training.killing import killed_at, load_everything, outcome_of, sitting, tiny_learned

pytest.importorskip("gymnasium")

STEPS = 4
KILLS = [("optimizer", 9), ("search", 40), ("shard", 2), ("checkpoint", 8), ("publish", 1)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    load_everything()
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert sitting(tiny_learned(STEPS), folder) == 0
    return outcome_of(folder, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "count"), KILLS)
def test_killed_and_taken_up_again(undisturbed, tmp_path, place, count):
    folder = tmp_path / "run"
    assert sitting(tiny_learned(STEPS), folder, killed_at(place, count)) == signal.SIGKILL
    assert sitting(tiny_learned(STEPS), folder) == 0
    assert outcome_of(folder, STEPS) == undisturbed
