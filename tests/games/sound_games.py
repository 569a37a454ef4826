"""Small correct games; the broken ones are derived from them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from sylvan.games import Game
from sylvan.games.game import Observation


class Row(Game):
    """Two seats mark four cells in turn; the seat with more neighbouring pairs wins.

    Has every method of a game without chance. `__init__` copies, as a clone should.
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


class HighCard(Game):
    """Two seats have a card each that the other does not see; both bet or not, the higher wins."""

    num_players, num_actions, max_length = 2, 2, 2

    def __init__(self, cards=(2, 5), bets=()) -> None:
        self.cards, self.bets = tuple(cards), tuple(bets)

    def legal_actions(self) -> Sequence[int]:
        return () if self.is_terminal() else (0, 1)

    def apply(self, action: int) -> None:
        self.bets = (*self.bets, action)

    def clone(self) -> Self:
        copy = type(self)(self.cards, self.bets)
        copy.observer = self.observer
        return copy

    def to_play(self) -> int:
        return len(self.bets)

    def is_terminal(self) -> bool:
        return len(self.bets) == 2

    def returns(self) -> Sequence[float]:
        stake = (1 + sum(self.bets)) / 3
        return (stake, -stake) if self.cards[0] > self.cards[1] else (-stake, stake)

    def observation(self) -> Observation:
        return np.array([self.cards[self.to_play()], sum(self.bets)], np.float32)

    def key(self) -> bytes:
        return bytes([*(255 if card is None else card for card in self.cards), *self.bets])

    def observe(self, seat: int) -> Self:
        view = self.clone()
        view.cards = tuple(card if s == seat else None for s, card in enumerate(self.cards))
        view.observer = seat
        return view

    def sample(self, rng: Any) -> Self:
        deal = self.clone()
        deal.observer = None
        left = [card for card in range(8) if card not in self.cards]
        unseen = iter(rng.shuffled(left))
        deal.cards = tuple(next(unseen) if card is None else card for card in self.cards)
        return deal
