"""The answers of one state's methods, and the rules that concern a single state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sylvan.games.game import Observation
from sylvan.testing.probe import Probe

# Tolerance of sums of probabilities and of rewards.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class View:
    """Answers of a state's methods; None for methods that the search does not call there."""

    is_terminal: bool
    is_chance: bool
    to_play: int | None
    legal_actions: tuple[int, ...]
    chance_outcomes: tuple[tuple[int, float], ...]
    observation: Observation | None
    returns: tuple[float, ...] | None
    rewards: tuple[float, ...]
    key: bytes | None

    @property
    def codes(self) -> tuple[int, ...]:
        """The actions that can be applied here."""
        return tuple(code for code, _ in self.chance_outcomes) or self.legal_actions

    def difference(self, other: View, ignore: Sequence[str] = ()) -> str | None:
        """Return the first method whose answers differ, in the order of the fields, or None."""
        for name in vars(self):
            mine, yours = getattr(self, name), getattr(other, name)
            same = np.array_equal(mine, yours) if name == "observation" else mine == yours
            if not same and name not in ignore:
                return name
        return None

    def answer(self, name: str) -> str:
        """Return a method's answer as text, shortened for messages."""
        text = " ".join(str(getattr(self, name)).split())
        return text if len(text) <= 60 else text[:57] + "..."


def read_twice(probe: Probe) -> View:
    """Read a state's view twice and check that the answers are equal."""
    view, again = read_view(probe), read_view(probe)
    name = view.difference(again)
    if name is not None:
        probe.fail(
            f"{name}()",
            f"gives {view.answer(name)} and then {again.answer(name)} in the same state",
            "use only the state, and change nothing",
        )
    _logits(probe, view.legal_actions)
    return view


def read_view(probe: Probe) -> View:
    """Read a state's view and check the form of the answers."""
    is_terminal, is_chance = _flag(probe, "is_terminal"), _flag(probe, "is_chance")
    if is_terminal and is_chance:
        probe.fail("is_chance()", "is True in a finished game", "return False at the end")
    if is_terminal and len(probe.call("legal_actions")):
        probe.fail("legal_actions()", "lists actions in a finished game", "list none at the end")
    moves = not is_terminal and not is_chance
    return View(
        is_terminal=is_terminal,
        is_chance=is_chance,
        to_play=_seat(probe) if moves else None,
        legal_actions=_codes(probe, "legal_actions", probe.call("legal_actions")) if moves else (),
        chance_outcomes=_outcomes(probe) if is_chance else (),
        observation=_observation(probe) if moves else None,
        returns=_payment(probe, "returns") if is_terminal else None,
        rewards=_payment(probe, "rewards"),
        key=_key(probe),
    )


def _flag(probe: Probe, method: str) -> bool:
    answer = probe.call(method)
    if not isinstance(answer, bool | np.bool_):
        probe.fail(f"{method}()", f"gives {answer!r}", "return True or False")
    return bool(answer)


def _seat(probe: Probe) -> int:
    seat, seats = probe.call("to_play"), probe.state.num_players
    if not _is_code(seat) or not 0 <= seat < seats:
        probe.fail(
            "to_play()",
            f"gives {seat!r}, but the seats are 0 to {seats - 1}",
            "return the seat to move (where chance moves, is_chance() must be True)",
        )
    return int(seat)


def _is_code(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _codes(probe: Probe, method: str, codes: Sequence[Any]) -> tuple[int, ...]:
    """Check action codes, of a seat or of chance."""
    limit = probe.state.num_actions
    if len(codes) == 0:
        probe.fail(
            f"{method}()",
            "gives nothing although the game is not over",
            "list at least one action (a pass is an action), or end the game",
        )
    for code in codes:
        if not _is_code(code) or not 0 <= code < limit:
            probe.fail(
                f"{method}()",
                f"gives action {code!r}, but num_actions is {limit}",
                f"use whole numbers from 0 to {limit - 1}, or raise num_actions",
            )
    if len(set(codes)) < len(codes):
        twice = next(code for code in codes if list(codes).count(code) > 1)
        probe.fail(f"{method}()", f"gives action {twice} twice", "list every action once")
    return tuple(int(code) for code in codes)


def _logits(probe: Probe, actions: tuple[int, ...]) -> None:
    """Check that every legal action has its own policy output."""
    limit = getattr(probe.state, "num_logits", probe.state.num_actions)
    if not _is_code(limit) or limit < 1:
        probe.fail("num_logits", f"is {limit!r}", "set it to the number of policy outputs")
    if not hasattr(probe.state, "logit_index"):
        return
    owners: dict[int, int] = {}
    for action in actions:
        index = probe.call("logit_index", action)
        if not _is_code(index) or not 0 <= index < limit:
            probe.fail(
                "logit_index()",
                f"gives {index!r} for action {action}, but num_logits is {limit}",
                f"give a whole number from 0 to {limit - 1}",
            )
        if owners.setdefault(int(index), action) != action:
            probe.fail(
                "logit_index()",
                f"gives {index} for the actions {owners[int(index)]} and {action}",
                "give every legal action its own output",
            )


def _outcomes(probe: Probe) -> tuple[tuple[int, float], ...]:
    pairs = probe.call("chance_outcomes")
    try:
        codes = [code for code, _ in pairs]
        chances = [float(chance) for _, chance in pairs]
    except (TypeError, ValueError):
        probe.fail("chance_outcomes()", f"gives {pairs!r}", "return pairs (action, probability)")
    checked = _codes(probe, "chance_outcomes", codes)
    for code, chance in zip(checked, chances, strict=True):
        if not 0.0 < chance <= 1.0 + TOLERANCE:
            probe.fail(
                "chance_outcomes()",
                f"gives action {code} the probability {chance}",
                "list only possible outcomes, with probabilities above 0 and up to 1",
            )
    if abs(math.fsum(chances) - 1.0) > TOLERANCE:
        probe.fail(
            "chance_outcomes()",
            f"has probabilities that add up to {math.fsum(chances):.6g}",
            "make them add up to 1",
        )
    return tuple(zip(checked, chances, strict=True))


def _payment(probe: Probe, method: str) -> tuple[float, ...]:
    """Check the answer of `rewards` or `returns`: one finite number per seat."""
    paid, game = probe.call(method), probe.state
    try:
        payment = tuple(float(amount) for amount in paid)
    except (TypeError, ValueError):
        probe.fail(f"{method}()", f"gives {paid!r}", "return one number per seat")
    if len(payment) != game.num_players:
        probe.fail(
            f"{method}()",
            f"gives {len(payment)} numbers for {game.num_players} seats",
            "return one number per seat",
        )
    if not all(map(math.isfinite, payment)):
        probe.fail(f"{method}()", f"gives {payment}", "return finite numbers")
    if game.zero_sum and payment[0] != -payment[1]:
        probe.fail(
            f"{method}()",
            f"gives {payment} although zero_sum is True",
            "make one the negative of the other, or set zero_sum = False",
        )
    return payment


def _observation(probe: Probe) -> Observation:
    seen = probe.call("observation")
    if not isinstance(seen, np.ndarray) or seen.dtype.kind not in "biuf":
        kind = seen.dtype if isinstance(seen, np.ndarray) else type(seen).__name__
        probe.fail("observation()", f"gives {kind}", "return a NumPy array of numbers")
    if not np.isfinite(seen).all():
        probe.fail("observation()", "has entries that are not finite", "leave out NaN and inf")
    return seen.copy()


def _key(probe: Probe) -> bytes | None:
    key = probe.call("key")
    if key is not None and not isinstance(key, bytes):
        probe.fail("key()", f"gives a {type(key).__name__}", "return bytes, or None for no key")
    return key
