"""`MCTSConfig` of the document `muzero-chess`, `MuZeroConfig` around it, and where their numbers
come from.

"Published" is Schrittwieser et al. 2020 (Nature 588) with its pseudocode: `make_chess_config` for
board games, `make_atari_config` for control. "The document" is `muzero-chess` and the programs
around it.

| setting | default | from | `board_game()` | `control()` |
|---|---|---|---|---|
| `num_simulations` | 50 | the document; Atari's | 800, published | 50, published |
| `discount` | 0.997 | the document; Atari's | 1, published | 0.997, published |
| `root_dirichlet_alpha` | 0.3 | the document; chess's | 0.3, published | 0.25, published |
| `root_exploration_fraction` | 0.25 | the document | 0.25, published | 0.25, published |
| `pb_c_base`, `pb_c_init` | 19652, 1.25 | the document | published | published |
| `value_bounds` | -1, 1 | ours: `KnownBounds` | -1, 1, published | learned, published |
| `unvisited` | 0, a draw | the document: "0 if unvisited" | -1, a loss, published | 0, published |
| `num_unroll_steps` | 5 | the document | 5, published | 5, published |
| `td_steps` | 10 | the document; Atari's | to the end, published | 10, published |
| `max_moves` | 512 | published for chess | 512, published | 27000, published |
| `temperature_moves` | 30 | published for chess | 30, published | all; published: by updates |
| `batch_size` | 1024 | the document; Atari's | 2048, published | 1024, published |
| `learning_rate` | 0.05 | the document; Atari's | 0.1, published | 0.05, published |
| `momentum`, `weight_decay` | 0.9, 1e-4 | the document | published | published |
| `replay_buffer_size` | 100 000 | the document | 1 000 000, published | the same |
| `num_blocks`, `num_channels` | 16, 256 | the document | published | published |

A published replay buffer counts games, ours positions.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import Any, Self

from sylvan.errors import ConfigError
from sylvan.planning import SearchConfig

__all__ = ["MCTSConfig", "MuZeroConfig"]

_PUBLISHED = (
    "num_simulations",
    "root_dirichlet_alpha",
    "root_exploration_fraction",
    "pb_c_base",
    "pb_c_init",
    "discount",
)
"""The document's names of settings of the core."""


@dataclass
class MCTSConfig:
    """The settings of a search: the document's six, with its defaults, then those it does not name.

    The document's discount and number of simulations are MuZero's for Atari games; `board_game` has
    those for chess.

    >>> config = MCTSConfig()
    >>> config.num_simulations = 200
    >>> config.num_simulations, config.discount, MCTSConfig.board_game().discount
    (200, 0.997, 1.0)
    """

    num_simulations: int = 50
    root_dirichlet_alpha: float = 0.3
    root_exploration_fraction: float = 0.25
    pb_c_base: float = 19652
    pb_c_init: float = 1.25
    """For values scaled to 0..1, as in the publication."""
    discount: float = 0.997
    """Per step; 1 if only the end of a game counts."""

    add_noise: bool = False
    """Noise on the root's priors: for self-play, not for play and evaluation."""
    num_players: int = 2
    """2: a zero-sum game, moving in turn; 1: an environment with one player."""
    value_bounds: tuple[float, float] | None = (-1.0, 1.0)
    """Least and greatest value (`KnownBounds`); None: those that the search has seen
    (`MinMaxStats`)."""
    unvisited: float = 0.0
    """Value of an unvisited action: with known bounds -1 is a loss, 0 a draw, 1 a win; with a
    learned range 0 is the worst value seen."""
    top_k: int | None = None
    """Actions kept below the root, those with the highest priors; None: all."""

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """Refuse an unknown setting and suggest the closest one."""
        names = [field.name for field in fields(cls)]
        for name in settings:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1, 0.5)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}."
                raise ConfigError(f"There is no setting {name!r}: {hint}")
        return super().__new__(cls)

    @classmethod
    def board_game(cls, **settings: Any) -> Self:
        """The publication's settings for chess, shogi and Go: 800 simulations, no discount, values
        between -1 and 1, an unvisited move counts as a loss.
        """
        return cls(**{"num_simulations": 800, "discount": 1.0, "unvisited": -1.0} | settings)

    @classmethod
    def control(cls, **settings: Any) -> Self:
        """The publication's settings for Atari games, with one player and rewards of any size: 50
        simulations, discount 0.997, the range of values learned in each search.
        """
        own = {"num_players": 1, "value_bounds": None, "root_dirichlet_alpha": 0.25}
        return cls(**own | settings)

    @classmethod
    def of(cls, config: object) -> MCTSConfig:
        """Read settings from an object's attributes, such as the document's own class."""
        if isinstance(config, MCTSConfig):
            return config
        names = [field.name for field in fields(cls) if hasattr(config, field.name)]
        if not names:
            raise ConfigError(f"config is a {type(config).__name__}: give an MCTSConfig.")
        return cls(**{name: getattr(config, name) for name in names})

    def search_config(self, *, noise: bool = False, seed: int = 0) -> SearchConfig:
        """These settings for the core."""
        if self.num_players not in (1, 2):
            raise ConfigError(
                f"num_players is {self.num_players!r}: values for one player say all for 1 or 2; "
                "sylvan.LatentSearch takes more."
            )
        published: dict[str, Any] = {name: getattr(self, name) for name in _PUBLISHED}
        config = SearchConfig(
            **published,
            value_range=self.value_bounds or "tree",
            fpu=float(self.unvisited),
            top_k=self.top_k,
            noise=noise,
            seed=seed,
            proofs=False,
            prior_bits=32,
        )
        if self.value_bounds is None:
            return config
        # The core scales known bounds to -1..1: double the constant for the same exploration.
        return config.replace(c_puct=2 * config.c_puct, c_factor=2.0)


@dataclass
class MuZeroConfig(MCTSConfig):
    """The settings of training, and of its searches.

    >>> MuZeroConfig().batch_size, MuZeroConfig.board_game().batch_size
    (1024, 2048)
    >>> MuZeroConfig().sections("tictactoe")["targets"]
    {'td_steps': 10, 'discount': 0.997}
    """

    num_unroll_steps: int = 5
    """Steps that the model is trained to predict from each position."""
    td_steps: int | None = 10
    """Steps after which targets use the search's value; None: they use the game's result."""
    max_moves: int | None = 512
    """Games end after this many half-moves."""
    temperature_moves: int | None = 30
    """Moves drawn in proportion to visits, before the most visited is played; None: all."""
    replay_buffer_size: int = 100_000
    """The newest positions, which training draws from."""
    batch_size: int = 1024
    learning_rate: float = 0.05
    """Of stochastic gradient descent; falls to a tenth during a run."""
    momentum: float = 0.9
    weight_decay: float = 1e-4
    num_blocks: int = 16
    num_channels: int = 256

    @classmethod
    def board_game(cls, **settings: Any) -> Self:
        """The publication's settings for chess: the game's result is the target."""
        own = {"td_steps": None, "batch_size": 2048, "learning_rate": 0.1}
        return super().board_game(**own | {"replay_buffer_size": 1_000_000} | settings)

    @classmethod
    def control(cls, **settings: Any) -> Self:
        """The publication's settings for Atari games: ten rewards, then the search's value."""
        own = {"max_moves": 27_000, "temperature_moves": None, "replay_buffer_size": 1_000_000}
        return super().control(**own | settings)

    def sections(self, game: str = "chess", **params: Any) -> dict[str, Any]:
        """These settings as sections of a run: `TrainingConfig(**sections)`.

        :param game: its name for `sylvan train`; `params` are arguments of the game's class.
        """
        search = self.search_config(noise=True).model_dump(exclude_unset=True, exclude={"seed"})
        drawn = 2**31 if self.temperature_moves is None else self.temperature_moves
        return {
            "run": {"algorithm": "muzero"},
            "game": {"name": game, "params": params},
            "network": {"size": f"{self.num_blocks}x{self.num_channels}"},
            "search": search,
            "selfplay": {"max_plies": self.max_moves, "temperature_plies": drawn},
            "targets": {"td_steps": self.td_steps, "discount": self.discount},
            "replay": {
                "window_min": self.replay_buffer_size,
                "window_max": self.replay_buffer_size,
            },
            "learner": {
                "batch": self.batch_size,
                "optimizer": "sgd",
                "learning_rate": self.learning_rate,
                "schedule": "exponential",
                "momentum": self.momentum,
                "nesterov": False,
                "weight_decay": self.weight_decay,
            },
            "muzero": {"unroll": self.num_unroll_steps},
        }
