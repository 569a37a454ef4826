"""All settings of a run: one typed configuration of ten sections.

Each section is defined next to the code that uses it; this file combines them. Settings come from a
preset, a file and the command line; later ones override earlier ones. The result is saved in the
run's folder and read from there.

A setting is named with its section, `learner.learning_rate`. The section can be omitted if only one
section has the name, and for settings of `run` and `search`, so that `seed`, `c_puct`,
`dirichlet_epsilon`, `simulations_per_move` and `temp_threshold` have their usual meaning.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from sylvan.errors import ConfigError
from sylvan.games.naming import GameSpec
from sylvan.learning.config import RunLearnerConfig
from sylvan.muzero.config import SHAPING, MuZeroConfig
from sylvan.planning.config import ALIASES, SearchConfig
from sylvan.ratings.arena import ArenaConfig
from sylvan.replay.buffer import ReplayConfig
from sylvan.replay.targets import TargetConfig
from sylvan.selfplay.config import SelfPlayConfig
from sylvan.settings import Section
from sylvan.settings.file import without_none

__all__ = [
    "FIXED",
    "Algorithm",
    "GameConfig",
    "NetworkConfig",
    "RunConfig",
    "TrainingConfig",
    "differences",
    "merged",
    "overrides",
    "sectioned",
    "without_former",
]


Algorithm = Literal["alphazero", "muzero"]


class RunConfig(Section):
    """The run as a whole: algorithm, budget, seed, machine."""

    seed: int = Field(0, ge=0, lt=2**63, description="seed of all random choices of the run")
    algorithm: Algorithm = Field(
        "alphazero",
        description="alphazero searches with the game's rules; muzero learns a model of them and "
        "searches with it, and is implied by environments without rules, gym:name",
    )
    steps: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="end after this many steps; a run with only this budget is reproducible bit "
        "for bit on one kind of machine",
    )
    minutes: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="end after this time, counted over all sessions of the run"
    )
    threads: Annotated[int, Field(ge=1, le=256)] | None = Field(
        None,
        description="CPU cores to use; none: all. Another number changes the order of summation "
        "and thus the last digits",
    )
    device: str = Field(
        "auto", description="device of the networks: cpu, cuda, cuda:1; auto: a GPU if there is one"
    )
    profile: Literal["same", "any"] = Field(
        "same",
        description="where a run may be resumed. same: only where device, driver and versions of "
        "the libraries are those it began with, since others change the last digits; any: "
        "everywhere, and the change is reported",
    )
    eight_bits: bool = Field(
        False,
        description="on a CPU, run the self-play network in int8: twice as fast on processors with "
        "VNNI, slightly less exact; for residual towers",
    )
    cache_megabytes: int = Field(
        64,
        ge=0,
        description="on a CPU, memory for cached evaluations: within a step the same positions "
        "occur in many games; 0: no cache",
    )
    keep: int = Field(
        3, ge=1, description="newest checkpoints to keep besides the best, in case one is damaged"
    )
    history: int = Field(
        16,
        ge=0,
        description="networks of earlier steps to keep, spread over the run, to look back at; 0: "
        "none",
    )
    export_every: int = Field(
        0,
        ge=0,
        description="export the newest network every this many steps; 0: with each rating, and at "
        "the end",
    )


class GameConfig(Section):
    """The game."""

    name: str = Field(
        description="connect4, tictactoe, chess, path.py:Class, open_spiel:name or gym:name"
    )
    params: dict[str, Any] = Field(
        default_factory=dict, description="arguments of the game's class, such as columns and rows"
    )

    @property
    def spec(self) -> GameSpec:
        """The game, which can be started any number of times."""
        return GameSpec(self.name, self.params)

    def resolved(self) -> Self:
        """A copy with absolute paths of files."""
        params = dict(self.params)
        if "wrappers" in params and self.name.startswith(ENVIRONMENTS):
            params["wrappers"] = [_absolute(name) for name in params["wrappers"]]
        return self.replace(name=_absolute(self.name), params=params)


class NetworkConfig(Section):
    """The network."""

    size: str = Field(
        "4x48",
        description="6x64: blocks and channels of a residual tower; t4x128: a transformer; "
        "mlp2x128: dense layers; or path.py:Class for a module of your own",
    )
    settings: dict[str, Any] = Field(
        default_factory=dict,
        description="other settings of the architecture by name, such as norm, or arguments of "
        "your class",
    )
    value: Literal["wdl", "scalar", "seats"] | None = Field(
        None, description="format of the value output; none: chosen for the game"
    )
    moves_left: bool = Field(
        False, description="also predict the plies to the end, an auxiliary target for the body"
    )


SELF_PLAY_SEARCH: dict[str, Any] = {"simulations": 64, "noise": True}
"""Defaults of self-play that differ from `SearchConfig`: few simulations, and noise."""

OTHER_NAMES = {"temp_threshold": "selfplay.temperature_plies"}
"""Names that other programs use for settings outside the search."""

FIXED = ("game", "network", "run.seed", "run.algorithm", *(f"muzero.{name}" for name in SHAPING))
"""Sections and settings that never change in a run; all others may change when it is resumed."""


ENVIRONMENTS = "gym:"
"""Prefix of the names of environments, which have no rules to search with."""


def _is_environment(game: Any) -> bool:
    name = game.get("name", "") if isinstance(game, Mapping) else getattr(game, "name", "")
    return str(name).startswith(ENVIRONMENTS)


def _defaults(section: type[BaseModel]) -> Any:
    """A section with all settings at their defaults."""
    return Field(default_factory=section)


class TrainingConfig(Section):
    """All settings of a run, section by section.

    >>> config = TrainingConfig(game={"name": "connect4"}, search={"c_puct": 2.0})
    >>> config.search.c_puct, config.search.simulations
    (2.0, 64)
    >>> TrainingConfig(game={"name": "connect4"}, learner={"lerning_rate": 0.1})
    Traceback (most recent call last):
    sylvan.errors.ConfigError: There is no setting 'lerning_rate' in learner: did you mean \
'learning_rate'?
    """

    run: RunConfig = _defaults(RunConfig)
    game: GameConfig
    network: NetworkConfig = _defaults(NetworkConfig)
    search: SearchConfig = SearchConfig(**SELF_PLAY_SEARCH)
    selfplay: SelfPlayConfig = _defaults(SelfPlayConfig)
    targets: TargetConfig = _defaults(TargetConfig)
    replay: ReplayConfig = _defaults(ReplayConfig)
    learner: RunLearnerConfig = _defaults(RunLearnerConfig)
    muzero: MuZeroConfig = _defaults(MuZeroConfig)
    arena: ArenaConfig = _defaults(ArenaConfig)

    @model_validator(mode="before")
    @classmethod
    def _sections(cls, settings: Any) -> Any:
        if not isinstance(settings, Mapping):
            return settings
        read = {
            name: without_none(SECTIONS[name], value) if name in SECTIONS else value
            for name, value in settings.items()
        }
        if isinstance(read.get("search"), dict):
            own = {ALIASES.get(name, name): value for name, value in read["search"].items()}
            if len(own) == len(read["search"]):  # otherwise SearchConfig reports the duplicate
                read["search"] = SELF_PLAY_SEARCH | own
        if _is_environment(read.get("game")) and isinstance(read.get("run", {}), dict):
            read["run"] = {"algorithm": "muzero"} | read.get("run", {})
        return read

    @model_validator(mode="after")
    def _has_rules(self) -> Self:
        if self.game.name.startswith(ENVIRONMENTS) and self.run.algorithm != "muzero":
            raise ConfigError(
                f"run.algorithm is {self.run.algorithm!r}, which needs the rules of a game, but "
                f"{self.game.name} is an environment: omit it, or set it to 'muzero'."
            )
        return self

    @model_validator(mode="after")
    def _games_have_rules(self) -> Self:
        if self.learner.games and self.run.algorithm == "muzero":
            raise ConfigError(
                "learner.games is given, but a learned model needs sequences of its own games: "
                "omit it, or train with run.algorithm 'alphazero'."
            )
        return self

    def resolved(self) -> Self:
        """A copy to save: with threads, device and paths of this machine filled in."""
        run: dict[str, Any] = {}
        if self.run.threads is None:
            run["threads"] = len(os.sched_getaffinity(0))
        if self.run.device == "auto":
            import torch

            run["device"] = "cuda" if torch.cuda.is_available() else "cpu"
        return self.replace(
            run=self.run.replace(**run),
            game=self.game.resolved(),
            learner=self.learner.resolved(),
            network=self.network.replace(size=_absolute(self.network.size)),
        )

    def replace(self, **sections: Any) -> Self:
        """A copy with some sections changed."""
        return type(self)(**{name: getattr(self, name) for name in SECTIONS} | sections)


SECTIONS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in TrainingConfig.model_fields.items()
    if isinstance(field.annotation, type)
}
"""Section name -> its class."""


def overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Parse `section.name=value` texts, the arguments of `--set`.

    Numbers, lists, true, false and null are read as in JSON; everything else is text.

    >>> overrides(["c_puct=2", "game.params.columns=5"])
    {'search': {'c_puct': 2}, 'game': {'params': {'columns': 5}}}
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ConfigError(f"--set {text} has no value: write --set section.name=value.")
        try:
            read = json.loads(value)
        except json.JSONDecodeError:
            read = value
        one: Any = read
        for part in reversed(name.split(".")):
            one = {part: one}
        settings = merged(settings, sectioned(one))
    return settings


def sectioned(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Sort settings into sections; some may be given without their section.

    :raises ConfigError: no section has a setting of this name, or several have one.

    >>> sectioned({"simulations_per_move": 50, "run": {"seed": 1}})
    {'search': {'simulations': 50}, 'run': {'seed': 1}}
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in SECTIONS:
            if not isinstance(value, Mapping):
                raise ConfigError(
                    f"{name} is {value!r}, but it is a section: give its settings by name, "
                    f"such as {name}.{next(iter(SECTIONS[name].model_fields))}."
                )
            found = merged(found, {name: {_ours(name, k): v for k, v in value.items()}})
        else:
            section, own = _section_of(name)
            found = merged(found, {section: {own: value}})
    return found


FORMER = {"selfplay": ("halves",)}
"""Settings that earlier versions wrote into run folders and that have no effect any more."""


def without_former(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run folder, sorted into sections, without those of earlier versions."""
    return {
        section: {name: own for name, own in values.items() if name not in FORMER.get(section, ())}
        for section, values in sections.items()
    }


def _ours(section: str, name: str) -> str:
    """Our name of a setting in a section, which may be given by an alias."""
    if section == "search":
        return ALIASES.get(name, name)
    aliased, _, own = OTHER_NAMES.get(name, "").partition(".")
    return own if aliased == section else name


def _section_of(name: str) -> tuple[str, str]:
    """Section and name of a setting that is given without its section."""
    if name in OTHER_NAMES:
        section, _, own = OTHER_NAMES[name].partition(".")
        return section, own
    own = ALIASES.get(name, name)
    sections = [section for section, kind in SECTIONS.items() if own in kind.model_fields]
    for preferred in ("run", "search"):  # `seed` is the run's, `simulations` the search's
        if preferred in sections:
            sections = [preferred]
    if len(sections) == 1:
        return sections[0], own
    if sections:
        choices = " or ".join(f"{section}.{own}" for section in sections)
        raise ConfigError(f"{name!r} is a setting of several sections: write {choices}.")
    names = {n: s for s, kind in SECTIONS.items() for n in kind.model_fields}
    close = difflib.get_close_matches(name, [*SECTIONS, *names, *OTHER_NAMES, *ALIASES], 1, 0.5)
    if not close:
        raise ConfigError(f"There is no section {name!r}: there are {', '.join(SECTIONS)}.")
    meant = f"{names[close[0]]}.{close[0]}" if close[0] in names else close[0]
    raise ConfigError(f"There is no setting {name!r}: did you mean {meant!r}?")


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings section by section; `above` wins over `below`."""
    both = dict(below)
    for name, value in above.items():
        old = both.get(name)
        nested = isinstance(old, Mapping) and isinstance(value, Mapping)
        both[name] = merged(old, value) if nested else value  # type: ignore[arg-type]
    return both


def differences(old: TrainingConfig, new: TrainingConfig) -> dict[str, tuple[Any, Any]]:
    """The differences between two configurations: `section.name` to both values."""
    found = {}
    for section, kind in SECTIONS.items():
        for name in kind.model_fields:
            pair = tuple(getattr(getattr(c, section), name) for c in (old, new))
            if pair[0] != pair[1]:
                found[f"{section}.{name}"] = (pair[0], pair[1])
    return found


def _absolute(name: str) -> str:
    """`path.py:Class` with an absolute path, so that a run can be resumed from another folder.

    >>> _absolute("/games/nim.py:Nim"), _absolute("gym:/games/lights.py:Lights")
    ('/games/nim.py:Nim', 'gym:/games/lights.py:Lights')
    >>> _absolute("/games/wrappers.py:Slow(steps=2)")
    '/games/wrappers.py:Slow(steps=2)'
    """
    kind = ENVIRONMENTS if name.startswith(ENVIRONMENTS) else ""
    path, extension, rest = name.removeprefix(kind).partition(".py:")
    return f"{kind}{Path(path + '.py').resolve()}:{rest}" if extension else name
