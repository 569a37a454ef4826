"""Planning with a model instead of rules: a walk through a maze.

`sylvan.LatentSearch` needs a model with two functions: one for an observation, one for an action in
a hidden state. A network learns them; here they are written by hand. A hidden state is a cell
`[row, column]`. The model estimates a cell's value from its distance to the goal, without regard to
walls, so the dead end on the way down looks as good as the way to the right.
"""

import numpy as np
from numpy.typing import NDArray

import sylvan
from sylvan.planning import ModelOutput

MAZE = ["S..#.", ".#...", ".###.", "...#.", ".#.#G"]
WALLS = np.array([[cell == "#" for cell in row] for row in MAZE])
START, GOAL = np.array([0, 0]), np.array([4, 4])
WAYS, STEPS = ["up", "down", "left", "right"], np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])
DISCOUNT = 0.95


class Map:
    """A model: reaching the goal pays 1, walls cannot be entered, and the goal is final."""

    def initial_inference(self, places: NDArray[np.int64]) -> ModelOutput:
        return self.seen(places, np.zeros(len(places)))

    def recurrent_inference(
        self, places: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> ModelOutput:
        there = (places == GOAL).all(axis=1)
        after = np.where(there[:, None], places, places + STEPS[actions])
        return self.seen(after, ((after == GOAL).all(axis=1) & ~there).astype(float))

    def seen(self, places: NDArray[np.int64], rewards: NDArray[np.float64]) -> ModelOutput:
        away = np.abs(places - GOAL).sum(axis=1)
        value = np.where(away > 0, DISCOUNT ** (away - 1.0), 0.0)
        logits = np.where(is_open(places) | (away == 0)[:, None], 0.0, -np.inf)
        return ModelOutput(value, rewards, logits, places)


def is_open(places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mask of the possible directions, `[B, 4]`."""
    after = places[:, None] + STEPS  # [B, 4, 2]
    inside = ((after >= 0) & (after < len(MAZE))).all(axis=2)
    row, column = np.moveaxis(np.clip(after, 0, len(MAZE) - 1), 2, 0)
    ways: NDArray[np.bool_] = inside & ~WALLS[row, column]
    return ways


def main() -> None:
    search = sylvan.LatentSearch(
        Map(), simulations=300, discount=DISCOUNT, value_bounds=(0.0, 1.0), c_puct=0.5
    )
    place, walk = START, list[str]()
    while not np.array_equal(place, GOAL) and len(walk) < 40:
        plan = search.run(place, np.flatnonzero(is_open(place[None])[0]).tolist())
        walk.append(WAYS[plan.best])
        place = place + STEPS[plan.best]
    print(f"best: {' '.join(walk)}")


if __name__ == "__main__":
    main()
