"""Chance: Pig, a race with one die.

A seat rolls as often as it likes and then holds to bank the sum; a one, two or three ends its turn
without points. The first seat to bank 20 points wins. With 16 points in the turn it is right to
hold against a seat without points, and to roll again against one that is about to win.
"""

import numpy as np
from numpy.typing import NDArray

import sylvan

HOLD, ROLL = 0, 1


class Pig(sylvan.Game):
    """Actions hold (0) and roll (1); a roll is decided by chance, outcome `f` is face `f + 1`."""

    num_players = 2
    num_actions = 6  # codes of outcomes count, too
    goal = 20  # points

    def __init__(self, banked: tuple[int, int] = (0, 0), turn: int = 0, seat: int = 0) -> None:
        self.banked, self.turn, self.seat = list(banked), turn, seat
        self.rolling = False

    def legal_actions(self) -> list[int]:
        if self.is_terminal():
            return []
        return [HOLD, ROLL] if self.turn else [ROLL]

    def apply(self, action: int) -> None:
        if not self.rolling and action == ROLL:
            self.rolling = True
        elif not self.rolling:
            self.banked[self.seat] += self.turn
            self.turn, self.seat = 0, 1 - self.seat
        else:
            self.rolling = False
            if action < 3:
                self.turn, self.seat = 0, 1 - self.seat
            else:
                self.turn += action + 1

    def clone(self) -> "Pig":
        copy = Pig((self.banked[0], self.banked[1]), self.turn, self.seat)
        copy.rolling = self.rolling
        return copy

    def is_chance(self) -> bool:
        return self.rolling

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(face, 1 / 6) for face in range(6)]

    def to_play(self) -> int:
        return self.seat

    def is_terminal(self) -> bool:
        return max(self.banked) >= self.goal

    def returns(self) -> tuple[float, float]:
        return (1.0, -1.0) if self.banked[0] >= self.goal else (-1.0, 1.0)

    def observation(self) -> NDArray[np.float32]:
        mine, theirs = self.banked[self.seat], self.banked[1 - self.seat]
        return np.array([mine, theirs, self.turn], dtype=np.float32)

    def key(self) -> bytes:
        return bytes([*self.banked, self.turn, self.seat, self.rolling])

    def action_to_string(self, action: int) -> str:
        return f"a {action + 1}" if self.rolling else ("hold", "roll")[action]


def main() -> None:
    for banked in [(0, 1), (0, 16)]:
        game = Pig(banked, turn=16)
        result = sylvan.search(game, simulations=2000, evaluator="rollout", seed=0)
        print(result)
        print(f"best: {game.action_to_string(result.best)} at {banked} with 16 at stake")


if __name__ == "__main__":
    main()
