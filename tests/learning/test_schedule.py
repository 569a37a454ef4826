"""The learning rate, compared with values computed by hand."""

from math import cos, pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.errors import ConfigError
from sylvan.learning.schedule import ScheduleConfig, learning_rate

PLAIN = {"learning_rate": 2.0, "warmup": 0.0, "final_decay": 0.0}


def rates(*progress, **settings):
    config = ScheduleConfig(**(PLAIN | settings))
    return [learning_rate(config, each) for each in progress]


def test_constant():
    assert rates(0.0, 0.5, 1.0, schedule="constant") == [2.0, 2.0, 2.0]


def test_cosine_from_the_maximum_to_the_floor():
    found = rates(0.0, 1 / 3, 0.5, 1.0, schedule="cosine", floor=0.1)
    quarter = 2.0 * (0.1 + 0.9 * (1 + cos(pi / 3)) / 2)
    assert found == pytest.approx([2.0, quarter, 1.1, 0.2])


def test_exponential_from_the_maximum_to_the_floor():
    found = rates(0.0, 0.5, 1.0, schedule="exponential", floor=0.01)
    assert found == pytest.approx([2.0, 0.2, 0.02])


def test_steps():
    settings = {"schedule": "step", "drops": (0.5, 0.75), "drop_factor": 0.1}
    found = rates(0.0, 0.49, 0.5, 0.74, 0.75, 1.0, **settings)
    assert found == pytest.approx([2.0, 2.0, 0.2, 0.2, 0.02, 0.02])


def test_warm_up_is_linear():
    found = rates(0.0, 0.05, 0.1, 0.2, schedule="constant", warmup=0.2)
    assert found == pytest.approx([0.0, 0.5, 1.0, 2.0])


def test_the_final_decay_ends_at_zero():
    found = rates(0.8, 0.9, 0.95, 1.0, schedule="constant", final_decay=0.2)
    assert found == pytest.approx([2.0, 1.0, 0.5, 0.0])


@given(
    st.sampled_from(["constant", "cosine", "exponential", "step"]),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_after_the_warm_up_the_rate_never_rises_and_ends_at_zero(schedule, one, two):
    config = ScheduleConfig(schedule=schedule)
    early, late = sorted((one, two))
    if early >= config.warmup:
        assert learning_rate(config, early) >= learning_rate(config, late) - 1e-15
    assert 0 <= learning_rate(config, one) <= config.learning_rate
    assert learning_rate(config, 1.0) == 0.0


def test_progress_is_clipped_to_the_unit_interval():
    assert rates(-1.0, 7.0, schedule="cosine") == rates(0.0, 1.0, schedule="cosine")


def test_the_error_names_an_invalid_setting():
    with pytest.raises(ConfigError, match=r"schedule.floor.*2"):
        ScheduleConfig(floor=2)
