"""Default settings per game and size of machine.

| machine | means |
|---|---|
| `cpu` | two CPU cores, no GPU |
| `gpu8` | a GPU with 8 GB, and 16 GB of main memory |
| `big` | a GPU with 40 GB or more |

Small machines get small networks, short searches and few parallel games, because evaluations
dominate the time there; large ones get enough games to fill their batches. A file or the command
line can override every setting.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from sylvan._native import Rng
from sylvan.errors import ConfigError, GameContractError, MissingExtra, SylvanError
from sylvan.games.naming import GameSpec
from sylvan.ratings.arena import ArenaConfig
from sylvan.runs.config import ENVIRONMENTS, merged

__all__ = ["MACHINES", "machine_here", "preset_settings"]

MACHINES = ("cpu", "gpu8", "big")

OPENING_PLIES: int = ArenaConfig.model_fields["opening_plies"].default

Settings = Mapping[str, Mapping[str, Any]]

_MACHINES: dict[str, Settings] = {
    "cpu": {
        "run": {"minutes": 20.0},
        "network": {"size": "4x48"},
        "search": {"simulations": 48},
        "selfplay": {"games": 128, "positions": 4096},
        "learner": {"batch": 256},
        "replay": {"window_min": 50_000, "window_max": 500_000},
    },
    "gpu8": {
        "run": {"minutes": 60.0},
        "network": {"size": "6x96"},
        "search": {"simulations": 64},
        "selfplay": {"games": 1024, "positions": 32_768},
        "learner": {"batch": 1024},
        "replay": {"window_min": 200_000, "window_max": 4_000_000},
    },
    "big": {
        "run": {"minutes": 60.0},
        "network": {"size": "10x128"},
        "search": {"simulations": 64},
        "selfplay": {"games": 4096, "positions": 131_072},
        "learner": {"batch": 4096},
        "replay": {"window_min": 500_000, "window_max": 20_000_000},
    },
}
"""Settings of a machine, for every game."""

_GAMES: dict[str, Settings] = {
    # Random openings of any length reach every state, also those of bad play, so noise in the
    # search would only blur the targets; sampling by surprise finds the last wrong states. The
    # network is too small for two threads.
    "tictactoe": {
        "run": {"steps": 12, "minutes": None, "threads": 1},
        "network": {"size": "2x32"},
        "search": {"simulations": 32, "noise": False},
        "selfplay": {
            "games": 512,
            "positions": 8192,
            "temperature_plies": 9,
            "opening_share": 1.0,
            "opening_plies": 8,
        },
        "targets": {"value_mix": 0.5},
        "learner": {
            "batch": 256,
            "learning_rate": 5e-3,
            "samples_per_position": 2.0,
            "average": 0.995,
        },
        "replay": {"window_min": 30_000, "window_max": 60_000, "surprise_share": 0.5},
        "arena": {"every": 12, "games": 10, "positions": 5000},
    },
    "connect4": {
        "search": {"dirichlet_alpha": 1.0},
        "selfplay": {"temperature_plies": 10},
        "targets": {"value_mix": 0.5},
    },
    # A game has many rounds, and a value is about the current one. With few parallel games, each
    # ends early enough to be learned from. Ratings use no random openings: random bids would
    # decide the games.
    "blob": {
        "network": {"size": "suits3x128"},
        "search": {"simulations": 48, "dirichlet_alpha": 1.0},
        "selfplay": {
            "games": 64,
            "positions": 8192,
            "temperature_plies": 10_000,
            "max_plies": None,
            "reuse": False,
        },
        "targets": {"value_mix": 0.5, "until_chance": True},
        "learner": {"batch": 256, "samples_per_position": 16.0, "learning_rate": 2e-3},
        "arena": {"every": 10, "games": 20, "simulations": 16, "opening_plies": 0, "positions": 0},
    },
    "chess": {
        "search": {"dirichlet_alpha": 0.3},
        "selfplay": {"temperature_plies": 30, "max_plies": 200, "verdict": "estimate"},
        "targets": {"value_mix": 0.25},
    },
}
"""Settings of a game, for every machine."""

_BOTH: dict[tuple[str, str], Settings] = {
    ("connect4", "cpu"): {
        "run": {"eight_bits": True},
        "network": {"size": "5x48"},
        "search": {"simulations": 64},
        # Random openings, so that the policy also learns positions that strong play avoids.
        "selfplay": {
            "full_share": 0.33,
            "fast_simulations": 16,
            "opening_share": 0.4,
            "opening_plies": 12,
        },
        "learner": {"batch": 512, "learning_rate": 5e-3},
        "arena": {"every": 20},
    },
    ("blob", "gpu8"): {
        "network": {"size": "suits3x256"},
        "selfplay": {"games": 512, "positions": 65_536},
    },
    ("blob", "big"): {
        "network": {"size": "suits3x256"},
        "selfplay": {"games": 2048, "positions": 262_144},
    },
    ("connect4", "gpu8"): {"network": {"size": "6x64"}},
    ("connect4", "big"): {
        "network": {"size": "8x96"},
        "search": {"simulations": 96},
        "selfplay": {"positions": 65_536, "full_share": 0.33, "fast_simulations": 24},
        "learner": {"batch": 2048, "learning_rate": 3e-3},
        "arena": {"every": 20, "games": 200},
    },
    # A step has more games than are played at once, which keeps batches full.
    ("chess", "gpu8"): {"selfplay": {"positions": 131_072}},
    ("chess", "big"): {"selfplay": {"positions": 524_288}},
    ("chess", "cpu"): {
        "run": {"eight_bits": True},
        "game": {"params": {"encoder": "planes19"}},
        "network": {"size": "4x32"},
        "search": {"simulations": 48},
        "selfplay": {"games": 64, "max_plies": 150, "full_share": 0.25, "fast_simulations": 8},
        "learner": {"learning_rate": 4e-3},
        "arena": {"every": 20, "games": 20, "simulations": 16},
    },
}
"""Settings of a game on one machine."""


def preset_settings(
    game: str, machine: str = "auto", algorithm: str = "auto", **params: Any
) -> dict[str, Any]:
    """The preset of a game, section by section.

    :param machine: `cpu`, `gpu8`, `big`, or `auto` for this machine.
    :param algorithm: `alphazero`, `muzero`, or `auto`: MuZero for environments without rules.
    :param params: arguments of the game's class.
    :raises ConfigError: the game or the machine is unknown.

    >>> preset_settings("connect4", "cpu")["network"]
    {'size': '5x48'}
    """
    machine = machine_here() if machine == "auto" else machine
    if machine not in MACHINES:
        raise ConfigError(f"There is no preset {machine!r}: use {', '.join(MACHINES)} or auto.")
    spec = GameSpec(game, params)
    settings = merged({"game": {"name": game, "params": params}}, _MACHINES[machine])
    if algorithm == "muzero" or (algorithm == "auto" and game.startswith(ENVIRONMENTS)):
        layers: list[Settings] = [_for_game(spec, settings)] if game not in _GAMES else []
        layers += _muzero_layers(spec, machine)
    else:
        layers = [_GAMES.get(game) or _for_game(spec, settings), _BOTH.get((game, machine), {})]
    for layer in layers:
        settings = merged(settings, layer)
    return merged(settings, {"game": {"params": params}})


def _muzero_layers(spec: GameSpec, machine: str) -> list[Settings]:
    from sylvan.muzero.presets import muzero_settings

    _, shape = _first_state(spec)
    return muzero_settings(spec.name, machine, seats=spec.first().num_players, shape=shape)


def machine_here() -> str:
    """The name of this machine's preset.

    :raises MissingExtra: PyTorch is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingExtra.named("Training needs PyTorch", "train") from None

    if not torch.cuda.is_available():
        return "cpu"
    memory: int = torch.cuda.get_device_properties(0).total_memory
    return "big" if memory >= 40e9 else "gpu8"


def _for_game(spec: GameSpec, settings: Settings) -> dict[str, Any]:
    """Settings of a user's game: layers for its observation, noise for its number of moves."""
    moves, shape = _first_state(spec)
    found: dict[str, Any] = {
        "search": {"dirichlet_alpha": round(min(1.0, max(0.03, 10.0 / moves)), 2)},
        "selfplay": {"temperature_plies": 10},
        "targets": {"value_mix": 0.25},
    }
    if len(shape) not in (2, 3) or min(shape[-2:]) < 3:  # not a board
        width = {"4x48": 128, "6x96": 256}.get(settings["network"]["size"], 512)
        found["network"] = {"size": f"mlp3x{width}"}
    shortest = _shortest_game(spec)
    if shortest <= OPENING_PLIES:  # random openings would end games
        found["arena"] = {"opening_plies": (shortest - 1) // 2}
    return found


def _shortest_game(spec: GameSpec, games: int = 20) -> int:
    """The fewest plies of some random games, chance not counted."""
    try:
        return min(_random_length(spec, Rng(number)) for number in range(games))
    except Exception:  # self-play reports the game's own errors
        return sys.maxsize


def _random_length(spec: GameSpec, rng: Rng) -> int:
    """The plies of a random game, counted up to the arena's random opening and one more."""
    state, plies = spec.first(), 0
    while not state.is_terminal() and plies <= OPENING_PLIES:
        if state.is_chance():
            outcomes = state.chance_outcomes()
            state.apply(outcomes[rng.pick([share for _, share in outcomes])][0])
        else:
            legal = state.legal_actions()
            state.apply(legal[rng.below(len(legal))])
            plies += 1
    return plies


def _first_state(spec: GameSpec) -> tuple[int, tuple[int, ...]]:
    """The number of legal moves in the first state, at least two, and its observation's shape.

    :raises GameContractError: the game fails in its first state.
    """
    state = spec.first()
    try:
        while state.is_chance():
            state.apply(state.chance_outcomes()[0][0])
        return max(2, len(state.legal_actions())), np.shape(state.observation())
    except SylvanError:
        raise
    except Exception as error:
        raise GameContractError(
            f"The game {spec.short_name} raised {type(error).__name__} ({error}) in its first "
            "state: fix the game; sylvan.testing.check_game finds such errors."
        ) from error
