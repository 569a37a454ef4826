"""Games that break one rule each, with the method that `check_game` must name."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sylvan._native import Rng
from sylvan.games import Game
from tests.games.sound_games import Dice, HighCard, Row

BROKEN: list[Any] = []


def broken(method: str, said: str) -> Callable[[type[Game]], type[Game]]:
    """Marks a game with the method and the message expected from `check_game`."""

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


@broken("zero_sum", "only games of two seats")
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


@broken("network_seats", "is 1")
class TooFewForANetwork(Row):
    network_seats = 1


@broken("network_range", "is (1.0, 0.0)")
class NetworkUpsideDown(Row):
    network_range = (1.0, 0.0)


@broken("seat_values()", "for zeros of shape (2, 2)")
class PaysOneSeatOnly(Row):
    def seat_values(self, values):
        return values[:, :1]


@broken("num_logits", "is None")
class NoLogits(Row):
    num_logits = None


@broken("logit_index()", "gives 4 for action 3, but num_logits is 4")
class LogitOutOfRange(Row):
    def logit_index(self, action):
        return action + 1


@broken("logit_index()", "gives 0 for the actions 0 and 1")
class LogitsShared(Row):
    def logit_index(self, action):
        return action // 2


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


@broken("legal_actions()", "gives nothing although the game is not over")
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


@broken("clone()", "on the copy changes the original")
class CloneShares(Row):
    def clone(self):
        copy = type(self)()
        copy.cells, copy.seat = self.cells, self.seat
        return copy


class _Follower(Row):
    """A copy that shares the cells of the original."""

    source: Row | None = None

    def clone(self):
        copy = type(self)(self.cells, self.seat)
        copy.source = self
        return copy

    def legal_actions(self):
        taken = self.cells if self.source is None else self.source.cells | self.cells
        return [int(cell) for cell in np.flatnonzero(taken == 0)]


@broken("clone()", "changes when the original moves")
class CloneFollows(_Follower):
    pass


@broken("clone()", "shares or loses state")
class CloneForgetsWhatComesLater(Row):
    """The first move decides the result, and copies do not keep it."""

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


@broken("apply()", "is not deterministic")
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
    """The first move decides the result, and the key does not contain it."""

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


@broken("position_key()", "that of an earlier state of this line")
class PositionRecurs(Row):
    def position_key(self, ply):
        return b"here"


@broken("position_key()", "return bytes")
class PositionIsNumber(Row):
    def position_key(self, ply):
        return ply


@broken("position_key()", "was the same")
class PositionWithoutOwner(Row):
    def key(self):
        return None

    def position_key(self, ply):
        return (self.cells != 0).tobytes()


@broken("symmetries()", "not a permutation of 0 to 3")
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


@broken("symmetries()", "maps the observation to an array")
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


@broken("string_to_action('cell')", "its own name")
class NamesAlike(Row):
    def action_to_string(self, action):
        return "cell"


@broken("string_to_action(", "its own name")
class NamesDoNotLeadBack(Row):
    def string_to_action(self, text):
        return int(text) + 1


@broken("seat_name(0)", "return a string")
class SeatNameIsNumber(Row):
    def seat_name(self, seat):
        return seat


@broken("seat_name(1)", "another one for every seat")
class SeatNamesAlike(Row):
    def seat_name(self, seat):
        return "player"


@broken("estimate()", "return 2 numbers, one per seat")
class EstimateIsOneNumber(Row):
    def estimate(self):
        return 0.5


@broken("estimate()", "gives (2.0, -2.0), but value_range is")
class EstimateIsTooLarge(Row):
    def estimate(self):
        return (2.0, -2.0)


@broken("auxiliary()", "return finite numbers")
class AuxiliaryIsNotFinite(Row):
    def auxiliary(self, end):
        return {"owner": [float("nan")]}


@broken("auxiliary()", "the same names and shapes in all states")
class AuxiliaryChanges(Row):
    def auxiliary(self, end):
        return {"left": np.zeros(len(self.legal_actions()))}


@broken("auxiliary()", "return arrays by name")
class AuxiliaryHasNoNames(Row):
    def auxiliary(self, end):
        return [1.0]


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


@broken("observe(0)", "deals drawn from views equal the true state")
class Peeks(HighCard):
    def observe(self, seat):
        view = super().observe(seat)
        view.cards = self.cards
        return view


@broken("observe(1)", "peeks: two deals that look the same to the seat")
class Avoids(HighCard):
    """Never draws the true deal."""

    def observe(self, seat):
        view = super().observe(seat)
        view.true = self.cards[1 - seat]
        return view

    def clone(self):
        copy = super().clone()
        copy.true = getattr(self, "true", None)
        return copy

    def sample(self, rng):
        deal = super().sample(rng)
        while self.true in (
            card for card, seen in zip(deal.cards, self.cards, strict=True) if seen is None
        ):
            deal = super().sample(rng)
        return deal


@broken("observe(0)", "changes the state")
class ForgetsByLooking(HighCard):
    def observe(self, seat):
        self.cards = super().observe(seat).cards
        return super().observe(seat)

    def observation(self):
        return np.array([self.cards[self.to_play()] or 0, sum(self.bets)], np.float32)


@broken("observe(0)", "has the legal actions (0, 1) for seat 0, but the state (1, 0)")
class ListsOtherwiseInViews(HighCard):
    def legal_actions(self):
        legal = super().legal_actions()
        return legal if self.observer is not None else legal[::-1]


@broken("observe(0)", "has another seat to move than the state")
class ForgetsTheTurn(HighCard):
    def to_play(self):
        return 1 if self.observer is not None else super().to_play()


@broken("observe(0)", "has another observation for seat 0")
class ShowsLessInViews(HighCard):
    def observation(self):
        return super().observation() * (self.observer is None)


@broken("observer", "is None in the view observe(0)")
class NobodysView(HighCard):
    def observe(self, seat):
        view = super().observe(seat)
        view.observer = None
        return view


@broken("observer", "is None in a copy of the view")
class CopiesForget(HighCard):
    def clone(self):
        copy = super().clone()
        copy.observer = None
        return copy


@broken("sample()", "gives a view")
class SamplesNothing(HighCard):
    def sample(self, rng):
        return self.clone()


@broken("sample()", "draws another deal with the same generator")
class SamplesFromElsewhere(HighCard):
    def sample(self, rng):
        return super().sample(Rng(random.getrandbits(60)))


@broken("sample()", "has another observation for seat 0")
class DealsAnew(HighCard):
    def sample(self, rng):
        deal = super().sample(rng)
        deal.cards = tuple(rng.shuffled(range(8))[:2])
        return deal
