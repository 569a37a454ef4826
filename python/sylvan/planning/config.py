"""All settings of a search: name, default, range, unit and reason of each in one place.

`SearchConfig` is frozen and rejects unknown names. It also accepts the names that other programs
and papers use for the same settings (`ALIASES`). Command-line options and the reference page are
generated from its fields.
"""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from sylvan._native import exp, ln
from sylvan.errors import ConfigError
from sylvan.planning.keywords import FpuRule, SearchSettings
from sylvan.settings import plain_rule

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["ALIASES", "SearchConfig", "configured"]

ALIASES = {
    "num_simulations": "simulations",
    "simulations_per_move": "simulations",
    "n_simulations": "simulations",
    "playouts": "simulations",
    "cpuct": "c_puct",
    "c_init": "c_puct",
    "C_init": "c_puct",
    "pb_c_init": "c_puct",
    "C_base": "c_base",
    "pb_c_base": "c_base",
    "cpuct_base": "c_base",
    "cpuct_factor": "c_factor",
    "add_noise": "noise",
    "stochastic": "noise",
    "root_dirichlet_alpha": "dirichlet_alpha",
    "alpha": "dirichlet_alpha",
    "dirichlet_epsilon": "dirichlet_fraction",
    "root_exploration_fraction": "dirichlet_fraction",
    "epsilon": "dirichlet_fraction",
    "dirichlet_noise": "noise",
    "max_depth": "depth",
    "max_num_considered_actions": "max_considered",
    "maxvisit_init": "c_visit",
    "value_scale": "c_scale",
    "gamma": "discount",
    "max_nodes": "nodes",
    "max_bytes": "bytes",
    "memory": "bytes",
    "time_limit": "seconds",
    "movetime": "seconds",
    "batch_size": "leaves_in_flight",
    "virtual_visits": "leaves_in_flight",
    "num_threads": "threads",
    "num_determinizations": "deals",
    "progressive_widening": "widening",
    "rave_k": "rave",
}
"""Other spellings of the same settings. They work, but type checkers do not know them."""

GUMBEL_MOST = 2**24
"""Most simulations of a Gumbel search, which allocates four bytes for each before it starts."""


def _modest(number: float) -> float:
    """Check that a number is small enough that scores do not overflow in single precision."""
    if abs(number) >= 1e9:
        raise ValueError("a number below 1e9" if number > 0 else "a number above -1e9")
    return number


Number = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_modest)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_modest)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), AfterValidator(_modest)]


class SearchConfig(BaseModel):
    """The settings of a search. All have defaults; `replace` returns a changed copy.

    >>> SearchConfig(num_simulations=50).simulations
    50
    >>> SearchConfig(simulatons=50)
    Traceback (most recent call last):
    sylvan.errors.ConfigError: There is no setting 'simulatons': did you mean 'simulations'?
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    # When the search ends: at the first limit that it reaches. ------------------------------------
    simulations: Annotated[int, Field(ge=0, lt=2**32)] | None = Field(
        800, description="new simulations per search; None: no such limit"
    )
    seconds: NotNegative | None = Field(
        None, description="wall time; overshoot at most one evaluator call plus 2 ms"
    )
    nodes: Annotated[int, Field(ge=1, lt=2**64)] | None = Field(
        None, description="nodes in one tree"
    )
    depth: Annotated[int, Field(ge=1, lt=2**32)] | None = Field(
        None, description="plies; the search ends when a simulation reaches this depth"
    )
    bytes: Annotated[int, Field(ge=65536, lt=2**64)] | None = Field(
        4 * 2**30,
        description="memory of all trees; at the limit the least visited subtrees are removed",
    )

    stop_early: bool = Field(
        False,
        description="end the search when no other action can overtake the most visited one in the "
        "simulations or seconds that are left",
    )

    # Which edge a simulation takes. ---------------------------------------------------------------
    selection: Literal["puct", "uct", "gumbel"] = Field(
        "puct", description="PUCT (AlphaZero), UCT, or Gumbel with sequential halving"
    )
    c_puct: NotNegative = Field(
        1.5, description="PUCT exploration, on the scale of values; higher tries more moves"
    )
    c_base: Positive | None = Field(
        None, description="visits over which exploration grows (19652 in AlphaZero); None: constant"
    )
    c_factor: NotNegative = Field(1.0, description="how much exploration grows, with c_base")
    c_deviation: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0,
        description="PUCT: share of exploration that is in proportion to the standard deviation of "
        "the node's values; 0: none. KataGo: 0.85",
    )
    usual_deviation: Annotated[float, Field(ge=0.01, le=10)] = Field(
        0.4,
        description="standard deviation at which c_deviation changes nothing, on the scale of "
        "values",
    )
    c_uct: NotNegative = Field(math.sqrt(2), description="UCT exploration")
    max_considered: Annotated[int, Field(ge=1, le=65535)] = Field(
        16, description="Gumbel: number of actions at the start of sequential halving"
    )
    gumbel_scale: NotNegative = Field(1.0, description="Gumbel: size of the noise; 0 for play")
    c_visit: NotNegative = Field(
        50.0, description="Gumbel: added to the largest visit count in Q's weight"
    )
    c_scale: NotNegative = Field(0.1, description="Gumbel: weight of Q relative to the logits")
    widening: Positive | None = Field(
        None,
        description="progressive widening: a node with N visits tries at most widening * N ** "
        "widening_power edges, those with the highest priors first; None: all edges",
    )
    widening_power: Annotated[float, Field(ge=0, le=1)] = Field(
        0.5, description="exponent of progressive widening"
    )
    horizon: Annotated[int, Field(ge=1, lt=2**32)] | None = Field(
        None,
        description="most plies of a line: a position at this depth is evaluated at each visit and "
        "not expanded; None: no limit",
    )
    rave: NotNegative = Field(
        0.0,
        description="RAVE: visits at which Q weighs as much as the mean result of simulations in "
        "which the action was played later; 0: no RAVE",
    )
    fpu: FpuRule | Number = Field(
        "reduction",
        description="first-play urgency, the value of an untried edge: the node's value (parent), "
        "that minus a reduction, zero, loss, or a number",
    )
    fpu_reduction: NotNegative = Field(
        0.3, description="fpu='reduction': times the square root of the sum of tried priors"
    )
    fpu_root: FpuRule | Number | None = Field(None, description="fpu at the root; None: as fpu")
    fpu_root_reduction: NotNegative | None = Field(
        None, description="fpu_reduction at the root; None: as fpu_reduction"
    )
    value_range: Literal["game", "tree", "siblings"] | tuple[Number, Number] = Field(
        "game",
        description="range from which values are scaled: the game's or a given one (to -1..1), or "
        "the least and greatest value in the tree, or of a node and its children (to 0..1)",
    )
    discount: Annotated[float, Field(ge=0, le=1)] = Field(1.0, description="factor per step")
    policy_temperature: Annotated[float, Field(ge=0.01, le=100)] = Field(
        1.0, description="divides the logits: above 1, priors are closer to equal"
    )
    prior_floor: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="least prior, as a share of the highest; 0: none"
    )
    forcing_bonus: Annotated[float, Field(ge=0, le=10)] = Field(
        0.0,
        description="added to the logits of forcing actions; in chess captures, promotions, checks",
    )

    # Randomness in the search itself. -------------------------------------------------------------
    noise: bool = Field(
        False, description="Dirichlet noise on the root's priors; for self-play, not for play"
    )
    dirichlet_alpha: Positive = Field(0.3, description="about 10 / number of legal actions")
    dirichlet_fraction: Annotated[float, Field(ge=0, le=1)] = Field(
        0.25, description="share of the noise in the root's priors"
    )
    forced_playouts: NotNegative = Field(
        0.0,
        description="PUCT: k in the sqrt(k * P * N) visits that every tried edge of the root gets, "
        "so that noise is explored and sacrifices are looked into; the policy target omits them. "
        "KataGo: 2",
    )
    temperature: NotNegative = Field(
        0.0, description="of the chosen action; 0: the best, 1: in proportion to visits"
    )
    lcb: NotNegative = Field(
        0.0,
        description="choose the best action by its lower confidence bound, this many standard "
        "deviations below Q; 0: by visits",
    )
    shortest_win: bool = Field(
        False,
        description="with a proven result, choose the shortest proven win or the longest loss, not "
        "the most visited one",
    )
    seed: Annotated[int, Field(ge=0, lt=2**64)] = Field(0, description="of all random numbers")

    # How the work is done. ------------------------------------------------------------------------
    proofs: bool = Field(True, description="prove wins, draws and losses, and use the proofs")
    transpositions: bool = Field(
        False,
        description="one node for a position that several lines reach, by the game's `key`; "
        "for selection 'puct' and 'uct'",
    )
    leaves_in_flight: Annotated[int, Field(ge=1, le=4096)] = Field(
        1,
        description="leaves of one tree evaluated at once; virtual visits (virtual loss without "
        "the loss) keep them apart. More make larger batches, fewer make better choices. "
        "If it is not set, `Search` uses the evaluator's preference",
    )
    collisions: Annotated[int, Field(ge=0, le=32768)] | None = Field(
        None,
        description="simulations per batch that may meet a leaf in flight; None: leaves_in_flight",
    )
    top_k: Annotated[int, Field(ge=1, le=65532)] | None = Field(
        None,
        description="learned models: actions kept below the root, those with the highest priors; "
        "None: all",
    )
    hidden: Literal["information_set", "determinised", "cheating"] = Field(
        "information_set",
        description="games with hidden information: one tree over public actions with a new deal "
        "per simulation, one tree per deal (determinised), or cheating, which sees everything",
    )
    deals: Annotated[int, Field(ge=1, le=65536)] = Field(
        32,
        description="hidden='determinised': number of deals, which share the simulations equally",
    )
    flat_priors: bool = Field(
        False,
        description="hidden information: equal priors below the root, so that a position is "
        "evaluated once and not once per hand. `Search` sets it for evaluators with equal priors",
    )
    stop_at_new_views: bool = Field(
        False,
        description="hidden information: a simulation ends where the seat to move has a hand that "
        "is new at this node; otherwise it waits for the priors and continues",
    )
    prior_bits: Literal[8, 16, 32] = Field(
        8,
        description="bits per prior below the root; 8 are exact to 3.2 % and keep nodes small",
    )
    threads: Annotated[int, Field(ge=1, le=256)] = Field(
        1,
        description="threads, each with its own trees; those beyond the number of trees share out "
        "the leaves in flight. Never changes a result",
    )

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, settings: Any) -> Any:
        """Translate other spellings; suggest a name for an unknown one."""
        if not isinstance(settings, dict):
            return settings
        return {name: _own_kind(name, value) for name, value in _own_names(settings).items()}

    @model_validator(mode="after")
    def _consistent(self) -> SearchConfig:
        if self.selection == "gumbel" and (self.simulations or 0) > GUMBEL_MOST:
            raise ConfigError(
                f"simulations is {self.simulations}, but selection='gumbel' plans each one ahead: "
                f"give at most {GUMBEL_MOST}."
            )
        if self.selection == "gumbel" and self.simulations is None:
            raise ConfigError("selection='gumbel' plans each simulation ahead: set simulations.")
        if self.selection == "gumbel" and (self.widening is not None or self.rave > 0):
            raise ConfigError("widening and rave are for selection='puct' or 'uct', not 'gumbel'.")
        self._allow_transpositions()
        self._allow_choice()
        if isinstance(self.value_range, tuple) and self.value_range[1] - self.value_range[0] < 1e-6:
            low, high = self.value_range
            raise ConfigError(
                f"value_range is ({low}, {high}): the second must be above the first by 1e-6."
            )
        if self.simulations is None and (self.seconds, self.nodes, self.depth) == (None,) * 3:
            raise ConfigError("Nothing ends the search: set simulations, seconds, nodes or depth.")
        if self.horizon is not None and (self.simulations, self.seconds) == (None, None):
            self._need_reachable(self.horizon)
        return self

    def _allow_transpositions(self) -> None:
        """:raises ConfigError: another setting needs a tree, where one line leads to each node."""
        others = {
            "selection='gumbel'": self.selection == "gumbel",
            "widening": self.widening is not None,
            "rave": self.rave > 0,
            "horizon": self.horizon is not None,
        }
        wrong = [name for name, is_set in others.items() if is_set]
        if self.transpositions and wrong:
            raise ConfigError(f"transpositions=True does not work with {wrong[0]}: set only one.")

    def _allow_choice(self) -> None:
        """:raises ConfigError: settings of a choice contradict each other."""
        gumbel = {"selection='gumbel'": self.selection == "gumbel"}
        siblings = {"value_range='siblings'": self.value_range == "siblings"}
        others = {
            "stop_early=True": {
                **gumbel,
                "a temperature above 0": self.temperature > 0,
                "lcb": self.lcb > 0,
            },
            "lcb": {**gumbel, **siblings},
            "c_deviation": siblings,
        }
        given = {
            "stop_early=True": self.stop_early,
            "lcb": self.lcb > 0,
            "c_deviation": self.c_deviation > 0,
        }
        for name, is_set in given.items():
            wrong = [other for other, is_wrong in others[name].items() if is_wrong]
            if is_set and wrong:
                raise ConfigError(f"{name} does not work with {wrong[0]}: set only one.")

    def _need_reachable(self, horizon: int) -> None:
        """:raises ConfigError: lines of `horizon` plies need not reach the limits of the tree."""
        if self.depth is not None and self.depth <= horizon:
            return
        limit = f"nodes is {self.nodes}" if self.depth is None else f"depth is {self.depth}"
        raise ConfigError(
            f"{limit} and horizon is {horizon}: lines that short may never reach it, so set "
            f"simulations or seconds too, or a depth of at most {horizon}."
        )

    def __init__(self, **settings: Unpack[SearchSettings]) -> None:
        """Take settings by name.

        :raises ConfigError: a name is unknown, or a value does not fit.
        """
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise ConfigError(_sentence(error, {**settings})) from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise ConfigError(f"SearchConfig is frozen: make a copy with replace({name}={value!r}).")

    def __delattr__(self, name: str) -> None:
        raise ConfigError(f"SearchConfig is frozen: {name} stays, or changes in a copy (replace).")

    def replace(self, **settings: Unpack[SearchSettings]) -> SearchConfig:
        """A copy with some settings changed."""
        if not settings:
            return self
        # Copy set fields only, so that `model_fields_set` still tells them from defaults.
        return SearchConfig(**{**self.model_dump(exclude_unset=True), **_own_names({**settings})})

    def bounds(self, game_range: tuple[float, float]) -> tuple[float, float] | None:
        """The known value range of a search of a game; None if it is learned."""
        if isinstance(self.value_range, tuple):
            return self.value_range
        known = self.value_range == "game" and all(map(math.isfinite, game_range))
        return game_range if known and game_range[0] < game_range[1] else None

    def exploration(self, n: float) -> float:
        """c(N) * sqrt(N): PUCT's factor of the priors at a node with n visits."""
        grown = (
            0.0 if self.c_base is None else self.c_factor * ln((1 + n + self.c_base) / self.c_base)
        )
        return (self.c_puct + grown) * math.sqrt(n)

    def width(self, n: int) -> float:
        """The largest number of edges that a node with n visits tries."""
        if self.widening is None:
            return math.inf
        return max(1, math.ceil(self.widening * exp(self.widening_power * ln(float(max(n, 1))))))

    def forced_visits(self, prior: float, n: int) -> float:
        """Visits that a tried edge of the root gets whatever its value, of n visits in all."""
        return math.sqrt(self.forced_playouts * prior * n)

    def mixed(self, prior: float, eta: float) -> float:
        """A prior of the root mixed with its noise: (1 - f) * P + f * eta."""
        return (1 - self.dirichlet_fraction) * prior + self.dirichlet_fraction * eta

    def native(self, game_range: tuple[float, float]) -> dict[str, Any]:
        """The settings for `sylvan._native.Forest`, for a game with this range of values."""
        settings = self.model_dump(exclude={"deals"})
        bounds = self.bounds(game_range)
        learned = "siblings" if self.value_range == "siblings" else "tree"
        settings["value_range"] = "known" if bounds else learned
        settings["value_bounds"] = bounds
        for name in ("fpu", "fpu_root"):
            settings[name], settings[f"{name}_number"] = self.fpu_rule(root=name == "fpu_root")
        if self.collisions is None:
            settings["collisions"] = self.leaves_in_flight
        return settings

    def fpu_rule(self, *, root: bool) -> tuple[str, float]:
        """The first-play urgency at the root or below: a rule, and its number if it has one."""
        rule = self.fpu_root if root and self.fpu_root is not None else self.fpu
        if rule == "reduction":
            separate = root and self.fpu_root_reduction is not None
            reduction = self.fpu_root_reduction if separate else self.fpu_reduction
            return "reduction", float(reduction or 0.0)
        if isinstance(rule, str) and rule != "zero":
            return rule, 0.0
        return "value", 0.0 if rule == "zero" else float(rule)


def configured(config: SearchConfig | None, settings: SearchSettings) -> SearchConfig:
    """A configuration, or the default one, with some settings changed."""
    if config is None:
        return SearchConfig(**settings)
    if not isinstance(config, SearchConfig):
        raise ConfigError(f"config is {config!r}: give a SearchConfig, or settings by their names.")
    return config.replace(**settings)


def _own_names(settings: dict[str, Any]) -> dict[str, Any]:
    """The same settings under the names of `SearchConfig`'s fields."""
    fields = SearchConfig.model_fields
    known: dict[str, Any] = {}
    given: dict[str, str] = {}
    for name, value in settings.items():
        own = ALIASES.get(name, name)
        if own not in fields:
            close = difflib.get_close_matches(name, [*fields, *ALIASES], 1, 0.5)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(fields)}."
            raise ConfigError(f"There is no setting {name!r}: {hint}")
        if own in known:
            raise ConfigError(f"{given[own]!r} and {name!r} are one setting: give it once.")
        known[own], given[own] = value, name
    return known


class _Unfit:
    """Stands for a value of a wrong type: no setting accepts it, and errors show the value."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __repr__(self) -> str:
        return repr(self.given)


def _own_kind(name: str, value: Any) -> Any:
    """The value, unless pydantic would convert it without need: `simulations=True` is not 1, and
    `noise="no"` is an error.
    """
    switch = SearchConfig.model_fields[name].annotation is bool
    mistaken = isinstance(value, str) if switch else isinstance(value, bool)
    return _Unfit(value) if mistaken else value


def _sentence(error: ValidationError, settings: dict[str, Any]) -> str:
    """The first fault of a pydantic error, in one sentence."""
    faults = error.errors()
    own = faults[0].get("ctx", {}).get("error")
    if isinstance(own, ConfigError):  # raised by a validator above
        return str(own)
    field = str(faults[0]["loc"][0])
    name = next(name for name in settings if ALIASES.get(name, name) == field)
    # pydantic reports a fault per type that a setting may have.
    rules = dict.fromkeys(_rule(fault) for fault in faults if fault["loc"][0] == field)
    meaning = SearchConfig.model_fields[field].description
    return f"{name} is {settings[name]!r}: it must be {', or '.join(rules)} ({meaning})."


def _rule(fault: ErrorDetails) -> str:
    """The rule that a pydantic fault states, for example "at least 0"."""
    if any(str(part).startswith("tuple") for part in fault["loc"]):
        return "a pair of finite numbers"
    return plain_rule(fault["msg"])
