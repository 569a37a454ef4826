"""Three seats: the seat that takes the last stone wins, and the next seat loses.

The third seat gets 0, so a seat that cannot win can still avoid the loss. Every seat maximises its
own result; treating the other two as one opponent would be a different game, with weaker play.
"""

import numpy as np
from numpy.typing import NDArray

import sylvan


class ThreeSeats(sylvan.Game):
    """Action 0, 1 or 2 takes one, two or three stones."""

    num_players = 3
    num_actions = 3

    def __init__(self, stones: int = 9, seat: int = 0) -> None:
        self.stones, self.seat = stones, seat

    def legal_actions(self) -> range:
        return range(min(3, self.stones))

    def apply(self, action: int) -> None:
        self.stones -= action + 1
        self.seat = (self.seat + 1) % 3

    def clone(self) -> "ThreeSeats":
        return ThreeSeats(self.stones, self.seat)

    def to_play(self) -> int:
        return self.seat

    def is_terminal(self) -> bool:
        return self.stones == 0

    def returns(self) -> list[float]:
        """One number per seat: +1 for the last to move, -1 for the next, 0 for the other."""
        pay = [0.0, 0.0, 0.0]
        pay[(self.seat - 1) % 3] = 1.0
        pay[self.seat] = -1.0
        return pay

    def observation(self) -> NDArray[np.float32]:
        return np.array([self.stones], dtype=np.float32)

    def key(self) -> bytes:
        return bytes([self.stones, self.seat])

    def action_to_string(self, action: int) -> str:
        return f"take {action + 1}"


def main() -> None:
    game = ThreeSeats()
    result = sylvan.search(game, simulations=2000, evaluator="rollout", seed=0)
    print(result)
    print(f"best: {game.action_to_string(result.best)} of {game.stones} stones")


if __name__ == "__main__":
    main()
