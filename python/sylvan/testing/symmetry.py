"""The rule of `symmetries()`: a play with permuted actions shows the mapped observations."""

from __future__ import annotations

import numpy as np

from sylvan.games.game import Observation, Symmetry
from sylvan.testing.play import Play
from sylvan.testing.probe import Probe
from sylvan.testing.view import TOLERANCE, View, look

FIX = "map observations and actions in the same way"


def read_symmetries(start: Probe) -> list[Symmetry]:
    """The game's symmetries, each a map and a permutation of all action codes."""
    limit = start.state.num_actions
    symmetries = list(start.ask("symmetries"))
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
                f"has in entry {index} a list that is no permutation of 0 to {limit - 1}",
                "list for every action code the code that it becomes",
            )
    return symmetries


def is_own_image(start: Probe, symmetry: Symmetry, index: int) -> bool:
    """Whether a state looks the same after the map; a play from another cannot be compared."""
    seen = look(start).observation
    return seen is None or np.array_equal(_mapped(start, symmetry, index, seen), seen)


def check_symmetry(play: Play, symmetry: Symmetry, index: int) -> None:
    """Play the permuted actions beside the original ones."""
    permutation = [int(code) for code in symmetry[1]]
    probe = play.start.clone()
    for ply, view in enumerate(play.views):
        if ply:
            probe.apply(permutation[play.actions[ply - 1]])
        image = look(probe)
        name = _difference(view, image, permutation)
        if name is not None:
            probe.fail(
                "symmetries()",
                f"entry {index} leads to {name}() = {image.told(name)}, "
                f"but its original has {view.told(name)}",
                FIX,
            )
        seen = view.observation
        if seen is None or image.observation is None:
            continue
        if not np.array_equal(_mapped(probe, symmetry, index, seen), image.observation):
            probe.fail(
                "symmetries()",
                f"entry {index} maps the observation to another one than its permuted play shows",
                FIX,
            )


def _difference(view: View, image: View, permutation: list[int]) -> str | None:
    """The first method whose answer is not what the permutation makes of the original's."""
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
    image: Observation = probe.call(f"symmetries()[{index}][0]", symmetry[0], seen)
    return image
