"""One seat, with rewards: the best way down a triangle of numbers.

Every step goes down to the left or to the right and pays the number there. The larger number next
to the start leads to the smaller sum, so one step of lookahead is not enough.
"""

import numpy as np
from numpy.typing import NDArray

import sylvan

ROWS = (
    (0,),
    (7, 3),
    (1, 2, 4),
    (2, 1, 5, 9),
    (3, 1, 2, 8, 6),
    (1, 4, 0, 3, 9, 2),
)


class Triangle(sylvan.Game):
    """Action 0 goes down to the left, action 1 to the right."""

    num_players = 1
    num_actions = 2
    max_length = len(ROWS) - 1
    value_range = (0.0, float(sum(max(row) for row in ROWS)))

    def __init__(self, row: int = 0, place: int = 0) -> None:
        self.row, self.place = row, place

    def legal_actions(self) -> tuple[int, ...]:
        return () if self.is_terminal() else (0, 1)

    def apply(self, action: int) -> None:
        self.row += 1
        self.place += action

    def clone(self) -> "Triangle":
        return Triangle(self.row, self.place)

    def to_play(self) -> int:
        return 0

    def is_terminal(self) -> bool:
        return self.row == self.max_length

    def rewards(self) -> tuple[float]:
        return (float(ROWS[self.row][self.place]),)

    def returns(self) -> tuple[float]:
        return (0.0,)  # all rewards were paid on the way

    def observation(self) -> NDArray[np.float32]:
        seen = np.zeros((len(ROWS), len(ROWS)), dtype=np.float32)
        seen[self.row, self.place] = 1.0
        return seen

    def key(self) -> bytes:
        return bytes([self.row, self.place])

    def action_to_string(self, action: int) -> str:
        return ("left", "right")[action]


def main() -> None:
    game = Triangle()
    print(sylvan.search(game, simulations=400, evaluator="rollout", seed=0))
    way, total = [], 0.0
    while not game.is_terminal():
        action = sylvan.search(game, simulations=400, evaluator="rollout", seed=0).best
        way.append(game.action_to_string(action))
        game.apply(action)
        total += game.rewards()[0]
    print(f"best: {' '.join(way)}, which pays {total:g}")


if __name__ == "__main__":
    main()
