"""Strength by Elo: more Elo never gives fewer simulations."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.elo_ladder import STEPS, Meeting, expected, fitted, opponents, stockfish
from sylvan.players.strength import LADDER, STRONGEST, WEAKEST, strength


@given(st.integers(0, 4000), st.integers(0, 4000))
def test_more_elo_is_more_search(a, b):
    low, high = strength(min(a, b)), strength(max(a, b))
    assert low.simulations <= high.simulations and low.temperature >= high.temperature
    assert WEAKEST <= low.elo <= high.elo <= STRONGEST


def test_the_rungs_themselves():
    assert [strength(rung.elo) for rung in LADDER] == list(LADDER)
    assert list(LADDER) == sorted(LADDER, key=lambda rung: rung.elo)


@given(st.floats(900, 2600), st.sampled_from([100, 1000]))
def test_the_ladder_finds_an_elo_that_explains_the_games(elo, games):
    meetings = [
        Meeting(stockfish(skill), games, games * expected(elo, step))
        for skill, step in STEPS.items()
    ]
    found, error = fitted(meetings)
    assert abs(found - elo) < 1.0 and 0 < error < 400


def test_weak_rungs_play_the_next_stronger_rung():
    (above,) = opponents(WEAKEST, "net.onnx")
    assert above.elo == LADDER[1].elo and "mates=false" in above.text
    assert [o.name for o in opponents(1750, "net.onnx")] == ["skill 3", "skill 0", "skill 5"]
