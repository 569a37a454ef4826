"""`check_game` passes what keeps the contract and finds every rule that is broken, by name."""

from __future__ import annotations

import itertools
import math
import random
import re
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sylvan.games
from sylvan.errors import GameContractError
from sylvan.games import Game
from sylvan.testing import check_game


class Row(Game):
    """Two seats mark four cells in turn; more neighbouring pairs of one's own win.

    Has all that a game without chance can have. `__init__` copies, as a clone should.
    """

    num_players = 2
    num_actions = 4
    max_length: int | None = 4

    def __init__(self, cells: Any = (0, 0, 0, 0), seat: int = 0) -> None:
        self.cells = np.array(cells, dtype=np.int8)
        self.seat = seat

    def legal_actions(self) -> list[int]:
        return [int(cell) for cell in np.flatnonzero(self.cells == 0)]

    def apply(self, action: int) -> Any:
        self.cells[action] = self.seat + 1
        self.seat = 1 - self.seat

    def clone(self) -> Any:
        return type(self)(self.cells, self.seat)

    def to_play(self) -> int:
        return self.seat

    def is_terminal(self) -> bool:
        return bool(self.cells.all())

    def returns(self) -> Sequence[float]:
        pairs = [sum(a == b == s for a, b in itertools.pairwise(self.cells)) for s in (1, 2)]
        lead = float(np.sign(pairs[0] - pairs[1]))
        return (lead, -lead)

    def observation(self) -> np.ndarray[Any, Any]:
        return np.stack([self.cells == self.seat + 1, self.cells == 2 - self.seat]).astype("f4")

    def key(self) -> bytes | None:
        return self.cells.tobytes() + bytes([self.seat])

    def symmetries(self) -> Sequence[Any]:
        return [(lambda seen: seen[:, ::-1], [3, 2, 1, 0])]


class Dice(Game):
    """One seat throws (1) or stops (0); a throw pays its points, and a six ends the game."""

    num_players = 1
    num_actions = 6
    value_range = (0.0, 100.0)

    def __init__(self) -> None:
        self.throws, self.paid, self.rolling, self.over = 0, 0.0, False, False

    def legal_actions(self) -> Sequence[int]:
        return () if self.over else (0, 1)

    def apply(self, action: int) -> None:
        if self.rolling:
            self.rolling, self.paid, self.throws = False, action, self.throws + 1
            self.over = action == 5 or self.throws == 20
        else:
            self.rolling, self.paid, self.over = action == 1, 0, action == 0

    def clone(self) -> Dice:
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy

    def to_play(self) -> int:
        return 0

    def is_terminal(self) -> bool:
        return self.over

    def returns(self) -> Sequence[float]:
        return (0.0,)

    def rewards(self) -> Sequence[float]:
        return (float(self.paid),)

    def observation(self) -> np.ndarray[Any, Any]:
        return np.array([self.throws, self.rolling])

    def is_chance(self) -> bool:
        return self.rolling

    def chance_outcomes(self) -> Sequence[tuple[int, float]]:
        return [(points, 1 / 6) for points in range(6)]


BROKEN: list[Any] = []


def broken(method: str, said: str) -> Callable[[type[Game]], type[Game]]:
    """Marks a game with the method that `check_game` must name and what it must say."""

    def mark(game: type[Game]) -> type[Game]:
        BROKEN.append(pytest.param(game, method, said, id=game.__name__))
        return game

    return mark


# --- the form of answers ---------------------------------------------------------------------


@broken("num_players", "from 1 to 8")
class NineSeats(Row):
    def __init__(self, cells: Any = (0, 0, 0, 0), seat: int = 0) -> None:
        super().__init__(cells, seat)
        self.num_players = 9


@broken("num_actions", "whole number")
class ActionCountNotWhole(Row):
    num_actions = 4.0  # type: ignore[assignment]


@broken("zero_sum", "only two seats")
class ZeroSumAlone(Dice):
    zero_sum = True


@broken("value_range", "(lowest, highest)")
class RangeBackwards(Row):
    value_range = (1.0, -1.0)


@broken("to_play()", "gives 2, but the seats are 0 to 1")
class SeatOutOfRange(Row):
    def to_play(self):
        return self.seat + 1


@broken("to_play()", "gives -1, but the seats are 0 to 0")
class ChanceAsSeat(Dice):
    def to_play(self):
        return -1


@broken("to_play()", "in the same state")
class SeatTurnsWhenAsked(Row):
    def to_play(self):
        self.seat = 1 - self.seat
        return self.seat


@broken("legal_actions()", "gives action 4, but num_actions is 4")
class ActionOutOfRange(Row):
    def legal_actions(self):
        return [code + 1 for code in super().legal_actions()]


@broken("legal_actions()", "gives action 0.0")
class ActionNotWhole(Row):
    def legal_actions(self):
        return [float(code) for code in super().legal_actions()]


@broken("legal_actions()", "twice")
class ActionTwice(Row):
    def legal_actions(self):
        return super().legal_actions() * 2


@broken("legal_actions()", "in the same state")
class ActionsChangeOrder(Row):
    def legal_actions(self):
        codes = super().legal_actions()
        random.shuffle(codes)
        return codes


@broken("legal_actions()", "gives nothing although the game goes on")
class NothingLegal(Row):
    def legal_actions(self) -> list[int]:
        return super().legal_actions()[:-1]


@broken("legal_actions()", "finished game")
class MovesAtTheEnd(Row):
    def is_terminal(self):
        return np.count_nonzero(self.cells) >= 3


@broken("is_terminal()", "True or False")
class EndIsNumber(Row):
    def is_terminal(self):
        return np.count_nonzero(self.cells)


@broken("returns()", "gives 1 numbers for 2 seats")
class OneReturn(Row):
    def returns(self):
        return [0.0]


@broken("returns()", "one number per seat")
class ReturnsOneNumber(Row):
    def returns(self):
        return 1.0


@broken("returns()", "finite")
class ReturnsNan(Row):
    def returns(self):
        return [math.nan, math.nan]


@broken("returns()", "zero_sum is True")
class BothWin(Row):
    def returns(self):
        return [1.0, 1.0]


@broken("returns()", "value_range is (-1.0, 1.0)")
class ReturnsTooMuch(Row):
    def returns(self):
        return [2.0, -2.0]


@broken("rewards()", "value_range is (0.0, 1.0)")
class RewardsTooMuch(Dice):
    value_range = (0.0, 1.0)


@broken("rewards()", "gives 2 numbers for 1 seats")
class TwoRewards(Dice):
    def rewards(self):
        return [0.0, 0.0]


@broken("rewards()", "zero_sum is True")
class RewardsNotZeroSum(Row):
    def rewards(self):
        return [0.5, 0.5]


@broken("rewards()", "finite")
class RewardsInfinite(Dice):
    def rewards(self):
        return [math.inf]


# --- observations ----------------------------------------------------------------------------


@broken("observation()", "NumPy array")
class ObservationList(Row):
    def observation(self):
        return list(self.cells)


@broken("observation()", "not finite")
class ObservationNan(Row):
    def observation(self):
        return np.where(self.cells == 0, np.nan, 1.0)


@broken("observation()", "has shape (3,)")
class ObservationShrinks(Row):
    def observation(self):
        return np.flatnonzero(self.cells == 0)


@broken("observation()", "dtype float64")
class ObservationChangesType(Row):
    def observation(self):
        return self.cells.astype(np.float64 if self.seat else np.float32)


@broken("observation()", "changes when apply() moves")
class ObservationFollows(Row):
    def observation(self):
        view = self.cells[:]
        view.flags.writeable = False
        return view


@broken("observation()", "changes when its array is written to")
class ObservationIsState(Row):
    def observation(self):
        return self.cells


# --- copies and repetition -------------------------------------------------------------------


@broken("clone()", "state itself")
class CloneIsSelf(Row):
    def clone(self):
        return self


@broken("clone()", "copy of the same class")
class CloneIsOther(Row):
    def clone(self):
        return Row(self.cells, self.seat)


@broken("clone()", "to_play() was 1, is 0")
class CloneForgetsSeat(Row):
    def clone(self):
        return type(self)(self.cells)


@broken("clone()", "on the copy is seen here")
class CloneShares(Row):
    def clone(self):
        copy = type(self)()
        copy.cells, copy.seat = self.cells, self.seat
        return copy


class _Follower(Row):
    """A copy that still looks at the cells of what it was copied from."""

    source: Row | None = None

    def clone(self):
        copy = type(self)(self.cells, self.seat)
        copy.source = self
        return copy

    def legal_actions(self):
        taken = self.cells if self.source is None else self.source.cells | self.cells
        return [int(cell) for cell in np.flatnonzero(taken == 0)]


@broken("clone()", "changes when the original moves on")
class CloneFollows(_Follower):
    pass


@broken("clone()", "shares or loses something")
class CloneForgetsWhatComesLater(Row):
    """The first move decides at the end, and copies forget it."""

    first: int | None = None

    def apply(self, action):
        self.first = action if self.first is None else self.first
        super().apply(action)

    def returns(self):
        return [0.0, 0.0] if self.first in (None, 0) else [1.0, -1.0]

    def symmetries(self):
        return []


@broken("apply(", "change the state in place and return None")
class ApplyReturnsNew(Row):
    def apply(self, action):
        copy = self.clone()
        Row.apply(copy, action)
        return copy


@broken("apply()", "does not always do the same")
class ApplyIsRandom(Row):
    def apply(self, action):
        super().apply(action)
        if random.random() < 0.3:
            self.seat = 1 - self.seat


# --- chance ----------------------------------------------------------------------------------


@broken("chance_outcomes()", "add up to 0.833333")
class ChancesMissSix(Dice):
    def chance_outcomes(self):
        return super().chance_outcomes()[:5]


@broken("chance_outcomes()", "the probability 0.0")
class ChanceOfNothing(Dice):
    def chance_outcomes(self):
        return [(0, 0.0), (1, 1.0)]


@broken("chance_outcomes()", "the probability -0.5")
class ChanceNegative(Dice):
    def chance_outcomes(self):
        return [(0, -0.5), (1, 1.5)]


@broken("chance_outcomes()", "gives action 6, but num_actions is 6")
class ChanceOutOfRange(Dice):
    def chance_outcomes(self):
        return [(points + 1, chance) for points, chance in super().chance_outcomes()]


@broken("chance_outcomes()", "twice")
class ChanceTwice(Dice):
    def chance_outcomes(self):
        return [(0, 0.5), (0, 0.5)]


@broken("chance_outcomes()", "pairs (action, probability)")
class ChanceWithoutPairs(Dice):
    def chance_outcomes(self):
        return [0.5, 0.5]


@broken("chance_outcomes()", "gives nothing")
class ChanceEmpty(Dice):
    def chance_outcomes(self):
        return []


@broken("is_chance()", "in a finished game")
class ChanceAtTheEnd(Dice):
    def is_chance(self):
        return self.rolling or self.over


@broken("is_chance()", "chance would never move")
class ChanceForgotten(Row):
    def chance_outcomes(self):
        return [(0, 1.0)]


@broken("chance_outcomes()", "is not defined although is_chance() is")
class OutcomesForgotten(Row):
    def is_chance(self):
        return False


# --- keys, symmetries, names, length ---------------------------------------------------------


@broken("key()", "in the same state")
class KeyChanges(Row):
    def key(self):
        return random.randbytes(8)


@broken("key()", "return bytes")
class KeyIsText(Row):
    def key(self):
        return str(self.cells)


@broken("key()", "was the same")
class KeyWithoutOwner(Row):
    def key(self):
        return (self.cells != 0).tobytes()


@broken("key()", "returns() is")
class KeyWithoutHistory(Row):
    """The first move decides the game, and the key does not tell it."""

    first: int | None = None

    def apply(self, action):
        self.first = action if self.first is None else self.first
        super().apply(action)

    def returns(self):
        return [1.0, -1.0] if self.first == 0 else [-1.0, 1.0]

    def clone(self):
        copy = super().clone()
        copy.first = self.first
        return copy

    def symmetries(self):
        return []


@broken("symmetries()", "no permutation of 0 to 3")
class SymmetryNoPermutation(Row):
    def symmetries(self):
        return [(np.copy, [0, 1, 2, 2])]


@broken("symmetries()", "pairs (map, permutation)")
class SymmetryNoPair(Row):
    def symmetries(self):
        return [[3, 2, 1, 0]]


@broken("symmetries()", "no callable map")
class SymmetryNoMap(Row):
    def symmetries(self):
        return [([1, 0], [3, 2, 1, 0])]


@broken("symmetries()", "maps the observation to another one")
class SymmetryMapsActionsOnly(Row):
    def symmetries(self):
        return [(np.copy, [3, 2, 1, 0])]


@broken("symmetries()", "leads to returns()")
class SymmetryOfAnotherGame(Row):
    def symmetries(self):
        return [(lambda seen: seen[:, [1, 0, 2, 3]], [1, 0, 2, 3])]


@broken("symmetries()", "changes the observation of the first state")
class SymmetryMovesTheStart(Row):
    def symmetries(self):
        return [(lambda seen: 1 - seen, [3, 2, 1, 0])]


@broken("symmetries()[0][0]", "raised IndexError")
class SymmetryRaises(Row):
    def symmetries(self):
        return [(lambda seen: seen[:, :, 0], [3, 2, 1, 0])]


@broken("action_to_string(", "return a string")
class NameIsNumber(Row):
    def action_to_string(self, action):
        return action


@broken("string_to_action('cell')", "a name of its own")
class NamesAlike(Row):
    def action_to_string(self, action):
        return "cell"


@broken("string_to_action(", "a name of its own")
class NamesDoNotLeadBack(Row):
    def string_to_action(self, text):
        return int(text) + 1


@broken("max_length", "is 3, but the game has not ended after 3 actions")
class LongerThanPromised(Row):
    max_length = 3


@broken("is_terminal()", "is still False after 500 actions")
class NeverEnds(Row):
    max_length = None

    def apply(self, action):
        self.seat = 1 - self.seat


@broken("apply(0)", "raised ZeroDivisionError: float division by zero")
class RaisesLater(Dice):
    def apply(self, action):
        super().apply(action)
        self.paid = 1.0 / self.throws if self.over else self.paid


# --- the tests -------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "method", "said"), BROKEN)
def test_finds(game: type[Game], method: str, said: str) -> None:
    random.seed(1)  # for the games that are random where they must not be
    with pytest.raises(GameContractError) as caught:
        check_game(game, max_plies=500)
    message = str(caught.value)
    assert message.startswith(f"{game.__name__}.{method}"), message
    assert said in message
    assert re.search(r"\((after .*actions.* \[.+\]|in the first state)\)\.$", message)


def test_the_actions_show_the_mistake() -> None:
    with pytest.raises(GameContractError) as caught:
        check_game(NothingLegal)
    state: Row = NothingLegal()
    for action in caught.value.actions:
        state.apply(action)
    assert not state.is_terminal() and not state.legal_actions()


def test_a_long_path_is_told_short() -> None:
    with pytest.raises(GameContractError) as caught:
        check_game(NeverEnds, max_plies=500)
    assert len(caught.value.actions) == 500
    assert len(str(caught.value)) < 300 and "after 500 actions, the last are" in str(caught.value)


def test_there_is_a_broken_game_for_every_method() -> None:
    named = {param.values[1].split("(")[0] for param in BROKEN}
    contract = {name for name in vars(Game) if not name.startswith("_")}
    assert contract | {"num_players", "num_actions"} == named


def test_row_keeps_the_contract() -> None:
    report = check_game(Row, games=50)
    assert (report.games, report.finished, report.states) == (50, 50, 250)
    assert report.mean_length == 4.0
    assert report.branching == (4 + 3 + 2 + 1) / 4
    assert report.key_pairs > 20 and report.symmetries == 1
    assert "Row: 2 seat(s)" in str(report) and "equal keys" in str(report)


def test_dice_keeps_the_contract() -> None:
    report = check_game(Dice, games=50)
    assert report.chance_states > 20 and report.key_pairs == 0
    assert report.branching == 2.0


class Wild(Game):
    """A game whose rules are drawn from a seed: any shape that the contract allows."""

    value_range = (-6.0, 6.0)
    max_length = 6

    def __init__(self, seats: int, actions: int, seed: int, path: tuple[int, ...] = ()) -> None:
        self.num_players, self.num_actions, self.seed, self.path = seats, actions, seed, path
        self.zero_sum = False

    def drawn(self, what: str) -> random.Random:
        return random.Random(f"{what} {self.seed} {self.path}")

    def legal_actions(self) -> list[int]:
        some = self.drawn("how many").randint(1, self.num_actions)
        return [] if self.is_terminal() else self.drawn("a").sample(range(self.num_actions), some)

    def apply(self, action: int) -> None:
        self.path = (*self.path, action)

    def clone(self) -> Wild:
        return Wild(self.num_players, self.num_actions, self.seed, self.path)

    def to_play(self) -> int:
        return self.drawn("seat").randrange(self.num_players)

    def is_terminal(self) -> bool:
        return len(self.path) == 6 or self.drawn("end").random() < 0.1

    def returns(self) -> list[float]:
        return [self.drawn("returns").uniform(-1, 1)] * self.num_players

    def rewards(self) -> list[float]:
        return [self.drawn("rewards").uniform(-0.5, 0.5)] * self.num_players

    def observation(self) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.drawn("observation").randbytes(6), np.uint8)

    def is_chance(self) -> bool:
        return not self.is_terminal() and self.drawn("chance").random() < 0.3

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(a, 1 / self.num_actions) for a in range(self.num_actions)]

    def key(self) -> bytes:
        return bytes(self.path)


@given(seats=st.integers(1, 8), actions=st.integers(1, 200), seed=st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_no_false_alarm(seats: int, actions: int, seed: int) -> None:
    report = check_game(Wild(seats, actions, seed), games=3, seed=seed)
    assert report.finished == 3 and report.num_players == seats


def test_same_seed_same_plays() -> None:
    assert check_game(Dice, seed=3) == check_game(Dice, seed=3)
    assert check_game(Dice, seed=3) != check_game(Dice, seed=4)


def test_takes_a_state_and_leaves_it_alone() -> None:
    row = Row()
    row.apply(1)  # no longer its own mirror image, so symmetry cannot be compared
    report = check_game(row)
    assert report.mean_length == 3.0 and report.symmetries == 0
    assert row.legal_actions() == [0, 2, 3]


def test_takes_a_function() -> None:
    assert check_game(lambda: Row([1, 0, 0, 0], 1), games=2).name == "Row"


def test_long_game_that_promises_an_end_is_cut() -> None:
    class Patient(Row):
        max_length = 10**6

        def apply(self, action: int) -> None:
            self.seat = 1 - self.seat

    report = check_game(Patient, games=2, max_plies=50)
    assert report.finished == 0 and report.mean_length == 50.0


def test_unknown_range_is_not_checked() -> None:
    class Rich(Dice):
        value_range = (-math.inf, math.inf)

        def rewards(self) -> Sequence[float]:
            return (1e9 * self.paid,)

    check_game(Rich)


def test_own_traceback_is_kept() -> None:
    class Fails(Row):
        def legal_actions(self) -> list[int]:
            raise KeyError("no such key")

    with pytest.raises(GameContractError) as caught:
        check_game(Fails)
    assert isinstance(caught.value.__cause__, KeyError)
    assert "no such key" in "".join(traceback.format_exception(caught.value.__cause__))
    assert str(caught.value).startswith("Fails.legal_actions() raised KeyError")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Game, "Game lacks apply(), clone()"),
        (dict, "dict makes a dict, which is no game (it lacks apply"),
        (lambda: Row(cells="?"), "raised ValueError"),
    ],
)
def test_not_a_game(made: Any, said: str) -> None:
    with pytest.raises(GameContractError, match=re.escape(said)):
        check_game(made)


@pytest.mark.parametrize("name", ["Chess", "ConnectFour", "TicTacToe"])
def test_our_own_games(name: str) -> None:
    report = check_game(getattr(sylvan.games, name), games=5)
    assert report.finished == 5
