"""The contract of a game: defaults for subclasses, and errors at class creation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sylvan.games
from sylvan.errors import GameContractError, IllegalAction, SylvanError
from sylvan.games import Game
from sylvan.games.game import MAX_SEATS


class Stones(Game):
    """Only the required methods."""

    num_players = 2
    num_actions = 3

    def __init__(self, stones: int = 5) -> None:
        self.stones, self.seat = stones, 0

    def legal_actions(self) -> range:
        return range(min(3, self.stones))

    def apply(self, action: int) -> None:
        self.stones, self.seat = self.stones - action - 1, 1 - self.seat

    def clone(self) -> Stones:
        copy = type(self)(self.stones)
        copy.seat = self.seat
        return copy

    def to_play(self) -> int:
        return self.seat

    def is_terminal(self) -> bool:
        return self.stones == 0

    def returns(self) -> list[float]:
        return [-1.0, 1.0] if self.seat == 0 else [1.0, -1.0]

    def observation(self) -> np.ndarray[Any, Any]:
        return np.array([self.stones])


def test_defaults() -> None:
    game = Stones()
    assert game.zero_sum is True and game.value_range == (-1.0, 1.0) and game.max_length is None
    assert list(game.rewards()) == [0.0, 0.0]
    assert game.is_chance() is False and not game.chance_outcomes()
    assert game.key() is None and not game.symmetries()
    assert game.action_to_string(2) == "2" and game.string_to_action("2") == 2


@pytest.mark.parametrize("seats", range(1, MAX_SEATS + 1))
def test_zero_sum_follows_the_seats(seats: int) -> None:
    game_class: Any = type("Some", (Stones,), {"num_players": seats})
    assert game_class.zero_sum is (seats == 2)
    assert game_class().zero_sum is (seats == 2)


def test_zero_sum_follows_the_seats_of_an_instance() -> None:
    game = Stones()
    game.num_players = 3
    assert game.zero_sum is False
    game.zero_sum = True  # can be set on the instance, too
    assert game.zero_sum is True and Stones().zero_sum is True


def test_zero_sum_can_be_denied() -> None:
    assert type("Friends", (Stones,), {"zero_sum": False})().zero_sum is False


@pytest.mark.parametrize("seats", [0, -1, 9, 100])
def test_seats_are_checked_with_the_class(seats: int) -> None:
    with pytest.raises(GameContractError, match=rf"Crowd\.num_players.*{seats}"):
        type("Crowd", (Stones,), {"num_players": seats})


def test_actions_are_checked_with_the_class() -> None:
    with pytest.raises(GameContractError, match=r"num_actions.*0"):
        type("Idle", (Stones,), {"num_actions": 0})


def test_seats_may_be_a_property_or_set_later() -> None:
    type("Later", (Stones,), {"num_players": property(lambda self: 2)})


def test_must_be_complete() -> None:
    incomplete: Any = type("Half", (Game,), {"num_players": 1, "num_actions": 1})
    with pytest.raises(TypeError, match="abstract"):
        incomplete()


def test_names_follow_the_subclass() -> None:
    class Named(Stones):
        def action_to_string(self, action: int) -> str:
            return f"take {action + 1}"

    game = Named(2)
    assert game.string_to_action("take 2") == 1
    with pytest.raises(IllegalAction, match=r"'take 3'.*take 2"):
        game.string_to_action("take 3")
    with pytest.raises(ValueError, match="nothing"):
        Named(0).string_to_action("take 1")


def test_names_of_chance_outcomes() -> None:
    class Coin(Stones):
        num_actions = 9

        def is_chance(self) -> bool:
            return True

        def chance_outcomes(self) -> list[tuple[int, float]]:
            return [(7, 0.5), (8, 0.5)]

    assert Coin().string_to_action("8") == 8
    with pytest.raises(SylvanError):
        Coin().string_to_action("0")


def test_whatever_has_the_methods_is_a_game() -> None:
    methods = {name: value for name, value in vars(Game).items() if not name.startswith("_")}
    lookalike = type("Lookalike", (), methods)
    assert issubclass(lookalike, Game)
    del methods["observation"]
    assert not issubclass(type("Lacks", (), methods), Game)


def test_slots_are_possible() -> None:
    class Tiny(Game):
        __slots__ = ("stones",)

    assert "__dict__" not in dir(Tiny)


def test_public_names() -> None:
    for name in sylvan.games.__all__:
        assert getattr(sylvan.games, name).__name__ == name
    with pytest.raises(AttributeError, match="'Checkers3D'"):
        _ = sylvan.games.Checkers3D
