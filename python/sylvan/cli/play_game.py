"""The terminal session of `sylvan play`, for every game but Blob."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sylvan.cli.conversation import Conversation
from sylvan.cli.terminal import Bar
from sylvan.errors import ConfigError
from sylvan.games.chess import Chess
from sylvan.games.positions import moves_of
from sylvan.planning.roots import hides

if TYPE_CHECKING:
    from sylvan.engines.match.saved_game import SavedGame
    from sylvan.engines.match.session import GameSession

__all__ = ["PlayTerminal"]

MOVES = {
    "chess": "e2e4 or Nf3, e8=Q, O-O",
    "connect4": "a column, 1 to 7 from the left",
    "tictactoe": "a cell, 0 to 8 row by row",
}


class PlayTerminal(Conversation):
    """A game's terminal session.

    :param saved: the game's name, first position, seat and seed.
    """

    def __init__(self, saved: SavedGame, session: GameSession, pgn: Path | None) -> None:
        from sylvan.cli.opinion import Oracle

        super().__init__()
        self.name = saved.game
        self.saved = saved
        self.session = session
        self.oracle = Oracle()
        self.pgn = pgn
        self.is_chess = isinstance(session.game, Chess)
        self.hides = hides(session.game)
        self.commands = {each.name: each.run for each in COMMANDS if each.fits(self)}

    @property
    def is_over(self) -> bool:
        return self.session.is_over

    def begin(self) -> None:
        self.say(f"You play {self._role()}. Type a move, or help.")
        self.show()

    def _role(self) -> str:
        seat, seats = self.session.seat, self.session.game.num_players
        if self.is_chess:
            return f"{('White', 'Black')[seat]}, {self.session.player.name} the other side"
        if seats == 1:
            return "alone"
        return ("first", "second")[seat] if seats == 2 else f"seat {seat} of 0 to {seats - 1}"

    def prompt(self) -> str | None:
        """Return the prompt for the person's move, or make the opponent's."""
        if self.session.is_persons_turn:
            return "your move: "
        self.answer()
        return None

    def answer(self) -> None:
        """Make the search's move."""
        session = self.session
        seat = f" for seat {session.game.to_play()}" if session.game.num_players > 2 else ""
        with Bar("thinking"):
            reply = session.reply()
        self.say(f"{session.player.name} plays {reply}{seat}")
        self.show()

    def handle(self, line: str) -> None:
        """Make the person's move."""
        (move,) = moves_of(line)[:1] or [line] if self.is_chess else [line]
        self.session.play(self.session.read(move))
        if self.session.is_over:
            self.show()

    def show(self, _: str = "") -> None:
        """Print what the person sees; of hidden information only on the person's turn."""
        from sylvan.cli.board import coloured, plain

        session, picture = self.session, None
        if self.hides:
            if session.is_persons_turn:
                self.say(plain(session.view, session.seat))
            return
        if self.console.is_terminal and self.console.encoding.lower().startswith("utf"):
            last = session.actions[-1] if session.actions else None
            picture = coloured(session.game, session.seat, last)
        if picture is not None:
            self.console.print(picture)
        else:
            self.say(plain(session.game, session.seat))

    def help(self, _: str) -> None:
        """List the moves and the commands of this game."""
        rows = [("a move", MOVES.get(self.name, "as `moves` lists them"))]
        rows += [(each.usage, each.help) for each in COMMANDS if each.help and each.fits(self)]
        rows.append(("quit", "leave the game"))
        self.say("\n".join(f"{usage:<12} {text}" for usage, text in rows))

    def moves(self, _: str) -> None:
        from sylvan.planning.tree import label

        game = self.session.game
        self.say(" ".join(sorted(label(game, action) for action in game.legal_actions())))

    def rules(self, _: str) -> None:
        from sylvan.cli.rules import rules_text

        self.say(rules_text(self.name, self.session.start))

    def hint(self, _: str) -> None:
        with Bar("thinking"):
            move, value = self.session.hint()
        self.say(f"The search would play {move}{self._worth(value)}.")

    def _worth(self, value: float | None) -> str:
        """Format what the person can expect."""
        from sylvan.players.score import Score

        if value is None:
            return ""
        if self.is_chess:
            return f", score {Score(value)}"
        low, high = self.session.game.value_range
        return f", value {value:+.2f} (from {low:g} to {high:g})"

    def solve(self, _: str) -> None:
        """Print the exact value."""
        with Bar("solving"):
            opinion = self.oracle.opinion(self.session.game)
        self.say(opinion)

    def undo(self, _: str) -> None:
        self.say(f"{self.session.undo()} half-move(s) taken back.")
        self.show()

    def draw(self, _: str) -> None:
        if not self.session.offer_draw():
            self.say(f"{self.session.player.name} plays on.")

    def resign(self, _: str) -> None:
        self.session.resign()

    def fen(self, _: str) -> None:
        assert isinstance(self.session.game, Chess)  # else there is no such command
        self.say(self.session.game.fen())

    def save(self, rest: str) -> None:
        """Write the game to a file."""
        from sylvan.files import write_text

        if not rest:
            raise ConfigError("Give a file name: save game.json")
        if rest.lower().endswith(".pgn"):
            if not self.is_chess:
                raise ConfigError("Only games of chess can be saved as PGN: save game.json")
            write_text(rest, self.session.pgn())
            self.say(f"The game is in {rest}.")
            return
        replace(self.saved, actions=tuple(self.session.actions)).write(rest)
        words = shlex.join([self.name, "--resume", rest])
        self.say(f"The game is in {rest}; resume it with: sylvan play {words}")

    def end(self) -> None:
        """Print the result and the game."""
        self.say(self.session.verdict)
        if self.is_chess and self.session.actions:
            self.say(self.session.pgn().strip())
        if self.pgn is not None:
            self.save(str(self.pgn))


class Command(NamedTuple):
    """A word that is not a move."""

    name: str
    usage: str
    help: str
    """Empty: not listed."""
    run: Callable[[Any, str], object]
    fits: Callable[[PlayTerminal], bool] = lambda _: True
    """Whether it applies to the game."""


def _has_solver(table: PlayTerminal) -> bool:
    from sylvan.games import ConnectFour, TicTacToe

    return isinstance(table.session.game, ConnectFour | TicTacToe)


def _is_chess(table: PlayTerminal) -> bool:
    return table.is_chess


def _has_two_seats(table: PlayTerminal) -> bool:
    return table.session.game.num_players == 2


def _may_be_drawn(table: PlayTerminal) -> bool:
    return _has_two_seats(table) and not table.hides


COMMANDS = (
    Command("help", "help", "list the commands", PlayTerminal.help),
    Command("rules", "rules", "show the rules", PlayTerminal.rules),
    Command("moves", "moves", "list the legal moves", PlayTerminal.moves),
    Command("hint", "hint", "show the search's move and its value", PlayTerminal.hint),
    Command("solve", "solve", "show the exact value", PlayTerminal.solve, _has_solver),
    Command("opinion", "opinion", "", PlayTerminal.solve, _has_solver),
    Command("undo", "undo", "take back your last move and the reply", PlayTerminal.undo),
    Command("draw", "draw", "offer a draw", PlayTerminal.draw, _may_be_drawn),
    Command("resign", "resign", "resign the game", PlayTerminal.resign, _has_two_seats),
    Command("board", "board", "show the position", PlayTerminal.show),
    Command("fen", "fen", "show the FEN", PlayTerminal.fen, _is_chess),
    Command("save", "save FILE", "write the game, to resume it", PlayTerminal.save),
    Command("save", "save F.pgn", "write it as PGN", PlayTerminal.save, _is_chess),
)
