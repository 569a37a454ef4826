"""Games that go wrong on demand, somewhere inside a search."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sylvan import Game
from tests.planning.random_games import NUM_ACTIONS, RandomGame, Shape


class Fault:
    """From its `calls`-th call on a method raises `error`, or gives `answer`."""

    def __init__(
        self,
        method: str,
        calls: int = 1,
        error: BaseException | None = None,
        answer: object = None,
    ) -> None:
        self.method, self.calls, self.error, self.answer = method, calls, error, answer

    def pass_through(self, method: str, truth: Any) -> Any:
        """Replace the true answer of the chosen method after its first calls."""
        if method != self.method:
            return truth
        self.calls -= 1
        if self.calls >= 0:
            return truth
        if self.error is not None:
            fail(self.error)
        return truth if self.answer is None else self.answer


def fail(error: BaseException) -> None:
    """Raise it, on a line of its own that a traceback can show."""
    raise error


SHAPE = Shape(seed=11, num_players=2, depth=12, branching=3, rewards=True, chance=0.3, stop=0.15)


class Faulty(RandomGame):
    """A random game for two with rewards and chance, and a fault that its copies share."""

    value_range = (-20.0, 20.0)

    def __init__(
        self, fault: Fault, shape: Shape = SHAPE, key: int | None = None, ply: int = 0
    ) -> None:
        super().__init__(shape, key, ply)
        self.fault = fault

    def clone(self) -> Faulty:
        copy = Faulty(self.fault, self.shape, self.hash, self.ply)
        return self.fault.pass_through("clone", copy)

    def apply(self, action: int) -> None:
        super().apply(action)
        self.fault.pass_through("apply", None)

    def legal_actions(self) -> Any:
        return self.fault.pass_through("legal_actions", super().legal_actions())

    def is_terminal(self) -> bool:
        return self.fault.pass_through("is_terminal", super().is_terminal())

    def to_play(self) -> Any:
        return self.fault.pass_through("to_play", super().to_play())

    def returns(self) -> Any:
        return self.fault.pass_through("returns", super().returns())

    def rewards(self) -> Any:
        first = self.draw(40, 9) / 4 - 1
        return self.fault.pass_through("rewards", [first, -first])

    def observation(self) -> Any:
        return self.fault.pass_through("observation", super().observation())

    def key(self) -> Any:
        return self.fault.pass_through("key", super().key())

    def is_chance(self) -> bool:
        return self.fault.pass_through("is_chance", super().is_chance())

    def chance_outcomes(self) -> Any:
        return self.fault.pass_through("chance_outcomes", super().chance_outcomes())


LAST = NUM_ACTIONS - 1

FAULTS = [
    pytest.param(method, answer, sentence, id=f"{method} {answer}")
    for method, answer, sentence in [
        ("to_play", 2, "gave 2: seats are 0 to 1"),
        ("to_play", -1, "gave -1: seats are 0 to 1"),
        ("to_play", "white", "gave 'white': seats are 0 to 1"),
        ("legal_actions", [0, 7], f"gave 7: actions are 0 to {LAST}"),
        ("legal_actions", [-1], f"gave -1: actions are 0 to {LAST}"),
        ("legal_actions", ["a"], f"gave 'a': actions are 0 to {LAST}"),
        ("legal_actions", [2**40], rf"gave {2**40}: actions are 0 to {LAST}"),
        ("legal_actions", [], "gave nothing in a state that is not terminal"),
        ("legal_actions", 3, "gave 3: it must give a list"),
        ("returns", [1.0], "gave 1 numbers for 2 seats: it must give one for each"),
        ("returns", [1.0, -1.0, 0.0], "gave 3 numbers for 2 seats"),
        ("returns", 1.0, "gave 1.0: it must give a number for each seat"),
        ("returns", ["a", "b"], r"gave \['a', 'b'\]: it must give a number for each seat"),
        ("returns", [math.nan, math.nan], "gave NaN: it must give finite numbers"),
        ("returns", [30.0, -30.0], r"gave 30, outside value_range \(-20, 20\)"),
        ("returns", [1.0, 1.0], "gave 1 and 1, but zero_sum is True: make them add up to 0"),
        ("rewards", [1.0], "gave 1 numbers for 2 seats"),
        ("rewards", [math.inf, -math.inf], "gave inf: it must give finite numbers"),
        ("rewards", [1.0, 0.0], "gave 1 and 0, but zero_sum is True"),
        ("chance_outcomes", [(0, 0.5), (1, 0.4)], "gave probabilities that add up to 0.9"),
        ("chance_outcomes", [(0, 1.5), (1, -0.5)], "gave the probability 1.5: it must be above 0"),
        ("chance_outcomes", [(0, math.nan)], "gave the probability NaN"),
        ("chance_outcomes", [(7, 1.0)], f"gave 7: actions are 0 to {LAST}"),
        ("chance_outcomes", [0, 1], "gave 0: it must give pairs of action and probability"),
        ("chance_outcomes", [], "gave probabilities that add up to 0"),
        ("chance_outcomes", 5, "gave 5: it must give a list"),
    ]
]


class Pass(Game):
    """A game of passes, with any kind of rules."""

    def __init__(
        self,
        *,
        chance: bool = False,
        seats: int = 1,
        actions: int = 1,
        span: tuple[float, float] = (-1.0, 1.0),
    ) -> None:
        self.num_players, self.num_actions = seats, actions
        self.value_range, self.chance = span, chance

    def legal_actions(self) -> list[int]:
        return [0]

    def apply(self, action: int) -> None:
        pass

    def clone(self) -> Pass:
        copy = Pass(seats=self.num_players, actions=self.num_actions, span=self.value_range)
        copy.chance = self.chance
        return copy

    def to_play(self) -> int:
        return 0

    def is_terminal(self) -> bool:
        return False

    def returns(self) -> list[float]:
        return [0.0] * self.num_players

    def observation(self) -> np.ndarray:
        return np.zeros(1, np.float32)

    def is_chance(self) -> bool:
        return self.chance

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(0, 1.0)]
