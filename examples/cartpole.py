"""Planning without a learned model: an environment that can be copied is its own model.

Gymnasium's CartPole as a game of one seat. Each step is a search on copies of the environment;
instead of a network, a rough formula estimates how close the pole is to falling. It needs the extra
`gym`.
"""

import numpy as np
from numpy.typing import NDArray

import sylvan
from sylvan.games.gymnasium import from_gymnasium

STEPS = 200


def upright(leaves: sylvan.Leaves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Equal priors; the value falls with the pole's angle and the cart's distance."""
    position, speed, angle, turning = leaves.observations.T  # m, m/s, rad, rad/s
    falls = np.abs(angle + 0.5 * turning) / 0.4
    strays = np.abs(position + 0.5 * speed) / 5
    return np.zeros((len(leaves), 2), np.float32), -(falls + strays).astype(np.float32)


def planned(seed: int) -> float:
    """The return of an episode with a search per step."""
    game = from_gymnasium("CartPole-v1", seed=seed)
    search = sylvan.Search(upright, simulations=16, discount=0.97)
    for _ in range(STEPS):
        if game.is_terminal():
            break
        game.apply(search.run(game).best)
    return game.score


def at_random(seed: int) -> float:
    """The values of both pushes."""
    game, rng = from_gymnasium("CartPole-v1", seed=seed), np.random.default_rng(seed)
    while not game.is_terminal():
        game.apply(int(rng.integers(2)))
    return game.score


def main() -> None:
    print(f"at random the pole falls after {at_random(3):.0f} steps")
    print(f"best: planned, it stands after {planned(3):.0f}")


if __name__ == "__main__":
    main()
