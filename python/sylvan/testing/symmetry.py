"""Rule of `symmetries()`: a play with permuted actions has the mapped observations."""

from __future__ import annotations

import numpy as np

from sylvan.games.game import Observation, Symmetry
from sylvan.testing.play import Play
from sylvan.testing.probe import Probe
from sylvan.testing.view import TOLERANCE, View, read_view

FIX = "map observations and actions in the same way"


def read_symmetries(start: Probe) -> list[Symmetry]:
    """Return the game's symmetries; check that each is a map and a permutation of action codes."""
    limit = start.state.num_actions
    symmetries = list(start.call("symmetries"))
    for index, pair in enumerate(symmetries):
        try:
            observation_map, permutation = pair
            codes = sorted(int(code) for code in permutation)
        except (TypeError, ValueError):
            start.fail("symmetries()", f"has the entry {pair!r}", "give pairs (map, permutation)")
        if not callable(observation_map):
            start.fail("symmetries()", f"has no callable map in entry {index}", "give a function")
        if codes != list(range(limit)):
            start.fail(
                "symmetries()",
                f"entry {index} is not a permutation of 0 to {limit - 1}",
                "list for every action code its image",
            )
    return symmetries


def is_own_image(start: Probe, symmetry: Symmetry, index: int) -> bool:
    """Return whether a map keeps a state's observation; only then can plays be compared."""
    seen = read_view(start).observation
    return seen is None or np.array_equal(_mapped(start, symmetry, index, seen), seen)


def check_symmetry(play: Play, symmetry: Symmetry, index: int) -> None:
    """Play the permuted actions and compare each state with the original play's."""
    permutation = [int(code) for code in symmetry[1]]
    probe = play.start.clone()
    for ply, view in enumerate(play.views):
        if ply:
            probe.apply(permutation[play.actions[ply - 1]])
        image = read_view(probe)
        name = _difference(view, image, permutation)
        if name is not None:
            probe.fail(
                "symmetries()",
                f"entry {index} leads to {name}() = {image.answer(name)}, "
                f"but the original play has {view.answer(name)}",
                FIX,
            )
        seen = view.observation
        if seen is None or image.observation is None:
            continue
        if not np.array_equal(_mapped(probe, symmetry, index, seen), image.observation):
            probe.fail(
                "symmetries()",
                f"entry {index} maps the observation to an array that differs from the permuted "
                "play's",
                FIX,
            )


def _difference(view: View, image: View, permutation: list[int]) -> str | None:
    """Return the first method whose answer is not the image of the original answer, or None."""
    if view.is_terminal != image.is_terminal:
        return "is_terminal"
    if view.is_chance != image.is_chance:
        return "is_chance"
    if view.to_play != image.to_play:
        return "to_play"
    if {permutation[code] for code in view.legal_actions} != set(image.legal_actions):
        return "legal_actions"
    expected, chances = {permutation[a]: p for a, p in view.chance_outcomes}, image.chance_outcomes
    if expected.keys() != dict(chances).keys() or any(
        abs(expected[code] - chance) > TOLERANCE for code, chance in chances
    ):
        return "chance_outcomes"
    if not np.allclose(view.rewards, image.rewards, rtol=TOLERANCE):
        return "rewards"
    if not np.allclose(view.returns or (), image.returns or (), rtol=TOLERANCE):
        return "returns"
    return None


def _mapped(probe: Probe, symmetry: Symmetry, index: int, seen: Observation) -> Observation:
    image: Observation = probe.run(f"symmetries()[{index}][0]", symmetry[0], seen)
    return image
