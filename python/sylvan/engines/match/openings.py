"""First positions of a match's games.

An opening is a first position and some moves. Each is played with both colours, so an opening that
favours one side is fair. Openings come from a file

- `.pgn`: the main line of each game, up to `plies` half-moves;
- `.epd`, `.fen`: a position per line, with or without move counters and EPD operations;

or from the built-in set below: common openings of two to four moves. Other games than chess have
random openings, which are the same in every match.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from sylvan._native import Rng
from sylvan.errors import ConfigError, IllegalPosition, SylvanError
from sylvan.games.naming import GameSpec

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["Opening", "builtin_openings", "digest", "random_openings", "read_openings"]

PLIES = 16
"""Half-moves taken from a PGN game."""
RANDOM_PLIES = 4
"""Most plies of a random opening."""


@dataclass(frozen=True)
class Opening:
    """A first position and the moves from it, in UCI; in other games than chess their names.

    >>> Opening("Open Game", None, ("e2e4", "e7e5")).start().moves
    ['e2e4', 'e7e5']
    """

    name: str
    fen: str | None = None
    """The first position; None: the initial position of chess."""
    moves: tuple[str, ...] = ()
    game: GameSpec | None = None
    """None: chess."""

    def start(self) -> Game:
        """Return the position after the opening."""
        from sylvan.games import Chess

        if self.game is None:
            return Chess(self.fen, self.moves)
        state = self.game.first()
        for move in self.moves:
            state.apply(state.string_to_action(move))
        return state


def digest(openings: list[Opening]) -> str:
    """Return a hash of a list of openings."""
    text = "\n".join(f"{opening.fen} {' '.join(opening.moves)}" for opening in openings)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def builtin_openings() -> list[Opening]:
    """Return the built-in set.

    >>> openings = builtin_openings()
    >>> openings[0].name, len(openings) >= 100
    ('Ruy Lopez, Morphy', True)
    """
    from sylvan.games import Chess

    openings = []
    for line in filter(None, map(str.strip, _BUILTIN.splitlines())):
        name, _, moves = line.partition(": ")
        openings.append(Opening(name, None, tuple(Chess(moves=moves).moves)))
    return openings


def random_openings(game: GameSpec, count: int = 100) -> list[Opening]:
    """Return up to `count` different random openings, of a third of the shortest game at most.

    They end before the first move of chance.

    >>> [opening.moves for opening in random_openings(GameSpec("tictactoe"), 2)]
    [('8', '2', '1'), ('4', '1', '3')]
    """
    tries = [_random_moves(game, Rng(number)) for number in range(count)]
    shortest = min(length for _, length in tries)
    plies = min(RANDOM_PLIES, shortest // 3)
    found = dict.fromkeys(tuple(moves[:plies]) for moves, _ in tries)
    return [Opening(f"random {i}", None, moves, game) for i, moves in enumerate(found, start=1)]


def _random_moves(game: GameSpec, rng: Rng) -> tuple[list[str], int]:
    """Play a random game, up to some plies; return its moves before chance, and its plies."""
    state, moves, plies = game.first(), list[str | None](), 0
    while not state.is_terminal() and plies < 3 * RANDOM_PLIES:
        if state.is_chance():
            outcomes = state.chance_outcomes()
            action, name = outcomes[rng.pick([share for _, share in outcomes])][0], None
        else:
            legal = state.legal_actions()
            action = legal[rng.below(len(legal))]
            name, plies = state.action_to_string(action), plies + 1
        moves.append(name)
        state.apply(action)
    return [name for name in takewhile(lambda name: name is not None, moves) if name], plies


def read_openings(path: str | Path, plies: int = PLIES) -> list[Opening]:
    """Read the openings of a `.pgn`, `.epd` or `.fen` file, in order, without duplicates.

    :raises ConfigError: the file has another suffix, cannot be read, or has no openings.
    :raises IllegalPosition: a line is not a legal, unfinished position; the message has its number.
    """
    from sylvan.games.pgn import read_text

    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".pgn", ".epd", ".fen"):
        raise ConfigError(
            f"{path} is not a file of openings: its name must end in .pgn, .epd or .fen"
        )
    text = read_text(path)
    found = _from_pgn(text, path, plies) if suffix == ".pgn" else _from_lines(text, path)
    distinct = {(opening.fen, opening.moves): opening for opening in found}
    if not distinct:
        raise ConfigError(f"{path} has no openings: add a game or a position")
    return list(distinct.values())


def _from_pgn(text: str, path: Path, plies: int) -> list[Opening]:
    from sylvan.games import Chess
    from sylvan.games.pgn import read_games

    openings = []
    for number, game in enumerate(read_games(text, str(path)), start=1):
        board = game.board()
        fen = board.fen(en_passant="fen")
        is_usual = fen == Chess().fen()
        moves = [move.uci() for move in game.mainline_moves()][:plies]
        while moves and Chess(fen, moves).is_terminal():  # keep the game unfinished
            moves.pop()
        name = game.headers.get("Opening") or game.headers.get("ECO") or f"game {number}"
        openings.append(Opening(name, None if is_usual else fen, tuple(moves)))
    return openings


def _from_lines(text: str, path: Path) -> list[Opening]:
    openings = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if line and not line.startswith("#"):
            openings.append(Opening(f"line {number}", _fen(line, path, number)))
    return openings


def _fen(line: str, path: Path, number: int) -> str:
    """Parse the position of a line: four fields, then counters, EPD operations or nothing."""
    from sylvan.games import Chess

    fields = line.split()
    counters = fields[4:6] if len(fields) >= 6 and all(map(str.isdigit, fields[4:6])) else "01"
    try:
        game = Chess(" ".join([*fields[:4], *counters]))
    except SylvanError as error:
        raise IllegalPosition(f"{path}, line {number}: {error}") from None
    if game.is_terminal():
        raise IllegalPosition(f"{path}, line {number}: the game is over; remove it")
    return game.fen()


_BUILTIN = """
Ruy Lopez, Morphy: e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6
Ruy Lopez, Exchange: e4 e5 Nf3 Nc6 Bb5 a6 Bxc6 dxc6
Ruy Lopez, Berlin: e4 e5 Nf3 Nc6 Bb5 Nf6 O-O Nxe4
Ruy Lopez, Steinitz: e4 e5 Nf3 Nc6 Bb5 d6 d4 Bd7
Ruy Lopez, Classical: e4 e5 Nf3 Nc6 Bb5 Bc5 c3 Nf6
Ruy Lopez, Bird: e4 e5 Nf3 Nc6 Bb5 Nd4 Nxd4 exd4
Ruy Lopez, Cozio: e4 e5 Nf3 Nc6 Bb5 Nge7
Italian, Giuoco Piano: e4 e5 Nf3 Nc6 Bc4 Bc5 c3 Nf6
Italian, Giuoco Pianissimo: e4 e5 Nf3 Nc6 Bc4 Bc5 d3 Nf6
Italian, Evans Gambit: e4 e5 Nf3 Nc6 Bc4 Bc5 b4 Bxb4
Italian, Hungarian: e4 e5 Nf3 Nc6 Bc4 Be7 d4 d6
Two Knights: e4 e5 Nf3 Nc6 Bc4 Nf6 d3 Be7
Two Knights, Ng5: e4 e5 Nf3 Nc6 Bc4 Nf6 Ng5 d5
Scotch, Schmidt: e4 e5 Nf3 Nc6 d4 exd4 Nxd4 Nf6
Scotch, Classical: e4 e5 Nf3 Nc6 d4 exd4 Nxd4 Bc5
Scotch Gambit: e4 e5 Nf3 Nc6 d4 exd4 Bc4 Nf6
Four Knights, Spanish: e4 e5 Nf3 Nc6 Nc3 Nf6 Bb5 Bb4
Four Knights, Scotch: e4 e5 Nf3 Nc6 Nc3 Nf6 d4 exd4
Three Knights: e4 e5 Nf3 Nc6 Nc3 g6
Ponziani: e4 e5 Nf3 Nc6 c3 Nf6 d4 Nxe4
Petrov, Classical: e4 e5 Nf3 Nf6 Nxe5 d6 Nf3 Nxe4
Petrov, Steinitz: e4 e5 Nf3 Nf6 d4 Nxe4 Bd3 d5
Philidor: e4 e5 Nf3 d6 d4 exd4 Nxd4 Nf6
Philidor, Hanham: e4 e5 Nf3 d6 d4 Nf6 Nc3 Nbd7
Vienna: e4 e5 Nc3 Nf6 g3 d5
Vienna Gambit: e4 e5 Nc3 Nf6 f4 d5
Bishop's Opening: e4 e5 Bc4 Nf6 d3 c6
Centre Game: e4 e5 d4 exd4 Qxd4 Nc6 Qe3 Nf6
King's Gambit Declined: e4 e5 f4 Bc5 Nf3 d6
Falkbeer: e4 e5 f4 d5 exd5 exf4 Nf3 Nf6
Sicilian, Najdorf: e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6
Sicilian, Sveshnikov: e4 c5 Nf3 Nc6 d4 cxd4 Nxd4 Nf6
Sicilian, Accelerated Dragon: e4 c5 Nf3 Nc6 d4 cxd4 Nxd4 g6
Sicilian, Taimanov: e4 c5 Nf3 e6 d4 cxd4 Nxd4 Nc6
Sicilian, Kan: e4 c5 Nf3 e6 d4 cxd4 Nxd4 a6
Sicilian, Four Knights: e4 c5 Nf3 e6 d4 cxd4 Nxd4 Nf6
Sicilian, Alapin d5: e4 c5 c3 d5 exd5 Qxd5 d4 Nf6
Sicilian, Alapin Nf6: e4 c5 c3 Nf6 e5 Nd5 d4 cxd4
Sicilian, Rossolimo g6: e4 c5 Nf3 Nc6 Bb5 g6
Sicilian, Rossolimo e6: e4 c5 Nf3 Nc6 Bb5 e6
Sicilian, Moscow: e4 c5 Nf3 d6 Bb5+ Bd7 Bxd7+ Qxd7
Sicilian, Closed: e4 c5 Nc3 Nc6 g3 g6 Bg2 Bg7
Sicilian, Grand Prix: e4 c5 Nc3 Nc6 f4 g6
Sicilian, Hyperaccelerated: e4 c5 Nf3 g6 d4 cxd4 Nxd4 Bg7
Sicilian, Nimzowitsch: e4 c5 Nf3 Nf6 e5 Nd5
French, Winawer: e4 e6 d4 d5 Nc3 Bb4 e5 c5
French, Classical: e4 e6 d4 d5 Nc3 Nf6 Bg5 Be7
French, MacCutcheon: e4 e6 d4 d5 Nc3 Nf6 Bg5 Bb4
French, Tarrasch Nf6: e4 e6 d4 d5 Nd2 Nf6 e5 Nfd7
French, Tarrasch c5: e4 e6 d4 d5 Nd2 c5 exd5 exd5
French, Advance: e4 e6 d4 d5 e5 c5 c3 Nc6
French, Exchange: e4 e6 d4 d5 exd5 exd5 Nf3 Nf6
French, Rubinstein: e4 e6 d4 d5 Nc3 dxe4 Nxe4 Nd7
Caro-Kann, Classical: e4 c6 d4 d5 Nc3 dxe4 Nxe4 Bf5
Caro-Kann, Karpov: e4 c6 d4 d5 Nc3 dxe4 Nxe4 Nd7
Caro-Kann, Advance: e4 c6 d4 d5 e5 Bf5 Nf3 e6
Caro-Kann, Exchange: e4 c6 d4 d5 exd5 cxd5 Bd3 Nc6
Caro-Kann, Panov: e4 c6 d4 d5 exd5 cxd5 c4 Nf6
Caro-Kann, Two Knights: e4 c6 Nc3 d5 Nf3 Bg4
Scandinavian, Qa5: e4 d5 exd5 Qxd5 Nc3 Qa5 d4 Nf6
Scandinavian, Qd6: e4 d5 exd5 Qxd5 Nc3 Qd6 d4 Nf6
Scandinavian, Modern: e4 d5 exd5 Nf6 d4 Nxd5
Alekhine, Modern: e4 Nf6 e5 Nd5 d4 d6 Nf3 Bg4
Alekhine, Exchange: e4 Nf6 e5 Nd5 d4 d6 c4 Nb6
Pirc, Classical: e4 d6 d4 Nf6 Nc3 g6 Nf3 Bg7
Pirc, Austrian: e4 d6 d4 Nf6 Nc3 g6 f4 Bg7
Modern: e4 g6 d4 Bg7 Nc3 d6
Nimzowitsch Defence: e4 Nc6 d4 d5 e5 Bf5
Queen's Gambit Declined, Orthodox: d4 d5 c4 e6 Nc3 Nf6 Bg5 Be7
Queen's Gambit Declined, Exchange: d4 d5 c4 e6 Nc3 Nf6 cxd5 exd5
Queen's Gambit Declined, Bf4: d4 d5 c4 e6 Nf3 Nf6 Nc3 Be7
Tarrasch Defence: d4 d5 c4 e6 Nc3 c5 cxd5 exd5
Semi-Tarrasch: d4 d5 c4 e6 Nc3 Nf6 Nf3 c5
Ragozin: d4 d5 c4 e6 Nf3 Nf6 Nc3 Bb4
Queen's Gambit Accepted: d4 d5 c4 dxc4 Nf3 Nf6 e3 e6
Queen's Gambit Accepted, Central: d4 d5 c4 dxc4 e4 e5 Nf3 exd4
Slav: d4 d5 c4 c6 Nf3 Nf6 Nc3 dxc4
Slav, Exchange: d4 d5 c4 c6 cxd5 cxd5 Nc3 Nf6
Slav, Chebanenko: d4 d5 c4 c6 Nf3 Nf6 Nc3 a6
Semi-Slav: d4 d5 c4 c6 Nf3 Nf6 Nc3 e6
Chigorin: d4 d5 c4 Nc6 Nf3 Bg4
London, e6: d4 d5 Bf4 Nf6 e3 e6
London, c5: d4 d5 Bf4 c5 e3 Nc6
Colle: d4 d5 Nf3 Nf6 e3 e6 Bd3 c5
Torre: d4 Nf6 Nf3 e6 Bg5 c5
Trompowsky: d4 Nf6 Bg5 Ne4 Bf4 d5
Veresov: d4 Nf6 Nc3 d5 Bg5 Nbd7
Catalan, Open: d4 Nf6 c4 e6 g3 d5 Bg2 dxc4
Catalan, Closed: d4 Nf6 c4 e6 g3 d5 Bg2 Be7
Nimzo-Indian, Rubinstein: d4 Nf6 c4 e6 Nc3 Bb4 e3 O-O
Nimzo-Indian, Classical: d4 Nf6 c4 e6 Nc3 Bb4 Qc2 O-O
Nimzo-Indian, Saemisch: d4 Nf6 c4 e6 Nc3 Bb4 a3 Bxc3+
Queen's Indian, g3: d4 Nf6 c4 e6 Nf3 b6 g3 Bb7
Queen's Indian, Petrosian: d4 Nf6 c4 e6 Nf3 b6 a3 Bb7
Bogo-Indian: d4 Nf6 c4 e6 Nf3 Bb4+ Bd2 Qe7
King's Indian, Classical: d4 Nf6 c4 g6 Nc3 Bg7 e4 d6
King's Indian, Fianchetto: d4 Nf6 c4 g6 Nf3 Bg7 g3 O-O
Gruenfeld, Exchange: d4 Nf6 c4 g6 Nc3 d5 cxd5 Nxd5
Gruenfeld, Russian: d4 Nf6 c4 g6 Nc3 d5 Nf3 Bg7
Modern Benoni: d4 Nf6 c4 c5 d5 e6 Nc3 exd5
Benko Gambit: d4 Nf6 c4 c5 d5 b5 cxb5 a6
Old Indian: d4 Nf6 c4 d6 Nc3 e5 Nf3 Nbd7
Dutch, Leningrad: d4 f5 g3 Nf6 Bg2 g6
Dutch, Stonewall: d4 f5 c4 Nf6 g3 e6 Bg2 d5
Dutch, Classical: d4 f5 c4 Nf6 g3 e6 Bg2 Be7
English, Symmetrical: c4 c5 Nc3 Nc6 g3 g6 Bg2 Bg7
English, Hedgehog: c4 c5 Nf3 Nf6 Nc3 e6 g3 b6
English, Reversed Sicilian: c4 e5 Nc3 Nf6 g3 d5 cxd5 Nxd5
English, Four Knights: c4 e5 Nc3 Nf6 Nf3 Nc6 g3 Bb4
English, Closed: c4 e5 Nc3 Nc6 g3 g6 Bg2 Bg7
English, Anglo-Indian: c4 Nf6 Nc3 e6 e4 d5
English, Agincourt: c4 e6 Nf3 d5 g3 Nf6
Reti: Nf3 d5 c4 e6 g3 Nf6 Bg2 Be7
Reti, Advance: Nf3 d5 c4 d4 g3 Nc6
King's Indian Attack: Nf3 d5 g3 Nf6 Bg2 c6
Reti, London: Nf3 Nf6 g3 d5 Bg2 Bf5
Larsen: b3 e5 Bb2 Nc6 e3 Nf6
Bird: f4 d5 Nf3 Nf6 e3 g6
"""
