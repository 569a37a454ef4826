"""Default settings of MuZero, per game or kind of environment and machine.

They override the machine's settings (`sylvan.runs.presets`). A model is evaluated one step at a
time, so its networks are smaller than in AlphaZero runs, searches shorter, and positions are used
for more updates.

| kind of environment | |
|---|---|
| `vector` | a vector of numbers: dense layers |
| `image` | planes, or an image: a residual tower |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["muzero_settings"]

Settings = Mapping[str, Mapping[str, Any]]

_ONE_SEAT: Settings = {
    # For a few actions with nearly equal values, Gumbel's target would fit the noise of the values.
    "search": {"simulations": 25, "value_range": "tree", "discount": 0.997, "noise": True},
    "selfplay": {
        "temperature_plies": 1_000_000,
        "max_plies": None,
        "full_share": 1.0,
        "opening_share": 0.0,
    },
    "targets": {"td_steps": 10, "discount": 0.997, "value_mix": 0.0},
    "muzero": {"fresh_values": True},
    "replay": {"prioritised": True, "symmetries": False},
    "arena": {"games": 20},
}
"""Settings of every environment: intermediate rewards, values bootstrapped after a few steps."""

_KINDS: dict[tuple[str, str], Settings] = {
    ("vector", "cpu"): {
        "run": {"minutes": 10.0, "threads": 1},
        "network": {"size": "mlp2x128"},
        "selfplay": {"games": 64, "positions": 1024, "segment_plies": 32},
        "learner": {
            "batch": 128,
            "samples_per_position": 16.0,
            "learning_rate": 3e-3,
            "average": 0.99,
        },
        "replay": {"window_min": 50_000, "window_max": 200_000},
        "arena": {"every": 5},
    },
    ("vector", "gpu8"): {
        "run": {"minutes": 10.0},
        "network": {"size": "mlp2x256"},
        "selfplay": {"games": 64, "positions": 4096},
        "learner": {"batch": 512, "samples_per_position": 16.0, "average": 0.99},
        "replay": {"window_min": 100_000, "window_max": 1_000_000},
        "arena": {"every": 5},
    },
    ("vector", "big"): {
        "run": {"minutes": 10.0},
        "network": {"size": "mlp3x512"},
        "selfplay": {"games": 256, "positions": 16_384},
        "learner": {"batch": 1024, "samples_per_position": 16.0, "average": 0.99},
        "replay": {"window_min": 200_000, "window_max": 4_000_000},
        "arena": {"every": 5},
    },
    # A convolution over an image takes as long as a whole search over a board, and episodes are
    # long: few and short ratings, and small steps.
    ("image", "cpu"): {
        "run": {"minutes": 10.0},
        "network": {"size": "2x32"},
        "selfplay": {"games": 4, "positions": 256},
        "learner": {"batch": 64, "samples_per_position": 4.0, "average": 0.99},
        "replay": {"window_min": 20_000, "window_max": 50_000},
        "arena": {"every": 5, "games": 4, "simulations": 8, "max_plies": 250},
    },
    ("image", "gpu8"): {
        "network": {"size": "4x64"},
        "selfplay": {"games": 64, "positions": 4096},
        "learner": {"batch": 256, "samples_per_position": 8.0, "average": 0.99},
        "replay": {"window_min": 50_000, "window_max": 200_000},
    },
    ("image", "big"): {
        "network": {"size": "6x64"},
        "selfplay": {"games": 256, "positions": 16_384},
        "learner": {"batch": 1024, "samples_per_position": 8.0, "average": 0.99},
        "replay": {"window_min": 100_000, "window_max": 500_000},
    },
}
"""Settings of environments by kind of observation and machine."""

_GAMES: dict[str, Settings] = {
    # Random openings reach every state, as with known rules. The hard part is the reward, three in
    # a row: it needs many updates at a high learning rate, but few games.
    "tictactoe": {
        "run": {"steps": 64, "minutes": None, "threads": 1},
        "network": {"size": "mlp3x128"},
        "search": {"simulations": 32, "noise": False},
        "selfplay": {
            "games": 512,
            "positions": 4096,
            "temperature_plies": 9,
            "opening_share": 1.0,
            "opening_plies": 8,
        },
        "targets": {"value_mix": 0.5},
        "learner": {
            "batch": 256,
            "learning_rate": 1e-2,
            "samples_per_position": 16.0,
            "average": 0.995,
        },
        "replay": {"window_min": 30_000, "window_max": 60_000, "surprise_share": 0.5},
        "muzero": {"unroll": 3, "lead_in": 0.3},
        "arena": {"every": 16, "games": 100, "simulations": 50, "positions": 5000},
    },
    "connect4": {
        "search": {"simulations": 48, "dirichlet_alpha": 1.0},
        "selfplay": {"temperature_plies": 10, "opening_share": 0.4, "opening_plies": 12},
        "targets": {"value_mix": 0.5},
        "muzero": {"lead_in": 0.1, "reconstruction": 0.1},
    },
    # Random openings leave one side ahead: such games end in mate, while equal games mostly reach
    # the move limit.
    "chess": {
        "search": {"simulations": 32, "top_k": 48, "selection": "gumbel", "noise": False},
        "selfplay": {
            "temperature_plies": 30,
            "opening_share": 0.5,
            "opening_plies": 40,
            "max_plies": 200,
            "verdict": "estimate",
        },
        "targets": {"value_mix": 0.25},
        "muzero": {"unroll": 3, "lead_in": 0.1, "reconstruction": 0.1},
    },
}
"""Settings of a game, for every machine."""

_BOTH: dict[tuple[str, str], Settings] = {
    ("connect4", "cpu"): {
        "run": {"eight_bits": False},
        "network": {"size": "3x32"},
        "search": {"simulations": 32},
        "learner": {"batch": 256, "learning_rate": 3e-3},
        "arena": {"every": 20},
    },
    ("connect4", "big"): {
        "run": {"minutes": 10.0},
        # A step changes one square, so the dynamics need fewer blocks than the representation.
        "network": {"size": "8x96", "settings": {"dynamics_blocks": 4}},
        "search": {"simulations": 96},
        "selfplay": {
            "games": 4096,
            "positions": 65_536,
            "full_share": 0.33,
            "fast_simulations": 24,
        },
        "learner": {"batch": 2048, "learning_rate": 3e-3},
        "muzero": {"unroll": 4},
        "arena": {"every": 40, "games": 100, "positions": 1000},
    },
    ("chess", "cpu"): {
        "run": {"eight_bits": False},
        "game": {"params": {"encoder": "planes19"}},
        "network": {"size": "2x32"},
        "search": {"simulations": 16},
        "selfplay": {"games": 64, "positions": 2048, "max_plies": 150},
        "arena": {"every": 20, "games": 20, "simulations": 16},
    },
    ("chess", "big"): {
        "run": {"minutes": 10.0},
        "game": {"params": {"encoder": "planes19"}},
        "network": {"size": "6x128"},
        "search": {"simulations": 24},
        "selfplay": {"games": 1024, "positions": 16_384, "max_plies": 150},
        "learner": {"batch": 2048, "learning_rate": 2e-3, "samples_per_position": 6.0},
        "arena": {"every": 60, "games": 40, "simulations": 32},
    },
}
"""Settings of a game on one machine."""

_ENVIRONMENTS: dict[str, Settings] = {
    "gym:CartPole-v1": {
        "run": {"steps": 40, "minutes": None},
        "search": {"simulations": 16},
        "targets": {"td_steps": 30},
    },
    # Returns from -500 to 300: scaled by 0.1 they are predicted more exactly. With temperature 1,
    # random actions make landings fail and the agent learns to hover, so the temperature is lower.
    "gym:LunarLander-v3": {
        "run": {"steps": 240, "minutes": None},
        "game": {"params": {"reward_scale": 0.1}},
        "network": {"size": "mlp2x192"},
        "search": {"simulations": 25, "discount": 0.99},
        "selfplay": {"positions": 2048, "temperature": 0.5},
        "targets": {"td_steps": 10, "discount": 0.99},
        "learner": {
            "batch": 256,
            "samples_per_position": 6.0,
            "learning_rate": 2e-3,
            "average": 0.995,
        },
        "replay": {"window_min": 100_000, "window_max": 300_000},
        "arena": {"every": 20, "games": 20, "simulations": 25, "max_plies": 1000},
    },
}
"""Settings of an environment on a CPU."""


def muzero_settings(
    game: str, machine: str, *, seats: int, shape: tuple[int, ...]
) -> list[Settings]:
    """Layers of settings that override a machine's, the later the earlier.

    :param shape: of an observation.
    """
    # The next games cannot begin while the last ones end: they would use the same threads.
    algorithm: Settings = {
        "run": {"algorithm": "muzero", "eight_bits": False},
        "selfplay": {"lag": 0},
    }
    if seats > 1:
        own = _GAMES.get(game, {"targets": {"value_mix": 0.25}})
        return [algorithm, own, _BOTH.get((game, machine), {})]
    is_image = len(shape) in (2, 3) and min(shape[-2:]) > 4
    kind = "image" if is_image else "vector"
    own = _ENVIRONMENTS.get(game, {}) if machine == "cpu" else {}
    return [algorithm, _ONE_SEAT, _KINDS[kind, machine], own]
