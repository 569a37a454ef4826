"""Colours: legible, safe for colour-blind readers, and always for one seat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylvan.views import snapshot
from sylvan.views.scale import STOPS, Scale, blend
from sylvan.views.theme import INK
from tests.views.trees import Edge, Node

# Full dichromacy, linear RGB: Machado, Oliveira and Fernandes 2009, severity 1.0.
PROTAN = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
DEUTAN = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
SAME = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def linear(colour: str) -> list[float]:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def luminance(colour: str) -> float:
    r, g, b = linear(colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@given(st.floats(-1, 1))
def test_ink_is_legible_on_every_colour(offset):
    """WCAG 2 requires a contrast of 4.5 for small text."""
    assert (luminance(blend(offset)) + 0.05) / (luminance(INK) + 0.05) >= 4.5


def test_colours_darken_away_from_the_middle():
    for side in (-1, 1):
        lights = [luminance(blend(side * step / 50)) for step in range(51)]
        assert lights == sorted(lights, reverse=True)
    ends_and_middle = [f"#{bytes(stop).hex()}" for stop in STOPS[::2]]
    assert [blend(-1), blend(0), blend(1)] == ends_and_middle


@pytest.mark.parametrize("eye", [SAME, PROTAN, DEUTAN], ids=["full", "protan", "deutan"])
@pytest.mark.parametrize("offset", [0.1, 0.3, 1.0])
def test_colour_blind_readers_can_distinguish_good_and_bad(eye, offset):
    """Blue exceeds red on one side and red exceeds blue on the other, for each kind of vision."""
    good, bad = (
        [sum(m * c for m, c in zip(row, linear(blend(o)), strict=True)) for row in eye]
        for o in (offset, -offset)
    )
    assert good[2] - good[0] > 0.05
    assert bad[0] - bad[2] > 0.05


@given(st.floats(-1e9, 1e9))
def test_values_beyond_the_range_are_clipped(value):
    scale = Scale(0, -1.0, 1.0)
    assert scale.colour(value) == blend(max(-1.0, min(1.0, value)))
    assert Scale(0, 2.0, 2.0).colour(value) == blend(0.0)


def tree(seat: int) -> Node:
    """Make a tree in which action 0 is good for seat 1."""
    other = Node("decision", 1 - seat, 5, (-0.6, 0.6), [Edge(0, "deep", 1.0, 2, 1.2)])
    return Node("decision", seat, 9, (0.2, -0.2), [Edge(0, "x", 0.5, 5, 3.0, child=other)])


@pytest.mark.parametrize(("seat", "values"), [(0, [0.2, -0.6, None]), (1, [-0.2, 0.6, None])])
def test_values_are_those_of_the_seat_at_the_root(seat, values):
    """The dropped node below has only `Q` for the other seat: no sign is flipped to guess it."""
    taken = snapshot(tree(seat))
    scale = Scale.of(taken)
    assert scale.seat == seat
    assert [scale.value(row, taken) for row in taken["nodes"]] == values


def test_the_range_covers_all_values():
    root = Node("decision", 0, 3, (7.0,), [Edge(0, "x", 1.0, 2, -8.0)])
    taken = snapshot(root)
    assert (Scale.of(taken).low, Scale.of(taken).high) == (-4.0, 7.0)
    taken["value_range"] = [0.0, 200.0]
    assert (Scale.of(taken).low, Scale.of(taken).high) == (-4.0, 200.0)
