"""Parse the lines of a GUI. Invalid lines raise a `ProtocolError`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sylvan.errors import ProtocolError

__all__ = ["Go", "Position", "read_go", "read_option", "read_position"]

MOST = 2**63 - 1
"""Largest number in a command."""
ENOUGH = 2**31 - 1
"""Larger times (24 days in milliseconds) and node counts are cut to this."""


@dataclass(frozen=True)
class Position:
    """`position`: a FEN (None: the initial position) and the moves after it."""

    fen: str | None
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Go:
    """`go`: the limits of a search. Times are in milliseconds."""

    wtime: int | None = None
    btime: int | None = None
    winc: int = 0
    binc: int = 0
    movestogo: int | None = None
    depth: int | None = None
    nodes: int | None = None
    mate: int | None = None
    movetime: int | None = None
    perft: int | None = None
    infinite: bool = False
    ponder: bool = False
    searchmoves: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Unknown words."""


FLAGS = ("infinite", "ponder")
CLOCKS = ("wtime", "btime", "winc", "binc")
COUNTS = ("movestogo", "depth", "nodes", "mate", "movetime", "perft")


def read_go(words: list[str]) -> Go:
    """Parse the words after `go`.

    >>> read_go("wtime 300000 btime 300000 winc 2000 binc 2000".split()).winc
    2000
    >>> read_go(["nodes", "many"])
    Traceback (most recent call last):
    sylvan.errors.ProtocolError: go nodes 'many': give a whole number.
    """
    found: dict[str, Any] = {}
    unknown, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if word in FLAGS:
            found[word] = True
        elif word in CLOCKS or word in COUNTS:
            found[word] = _whole(word, rest)
        elif word == "searchmoves":
            moves = []
            while rest and rest[0] not in (*FLAGS, *CLOCKS, *COUNTS):
                moves.append(rest.pop(0))
            if not moves:
                raise ProtocolError("go searchmoves names no move: give at least one.")
            found[word] = tuple(moves)
        else:
            unknown.append(word)
    return Go(**found, unknown=tuple(unknown))


def _whole(word: str, rest: list[str]) -> int:
    if not rest:
        raise ProtocolError(f"go {word} has no number: give a whole number after it.")
    text = rest.pop(0)
    try:
        value = int(text)
    except ValueError:
        raise ProtocolError(f"go {word} {text!r}: give a whole number.") from None
    # GUIs may send a negative time for an expired clock.
    least = -MOST if word in CLOCKS else 0
    if not least <= value <= MOST:
        raise ProtocolError(f"go {word} {value}: give a number from {least} to {MOST}.")
    return min(value, ENOUGH)


def read_position(words: list[str]) -> Position:
    """Parse the words after `position`.

    >>> read_position("startpos moves e2e4 e7e5".split())
    Position(fen=None, moves=('e2e4', 'e7e5'))
    """
    cut = words.index("moves") if "moves" in words else len(words)
    where, moves = words[:cut], tuple(words[cut + 1 :])
    if where == ["startpos"]:
        return Position(None, moves)
    if where[:1] == ["fen"] and len(where) > 1:
        return Position(" ".join(where[1:]), moves)
    raise ProtocolError(
        "position must be followed by 'startpos', or 'fen' and a FEN, then optionally 'moves' and "
        "moves."
    )


def read_option(text: str) -> tuple[str, str]:
    """Parse name and value after `setoption`; a value may contain spaces.

    >>> read_option("name WeightsFile value my nets/maia.pb.gz")
    ('WeightsFile', 'my nets/maia.pb.gz')
    """
    words = text.split(maxsplit=1)
    if len(words) < 2 or words[0] != "name":
        raise ProtocolError("setoption must be followed by 'name', a name, 'value' and a value.")
    name, _, value = f"{words[1]} ".partition(" value ")
    return name.strip(), value.strip()
