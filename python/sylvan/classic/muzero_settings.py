"""`MCTSConfig` of the document `muzero-chess`, and where its numbers come from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from sylvan.errors import ConfigError
from sylvan.planning import SearchConfig

__all__ = ["MCTSConfig"]


@dataclass
class MCTSConfig:
    """The settings of a search: the document's six under its names and defaults, then what it
    leaves unsaid.

    The document's discount and number of simulations are those that MuZero's authors use for Atari
    games; `board_game` has theirs for chess.

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
    """On the scale 0..1 that values are brought to, as in the publication."""
    discount: float = 0.997
    """Of each step; 1 where only the end of a game counts."""

    add_noise: bool = False
    """Noise on the root's priors: for self-play, not for play and evaluation."""
    num_players: int = 2
    """Two play for each other's loss, moving in turn; 1 is an environment with one player."""
    value_bounds: tuple[float, float] | None = (-1.0, 1.0)
    """The least and the most that is still to get (`KnownBounds`); None: the least and greatest
    that the search has seen (`MinMaxStats`)."""
    unvisited: float = 0.0
    """What an untried action counts as: between known bounds -1 is a loss, 0 a draw, 1 a win;
    where the range is learned, 0 is the worst that was seen."""
    top_k: int | None = None
    """Actions kept below the root, those of the highest priors; None: all."""

    @classmethod
    def board_game(cls, **settings: Any) -> Self:
        """As the publication plays chess, shogi and Go (its pseudocode's board-game settings): 800
        simulations, no discount, values between -1 and 1, an untried move counting as a loss.
        """
        return cls(**{"num_simulations": 800, "discount": 1.0, "unvisited": -1.0} | settings)

    @classmethod
    def control(cls, **settings: Any) -> Self:
        """For one player and rewards of any size, as the publication plays Atari games: 50
        simulations, a discount of 0.997, the range of values learned in each search.
        """
        return cls(**{"num_players": 1, "value_bounds": None} | settings)

    @classmethod
    def of(cls, config: Any) -> MCTSConfig:
        """Settings from any object that has some of them as attributes, such as the document's
        own class.
        """
        if isinstance(config, MCTSConfig):
            return config
        names = [field.name for field in fields(cls) if hasattr(config, field.name)]
        if not names:
            raise ConfigError(f"config is a {type(config).__name__}: give an MCTSConfig.")
        return cls(**{name: getattr(config, name) for name in names})

    def search_config(self, *, noise: bool = False, seed: int = 0) -> SearchConfig:
        """The same settings for the core."""
        if self.num_players not in (1, 2):
            raise ConfigError(
                f"num_players is {self.num_players!r}: values for one player say all for 1 or 2; "
                "sylvan.LatentSearch takes more."
            )
        config = SearchConfig(
            num_simulations=self.num_simulations,
            root_dirichlet_alpha=self.root_dirichlet_alpha,
            root_exploration_fraction=self.root_exploration_fraction,
            pb_c_base=self.pb_c_base,
            pb_c_init=self.pb_c_init,
            discount=self.discount,
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
        # The core brings known bounds to -1..1, where the same exploration is twice the constant.
        return config.replace(c_puct=2 * config.c_puct, c_factor=2.0)
