"""A game and the place in it that a page shows."""

from __future__ import annotations

import math
import secrets

from sylvan.blob.copilot import game_of
from sylvan.errors import ConfigError, IllegalAction
from sylvan.games import ConnectFour, Game
from sylvan.games.naming import GameSpec
from sylvan.games.positions import position_of
from sylvan.planning.moves import state_after
from sylvan.planning.tree import label
from sylvan.views.analysis_file import Analysis, SavedPosition
from sylvan.web.boards import actions_of, board_of, end_of, mover
from sylvan.web.protocol import PlyInfo, Position, Setting

__all__ = ["Line"]

LONGEST = 2000
"""Most actions of a game."""

BLOB_TABLE = {"players": 4, "cards": 5, "seat": 0, "seed": 0}
"""Defaults of a table of Blob; without a seed a random one."""


class Line:
    """A first position, the actions after it, and how many of them are made."""

    def __init__(self, name: str, first: Game, start: str = "") -> None:
        """A game without actions; `start` is the text that opens its first position."""
        self.name, self.start = name, start
        self.states = [first]
        self.actions: list[int] = []
        self.plies: list[PlyInfo] = []
        self.values: dict[int, float] = {}
        """The value for seat 0 by ply, where it was searched."""
        self.ply = 0

    @classmethod
    def read(cls, name: str, text: str, moves: list[int], ply: int | None) -> Line:
        """Read a position as people write it, and make moves from there.

        :raises SylvanError: the position, or a move, is not legal.
        """
        spec, text = GameSpec(name), text.strip()
        if spec.is_gymnasium:
            raise ConfigError(f"{name} has no rules to search: watch its runs instead.")
        readers = {"chess": cls._chess, "blob": cls._blob}
        line = readers.get(name, cls._other)(spec, text)
        for action in moves:
            line.play(action)
        line.go(len(line.actions) if ply is None else ply)
        return line

    @classmethod
    def of_saved(cls, analysis: Analysis) -> Line:
        """The game of an analysis file."""
        saved = analysis.position
        line = cls(saved.game, analysis.first, saved.start)
        for action in saved.moves:
            line.play(action)
        line.go(len(line.actions) if saved.ply is None else saved.ply)
        return line

    @property
    def saved(self) -> SavedPosition:
        """How to make this game again."""
        return SavedPosition(
            game=self.name,
            start=self.start,
            moves=self.actions,
            ply=self.ply,
            chess960=bool(getattr(self.states[0], "chess960", False)),
        )

    @classmethod
    def _chess(cls, spec: GameSpec, text: str) -> Line:
        """A FEN, moves, or a PGN: its moves become the line."""
        from sylvan.games import Chess

        state = Chess.from_pgn(text) if text.startswith("[") else position_of(spec, _words(text))
        assert isinstance(state, Chess)
        first = Chess(state.start_fen, chess960=state.chess960)
        start = "" if state.start_fen == Chess().fen() else state.start_fen
        line = cls(spec.name, first, start)
        for move in state.moves:
            line.play(line.state.string_to_action(move))
        return line

    @classmethod
    def _blob(cls, spec: GameSpec, text: str) -> Line:
        """A round of Blob as one seat sees it, with a random deal: `players=4 cards=5 seat=0`, and
        `seed=7` for the same one again; then bids and cards. The line has the seat's view alone.
        """
        words = text.replace("bid ", "bid_").split()
        given = dict(word.split("=", 1) for word in words if "=" in word)
        numbers = {name: int(n) for name, n in given.items() if n.isdecimal() and len(n) < 16}
        if wrong := set(given) - set(BLOB_TABLE) or set(given) - set(numbers):
            wanted = ", ".join(f"{name}=" for name in BLOB_TABLE)
            raise ConfigError(f"{min(wrong)}={given[min(wrong)]}: give {wanted} with a number.")
        table = BLOB_TABLE | {"seed": secrets.randbelow(10**6)} | numbers
        rules = {"players": table["players"], "cards": table["cards"]}
        game = game_of(rules, table["seed"])
        if table["seat"] >= game.num_players:
            last = game.num_players - 1
            raise ConfigError(f"seat is {table['seat']}: those of this table are 0 to {last}.")
        start = " ".join(f"{name}={table[name]}" for name in BLOB_TABLE)
        line = cls(spec.name, game.observe(table["seat"]), start)
        for word in words:
            if "=" not in word:
                line.play(line.state.string_to_action(word.replace("bid_", "bid ")))
        return line

    @classmethod
    def _other(cls, spec: GameSpec, text: str) -> Line:
        if spec.name == "connect4" and "/" in text:
            return cls(spec.name, ConnectFour.from_rows(text), text)
        line = cls(spec.name, spec.first())
        if spec.name in ("connect4", "tictactoe"):
            text = " ".join(text.replace(",", " ").replace(" ", ""))
        for word in text.split():
            line.play(line.state.string_to_action(word))
        return line

    @property
    def state(self) -> Game:
        """The position shown."""
        return self.states[self.ply]

    @property
    def last(self) -> int | None:
        """The action that led to it."""
        return self.actions[self.ply - 1] if self.ply else None

    def play(self, action: int) -> bool:
        """Make a move; what followed before is dropped if it is another. Returns whether it is.

        :raises IllegalAction: the action is not legal here.
        """
        if self.ply < len(self.actions) and self.actions[self.ply] == action:
            self.ply += 1
            return False
        if len(self.actions) >= LONGEST and self.ply == len(self.actions):
            raise IllegalAction(f"The game has {LONGEST} moves: open a position of its own.")
        state = self.state
        following = state_after(state, action)
        info = PlyInfo(action=action, label=label(state, action), seat=mover(state))
        del self.states[self.ply + 1 :], self.actions[self.ply :], self.plies[self.ply :]
        self.states.append(following)
        self.actions.append(action)
        self.plies.append(info)
        self.values = {ply: value for ply, value in self.values.items() if ply <= self.ply}
        self.ply += 1
        return True

    def go(self, ply: int) -> None:
        """Go to a place in the game.

        :raises ConfigError: the game is shorter.
        """
        if ply > len(self.actions):
            raise ConfigError(f"ply is {ply}, but the game has {len(self.actions)} moves.")
        self.ply = ply

    def position(self, evaluator: str, settings: dict[str, Setting]) -> Position:
        """The message about this place; `settings` differ from the defaults."""
        state = self.state
        low, high = map(float, state.value_range)
        return Position(
            game=self.name,
            start=self.start,
            plies=self.plies,
            ply=self.ply,
            board=board_of(state, self.last),
            actions=actions_of(state),
            seat=mover(state),
            seats=[state.seat_name(seat) for seat in range(state.num_players)],
            value_range=[low, high] if math.isfinite(low) and math.isfinite(high) else None,
            over=end_of(state),
            evaluator=evaluator,
            settings=settings,
        )

    @property
    def graph(self) -> list[float | None]:
        """The value for seat 0 at each ply, where it was searched."""
        return [self.values.get(ply) for ply in range(len(self.actions) + 1)]


def _words(text: str) -> list[str]:
    """The words of a FEN or of moves; a FEN stays one word."""
    fields = text.split()
    if fields and fields[0].count("/") == 7:
        size = next((n for n in (6, 4) if len(fields) >= n and _is_fen(fields[:n])), len(fields))
        return [" ".join(fields[:size]), *fields[size:]]
    return fields


def _is_fen(fields: list[str]) -> bool:
    return len(fields) == 4 or all(field.isdigit() for field in fields[4:])
