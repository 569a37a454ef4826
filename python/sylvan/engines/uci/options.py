"""The engine's UCI options, in one table.

`Options` holds the values under Python names; `changed` applies a `setoption` line, and
`announcements` declares the options to a GUI. A test compares `docs/uci.md` with the table.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from sylvan.errors import ConfigError
from sylvan.planning.keywords import FpuRule
from sylvan.players.strength import STRONGEST, WEAKEST

__all__ = ["Option", "Options", "announcements", "changed", "table"]

FPU_RULES = get_args(FpuRule)


@dataclass(frozen=True)
class Option:
    """The UCI declaration of an option, and its meaning."""

    name: str
    kind: str
    """`spin` (a whole number), `check`, `combo` or `string`."""
    meaning: str
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()
    number: tuple[float, float] | None = None
    """Range of a string option that must be a number."""

    def read(self, text: str) -> Any:
        """Parse a GUI's text.

        :raises ConfigError: it does not fit the option.
        """
        if self.kind == "spin":
            return self._whole(text)
        if self.kind == "check":
            return self._one_of(text, ("true", "false")) == "true"
        if self.kind == "combo":
            return self._one_of(text, self.choices)
        value = "" if text == "<empty>" else text
        return value if self.number is None else self._real(value)

    def _whole(self, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ConfigError(
                f"{self.name} is {text!r}: it must be a whole number from {self.least} to "
                f"{self.most}."
            ) from None
        if not self.least <= value <= self.most:
            raise ConfigError(
                f"{self.name} is {value}: it must be from {self.least} to {self.most}."
            )
        return value

    def _one_of(self, text: str, choices: tuple[str, ...]) -> str:
        for choice in choices:
            if text.lower() == choice.lower():
                return choice
        raise ConfigError(f"{self.name} is {text!r}: it must be {' or '.join(choices)}.")

    def _real(self, text: str) -> float | str:
        assert self.number is not None
        if text.lower() in self.choices:
            return text.lower()
        low, high = self.number
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            names = f" or {', '.join(self.choices)}" if self.choices else ""
            raise ConfigError(
                f"{self.name} is {text!r}: it must be a number from {low:g} to {high:g}{names}."
            )
        return value

    def declare(self, default: Any) -> str:
        """Return the line that declares this option to a GUI."""
        shown = str(default).lower() if self.kind == "check" else str(default) or "<empty>"
        line = f"option name {self.name} type {self.kind} default {shown}"
        if self.kind == "spin":
            return f"{line} min {self.least} max {self.most}"
        return line + "".join(f" var {choice}" for choice in self.choices if self.kind == "combo")


def _option(default: Any, name: str, kind: str, meaning: str, **more: Any) -> Any:
    return field(default=default, metadata={"option": Option(name, kind, meaning, **more)})


@dataclass(frozen=True)
class Options:
    """The values of all options.

    >>> Options().multipv
    1
    """

    weights_file: str = _option(
        "shipped",
        "WeightsFile",
        "string",
        "a network (.onnx, .safetensors, .pb, .pb.gz), `shipped`, Sylvan's own, or `material`, "
        "the evaluator without a network",
    )
    backend: str = _option(
        "auto",
        "Backend",
        "combo",
        "runtime of the network",
        choices=("auto", "onnx", "torch"),
    )
    threads: int = _option(
        2,
        "Threads",
        "spin",
        "threads of the network; the tree search uses one",
        least=1,
        most=256,
    )
    hash: int = _option(
        1024,
        "Hash",
        "spin",
        "megabytes for the tree and the network's cache; a full tree drops its least visited parts",
        least=4,
        most=65536,
    )
    batch_size: int = _option(
        0,
        "BatchSize",
        "spin",
        "positions evaluated at once; more are faster, but less selective. 0: the evaluator's "
        "default",
        least=0,
        most=1024,
    )
    multipv: int = _option(
        1, "MultiPV", "spin", "number of moves to report, best first", least=1, most=256
    )
    ponder: bool = _option(
        False, "Ponder", "check", "the GUI may let the engine search on the opponent's time"
    )
    move_overhead: int = _option(
        50,
        "MoveOverhead",
        "spin",
        "milliseconds to leave on the clock when a move is sent",
        least=0,
        most=10_000,
    )
    chess960: bool = _option(
        False, "UCI_Chess960", "check", "Chess960: castling is written as the king taking its rook"
    )
    show_wdl: bool = _option(
        False, "UCI_ShowWDL", "check", "report wins, draws and losses in thousandths"
    )
    limit_strength: bool = _option(
        False, "UCI_LimitStrength", "check", "limit the strength to UCI_Elo"
    )
    elo: int = _option(
        1500,
        "UCI_Elo",
        "spin",
        "playing strength under UCI_LimitStrength; measured with the shipped network",
        least=WEAKEST,
        most=STRONGEST,
    )
    syzygy_path: str = _option("", "SyzygyPath", "string", "folders with Syzygy endgame tables")
    c_puct: float = _option(
        1.5,
        "CPuct",
        "string",
        "exploration constant of PUCT: higher spreads visits over more moves",
        number=(0.0, 100.0),
    )
    fpu: float | str = _option(
        "reduction",
        "FPU",
        "string",
        "first-play urgency, the value of an unvisited move: a rule or a number",
        number=(-1.0, 1.0),
        choices=FPU_RULES,
    )
    temperature: float = _option(
        0.0,
        "Temperature",
        "string",
        "0 plays the best move, 1 moves in proportion to their visits",
        number=(0.0, 100.0),
    )
    verbose_move_stats: bool = _option(
        False,
        "VerboseMoveStats",
        "check",
        "report visits, value and prior of every move at the end",
    )


def table() -> Iterator[tuple[str, Option, Any]]:
    """Iterate over the options: Python name, declaration and default."""
    for entry in fields(Options):
        yield entry.name, entry.metadata["option"], entry.default


def announcements() -> list[str]:
    """Return the option lines of the answer to `uci`."""
    return [option.declare(default) for _, option, default in table()]


def changed(options: Options, name: str, value: str) -> Options:
    """Return the options after `setoption name NAME value VALUE`; names are case-insensitive.

    :raises ConfigError: the option does not exist, or the value does not fit it.

    >>> changed(Options(), "multipv", "3").multipv
    3
    """
    for own, option, _ in table():
        if option.name.lower() == name.lower():
            return replace(options, **{own: option.read(value)})
    names = [option.name for _, option, _ in table()]
    close = difflib.get_close_matches(name, names, 1, 0.5)
    hint = f"did you mean {close[0]}?" if close else f"use one of {', '.join(names)}."
    raise ConfigError(f"There is no option {name!r}: {hint}")
