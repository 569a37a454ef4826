"""Iterate over the games of a PGN file of any size.

python-chess builds a tree of every game. Training needs only the main line and the comments after
its moves; a scan finds them, faster. The caller checks that moves are legal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["PgnGame", "pgn_games"]

RESULTS = {"1-0": 1.0, "0-1": -1.0, "1/2-1/2": 0.0}
"""White's score."""

_TAG = re.compile(r'\[(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]')
_TOKEN = re.compile(
    r"""\{(?P<comment>[^}]*)\}            # { a comment }
    | ;[^\n]* | \$\d+                      # ; a comment to the end of the line, a glyph
    | (?P<bracket>[()])                    # a variation begins or ends
    | (?P<result>1-0|0-1|1/2-1/2|\*)(?=\s|$)
    | \d+\.+ | \d+(?=\s)                   # a move number
    | (?P<move>[^\s{}();$]+)""",
    re.VERBOSE,
)
_EVALUATION = re.compile(r"\[%eval\s+(#?)([+-]?\d+(?:\.\d+)?)")

MATE = 100_000.0
"""Centipawns of a forced mate."""


@dataclass(frozen=True)
class PgnGame:
    """One game: its tags, and the moves of its main line as written."""

    number: int
    """Number of the game in its file, from 1."""
    tags: dict[str, str]
    moves: list[str]
    evaluations: list[float | None]
    """For each move, centipawns for White after it, from a comment `[%eval 0.17]` or `#-3`."""
    result: float | None
    """White's score: 1, 0, -1; None: unknown."""

    def elo(self) -> int:
        """The lower rating; 0 if one is missing."""
        ratings = [self.tags.get(f"{side}Elo", "") for side in ("White", "Black")]
        return min(int(text) if text.isdigit() else 0 for text in ratings)


def pgn_games(lines: Iterable[str]) -> Iterator[PgnGame]:
    """Iterate over the games in the lines of a PGN.

    >>> text = "1. e4 { [%eval 0.3] } e5 (1... c5) 2. Qh5?? Ke7 3. Qxe5# 1-0"
    >>> (game,) = pgn_games(['[Event "?"]', "", text])
    >>> game.moves, game.evaluations[0], game.result
    (['e4', 'e5', 'Qh5', 'Ke7', 'Qxe5#'], 30.0, 1.0)
    """
    tags: dict[str, str] = {}
    body: list[str] = []
    number, commented = 1, False
    for line in lines:
        text = line.strip().removeprefix("\ufeff")
        if line.startswith("%") and not commented:
            continue
        tag = None if commented else _TAG.match(text)
        over = body and not commented and (not text or tag)
        if over:
            yield _game(number, tags, "\n".join(body))
            tags, body, number = {}, [], number + 1
        if tag:
            tags[tag[1]] = tag[2].replace('\\"', '"').replace("\\\\", "\\")
        elif text:
            body.append(text)
            opened, closed = text.rfind("{"), text.rfind("}")
            commented = opened > closed or (commented and closed < 0)
    if body or tags:
        yield _game(number, tags, "\n".join(body))


def _game(number: int, tags: dict[str, str], text: str) -> PgnGame:
    moves: list[str] = []
    evaluations: list[float | None] = []
    result, depth = tags.get("Result", "*"), 0
    for token in _TOKEN.finditer(text):
        if token["bracket"]:
            depth += 1 if token["bracket"] == "(" else -1
        elif depth > 0:
            continue
        elif token["comment"] is not None and moves:
            found = _evaluation(token["comment"])
            evaluations[-1] = evaluations[-1] if found is None else found
        elif token["result"]:
            result = token["result"] if result == "*" else result
        elif token["move"] and (move := token["move"].rstrip("!?")):
            moves.append(move)
            evaluations.append(None)
    return PgnGame(number, tags, moves, evaluations, RESULTS.get(result))


def _evaluation(comment: str) -> float | None:
    """Centipawns for White."""
    found = _EVALUATION.search(comment)
    if found is None:
        return None
    number = float(found[2])
    if found[1]:  # moves to mate: positive if White mates
        return MATE if number > 0 else -MATE
    return 100.0 * number
