"""A game in a few lines: Nim, in which the seat that takes the last stone wins.

From 10 stones the first seat wins by taking two, which leaves a multiple of four.
"""

import numpy as np
from numpy.typing import NDArray

import sylvan


class Nim(sylvan.Game):
    """Action 0, 1 or 2 takes one, two or three stones."""

    num_players = 2
    num_actions = 3

    def __init__(self, stones: int = 10, seat: int = 0) -> None:
        self.stones, self.seat = stones, seat

    def legal_actions(self) -> range:
        return range(min(3, self.stones))

    def apply(self, action: int) -> None:
        self.stones -= action + 1
        self.seat = 1 - self.seat

    def clone(self) -> "Nim":
        return Nim(self.stones, self.seat)

    def to_play(self) -> int:
        return self.seat

    def is_terminal(self) -> bool:
        return self.stones == 0

    def returns(self) -> tuple[float, float]:
        # No stone is left for the seat to move: the other one took the last.
        return (-1.0, 1.0) if self.seat == 0 else (1.0, -1.0)

    def observation(self) -> NDArray[np.float32]:
        return np.array([self.stones], dtype=np.float32)


def main() -> None:
    result = sylvan.search(Nim(), simulations=400, evaluator="rollout", seed=0)
    print(result)
    print(f"best: take {result.best + 1} of {Nim().stones} stones")


if __name__ == "__main__":
    main()
