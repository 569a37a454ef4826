"""The settings of a search as keyword arguments: type checkers and editors read them here.

`SearchSettings` has the fields of `SearchConfig`, without defaults and ranges; a test compares the
two. It has one name per setting. The spellings of other programs (`ALIASES`) work too, but are not
typed: pass them as a dictionary, `SearchConfig(**settings)`.
"""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["FpuRule", "Limits", "SearchSettings"]

FpuRule = Literal["parent", "reduction", "zero", "loss"]


class Limits(TypedDict, total=False):
    """The limits of a search, which may change from one search of a tree to the next."""

    simulations: int | None
    seconds: float | None
    nodes: int | None
    depth: int | None


class SearchSettings(Limits, total=False):
    """Any fields of `SearchConfig`."""

    bytes: int | None
    stop_early: bool

    selection: Literal["puct", "uct", "gumbel"]
    c_puct: float
    c_base: float | None
    c_factor: float
    c_deviation: float
    usual_deviation: float
    c_uct: float
    max_considered: int
    gumbel_scale: float
    c_visit: float
    c_scale: float
    widening: float | None
    widening_power: float
    horizon: int | None
    rave: float
    fpu: FpuRule | float
    fpu_reduction: float
    fpu_root: FpuRule | float | None
    fpu_root_reduction: float | None
    value_range: Literal["game", "tree", "siblings"] | tuple[float, float]
    discount: float
    policy_temperature: float
    prior_floor: float
    forcing_bonus: float

    noise: bool
    dirichlet_alpha: float
    dirichlet_fraction: float
    forced_playouts: float
    temperature: float
    lcb: float
    shortest_win: bool
    seed: int

    proofs: bool
    transpositions: bool
    leaves_in_flight: int
    collisions: int | None
    top_k: int | None
    hidden: Literal["information_set", "determinised", "cheating"]
    deals: int
    flat_priors: bool
    stop_at_new_views: bool
    prior_bits: Literal[8, 16, 32]
    threads: int
