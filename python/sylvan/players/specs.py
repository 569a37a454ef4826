"""Player specifications: the text of a player on the command line.

    random                                  a random legal move
    material:simulations=800,c_puct=2       a built-in evaluator and settings of its search
    maia-1900.pb.gz:nodes=800               a network file and settings of its search
    runs/first:nodes=800                    the best network of a training run
    socket:/tmp/net.sock:nodes=800          the network of a server, `sylvan serve-network`
    runs/learned:simulations=50             the same, for a run that learned a model
    uci:stockfish Skill Level=0 nodes=1000  a UCI program, its options and its limits
    uci:sylvan uci --net x.onnx; Hash=64    the same with arguments; options after a semicolon

Settings are the fields of `SearchConfig`, and for networks the options of `load_evaluator`. All
players but `random` take limits: `nodes`, `depth`, `seconds` per move, or a clock `tc=60+0.6`. A
search also takes `simulations`: they count only new visits, `nodes` also those of a reused tree.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from sylvan import registry
from sylvan.errors import ConfigError
from sylvan.evaluators.loading import (
    SUFFIXES,
    fingerprint,
    is_learned,
    is_network,
    is_served,
    network_file,
)
from sylvan.evaluators.lookup import evaluator_names

if TYPE_CHECKING:
    from sylvan.evaluators import EvaluatorLike
    from sylvan.planning import LatentModel, SearchConfig
    from sylvan.players.player import Player

__all__ = ["Limits", "PlayerSpec", "TimeControl", "is_installed", "player_spec"]

OPTIONS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("backend", "device", "dtype", "history_fill"), (str,)),
    **dict.fromkeys(("batch", "cache_boards", "cache_bytes", "threads"), (int,)),
    **dict.fromkeys(("compile", "deterministic", "mates"), (bool,)),
}
"""Settings of a network rather than of its search, and their types."""
CACHE = 64 * 2**20
"""Bytes of a network's evaluation cache: games and players share openings."""
SIMULATIONS = 800
"""Simulations per move of a search without a limit."""


@dataclass(frozen=True)
class TimeControl:
    """Seconds for the whole game, and the increment per move.

    >>> TimeControl.parse("1+0.01"), TimeControl.parse("2:30")
    (TimeControl(base=1.0, increment=0.01), TimeControl(base=150.0, increment=0.0))
    """

    base: float
    increment: float = 0.0

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """Parse `60`, `60+0.6` or `1:00+0.6`."""
        match = re.fullmatch(r"(?:(\d+):)?(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?", text.strip())
        if match is None or not (float(match[2]) or float(match[1] or 0)):
            raise ConfigError(
                f"the time control {text!r} is invalid: write seconds and increment, 60+0.6"
            )
        return cls(60 * int(match[1] or 0) + float(match[2]), float(match[3] or 0))

    def __str__(self) -> str:
        return f"{self.base:g}+{self.increment:g}"


@dataclass(frozen=True)
class Limits:
    """The limits of a search for a move; None is no limit."""

    nodes: int | None = None
    depth: int | None = None
    seconds: float | None = None
    tc: TimeControl | None = None

    def __post_init__(self) -> None:
        for name in ("nodes", "depth", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} is {value}: give a number above 0.")

    def __bool__(self) -> bool:
        return any(value is not None for value in vars(self).values())


class LearnedPlayers(Protocol):
    """Players that plan with the model of a run, registered as `learned` (`sylvan.registry`)."""

    def config(self, run: str) -> SearchConfig:
        """The run's search settings, without noise and temperature."""

    def model(self, run: str, device: str) -> LatentModel:
        """Load the run's model."""

    def open(self, model: LatentModel, config: SearchConfig, name: str) -> Player:
        """Create a player that plans with a model."""


@dataclass(frozen=True)
class PlayerSpec:
    """The specification of a player, which can be opened once per parallel game."""

    text: str
    """The text as given; it identifies the player."""
    kind: Literal["random", "search", "uci"]
    source: str = ""
    """The evaluator's name, the network's path, or the command."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the search, or options of the program."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the network."""
    limits: Limits = Limits()

    @property
    def name(self) -> str:
        """The name in tables and PGN files."""
        if self.kind == "uci":
            return self.text.removeprefix("uci:")
        return self.text.removeprefix(str(Path(self.source).parent) + "/")

    @property
    def is_network(self) -> bool:
        return self.kind == "search" and self.source not in evaluator_names()

    @property
    def is_learned(self) -> bool:
        """Whether it plans with a run's learned model instead of the rules."""
        return self.kind == "search" and is_learned(self.source)

    @property
    def file(self) -> Path:
        """The network's file; for a run's folder, that of its best network."""
        return network_file(self.source, self.options.get("backend", "auto"))

    @property
    def blocks(self) -> bool:
        """Whether its moves take wall time that batching cannot share: a program, or a clock."""
        timed = self.limits.seconds is not None or self.limits.tc is not None
        return self.kind == "uci" or (self.kind == "search" and timed)

    def limited(self, limits: Limits) -> PlayerSpec:
        """The same player with these limits, unless it has its own."""
        has_own = bool(self.limits) or "simulations" in self.settings
        spec = self if has_own or self.kind == "random" else replace(self, limits=limits)
        if spec.kind == "uci" and not spec.limits:
            raise ConfigError(
                f"the player {self.text!r} has no limit: give --tc 10+0.1, --nodes or --seconds, "
                "or append nodes=1000"
            )
        return spec

    def config(self) -> SearchConfig:
        """The settings of its searches."""
        from sylvan.planning import SearchConfig

        if self.is_learned:
            return self._learned_config()
        settings = dict(self.settings)
        limits = {n: getattr(self.limits, n) for n in ("nodes", "depth", "seconds")}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        if self.limits.tc is not None:
            given["seconds"] = self.limits.tc.base
        settings.setdefault("simulations", None if given else SIMULATIONS)
        return SearchConfig(**given, **settings)

    def _learned_config(self) -> SearchConfig:
        """The run's own settings; only `simulations` limits a search over a model."""
        if self.limits:
            raise ConfigError(
                f"{self.name} plans with a learned model, which can only be limited by "
                f"simulations: write {self.source}:simulations=100"
            )
        return self._learned().config(self.source).replace(**self.settings)

    @staticmethod
    def _learned() -> LearnedPlayers:
        players: LearnedPlayers = registry.load("players", "learned")
        return players

    def model(self) -> LatentModel:
        """The learned model of a player that plans with one."""
        return self._learned().model(self.source, self.options.get("device", "cpu"))

    def evaluator(self) -> EvaluatorLike:
        """The evaluator of a player that searches with the rules: a name, or a network."""
        if not self.is_network:
            return self.source
        from sylvan.evaluators import load_evaluator

        return load_evaluator(self.source, **self.options)

    def open(self, shared: EvaluatorLike | LatentModel | None = None) -> Player:
        """Open a player, which plays one game at a time.

        :param shared: from `evaluator()` or `model()`, if several games share it and its batches.
        """
        from sylvan.players.player import RandomPlayer, SearchPlayer
        from sylvan.players.uci_player import UciPlayer

        if self.kind == "random":
            return RandomPlayer()
        if self.kind == "uci":
            return UciPlayer(self.source, self.settings, self.limits, name=self.name)
        shares = shared is not None
        if self.is_learned:
            model = cast("LatentModel", shared) if shares else self.model()
            return self._learned().open(model, self.config(), self.name)
        evaluator = cast("EvaluatorLike", shared) if shares else self.evaluator()
        return SearchPlayer(evaluator, self.config(), name=self.name, shares_batches=shares)

    def identity(self) -> dict[str, Any]:
        """Text, limits and network hash: equal for games of the same player."""
        limits = {
            name: str(value) for name, value in vars(self.limits).items() if value is not None
        }
        facts: dict[str, Any] = {"player": self.text, "limits": limits}
        if self.is_network:
            facts["network"] = self._fingerprint()
        return facts

    def _served(self) -> str:
        """The fingerprint of a server's network.

        :raises NetworkError: no server is at the address.
        """
        from sylvan.evaluators.remote import RemoteEvaluator

        with closing(RemoteEvaluator(self.source)) as remote:
            return remote.welcome.fingerprint

    def _fingerprint(self) -> str:
        """Equal for equal networks."""
        if is_served(self.source):
            return self._served()
        return fingerprint(self.file)

    def check(self) -> None:
        """Validate now, rather than fail in the middle of a match."""
        if self.kind == "search":
            self.config()
        if self.kind == "uci":
            from sylvan.players.uci_client import find_program

            find_program(self.source)
        if is_served(self.source):
            self._served()
        elif self.is_network and not self.file.is_file():
            raise ConfigError(f"there is no network file {self.source!r}: give an existing path")


def player_spec(text: str) -> PlayerSpec:
    """Parse the text of a player, without opening it.

    :raises ConfigError: there is no such player, or a setting is invalid.

    >>> player_spec("material:simulations=100,c_puct=2").settings
    {'simulations': 100, 'c_puct': 2}
    """
    text = text.strip()
    spec = _uci(text) if text.startswith("uci:") else _built_in(text)
    spec.check()
    return spec


def is_installed(text: str) -> bool:
    """Return whether a player's program exists; true for players that are no programs."""
    text = text.strip()
    if not text.startswith("uci:"):
        return True
    words = shlex.split(_uci(text).source)
    return not words or shutil.which(words[0]) is not None


def _built_in(text: str) -> PlayerSpec:
    head, colon, tail = text.rpartition(":")
    source, settings = (head, tail) if colon and "=" in tail else (text.removesuffix(":"), "")
    pairs = dict(_pair(part, text) for part in settings.split(",") if part.strip())
    if source == "random":
        if pairs:
            raise ConfigError("the player 'random' has no settings: write 'random' alone")
        return PlayerSpec(text, "random")
    if source not in evaluator_names() and not is_network(source):
        names = ", ".join(["random", *evaluator_names()])
        raise ConfigError(
            f"there is no player {source!r}: give {names}, a network file "
            f"({', '.join(SUFFIXES)}), a run's folder, socket:address or uci:command"
        )
    limits = _take_limits(pairs)
    options = {}
    if source not in evaluator_names():
        options = {"cache_bytes": CACHE, **_take_options(pairs)}
    return PlayerSpec(text, "search", source, pairs, options, limits)


def _pair(part: str, text: str) -> tuple[str, Any]:
    """Parse `name=value`; numbers, true, false and null as in JSON, everything else as text."""
    name, equals, value = part.strip().partition("=")
    if not (name and equals):
        raise ConfigError(f"{part.strip()!r} in {text!r} has no value: write name=value")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _uci(text: str) -> PlayerSpec:
    """Parse program and options: separated by semicolons, or `program Option name=value ...`.

    >>> _uci("uci:stockfish Skill Level=3 Hash=16 depth=4").settings
    {'Skill Level': '3', 'Hash': '16'}
    """
    command, semicolon, rest = text.removeprefix("uci:").partition(";")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"the player {text!r} cannot be parsed: {error}") from None
    has_options = any("=" in word and not word.startswith("-") for word in words)
    if semicolon:
        if _has_loose_option(words):
            options = re.findall(r"[^=]+=\S*", " ".join(words[1:]))
            raise ConfigError(
                f"{options[0].strip()!r} is an option before the first semicolon, where only the "
                f"program and its arguments stand: write uci:{words[0]}; "
                f"{'; '.join(each.strip() for each in [*options, rest])}"
            )
        parts = [part.strip() for part in rest.split(";") if part.strip()]
    else:
        parts = []
        if has_options:
            command, options = shlex.join(words[:1]), words[1:]
            # Each option ends with the word that contains the equals sign.
            parts = re.findall(r"[^=]+=\S*", " ".join(options))
    pairs: dict[str, Any] = {}
    for part in parts:
        name, equals, value = part.strip().partition("=")
        if not (name and equals):
            raise ConfigError(f"{part.strip()!r} in {text!r} has no value: write Option=value")
        pairs[name.strip()] = value.strip()
    limits = _take_limits(pairs)
    return PlayerSpec(text, "uci", command.strip(), pairs, limits=limits)


def _has_loose_option(words: list[str]) -> bool:
    """Return whether a command has `Name=value`, which is not the value of an argument.

    >>> _has_loose_option(["stockfish", "Hash=16"]), _has_loose_option(["x", "--set", "c_puct=2"])
    (True, False)
    """
    return any("=" in word and word[0] != "-" and last[:1] != "-" for last, word in pairwise(words))


_READERS: dict[str, Callable[[Any], Any]] = {
    "nodes": int,
    "depth": int,
    "seconds": float,
    "tc": lambda value: TimeControl.parse(str(value)),
}


def _take_limits(pairs: dict[str, Any]) -> Limits:
    """Remove the limits from the settings and return them."""
    given = {}
    for name in set(pairs) & set(_READERS):
        value = pairs.pop(name)
        try:
            given[name] = _READERS[name](value)
        except (TypeError, ValueError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"{name} is {value!r}: give a number.") from None
    return Limits(**given)


def _take_options(pairs: dict[str, Any]) -> dict[str, Any]:
    """Remove the network's options from the settings and return them."""
    options = {name: pairs.pop(name) for name in list(pairs) if name in OPTIONS}
    for name, value in options.items():
        if type(value) not in OPTIONS[name]:
            kinds = " or ".join(kind.__name__ for kind in OPTIONS[name])
            raise ConfigError(f"{name} is {value!r}: it must be of type {kinds}.")
    return options
