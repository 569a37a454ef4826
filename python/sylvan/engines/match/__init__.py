"""Matches of two players, and games against a person. In the order in which data flows:

`openings`  first positions of games, built in or from files
`arbiter`   one game: turns, clocks, adjudication
`match`     many games, each opening with both colours
`ledger`    the file of a match, which can be resumed
`chess_facts` first moves, material and endgame of a game of chess
`report`    score, Elo, endings and PGN of a match
`levels`    opponents by level, for people
`session`   a game between a person and a player
`saved_game` the file of such a game, to resume it
"""

from typing import TYPE_CHECKING

from sylvan.lazy import on_first_use

if TYPE_CHECKING:
    from sylvan.engines.match.match import Match

# Name -> the module of this package that defines it.
_MODULES = {
    "Match": "match",
}

__all__ = ["Match"]

__getattr__ = on_first_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
