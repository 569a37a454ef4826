"""`sylvan play blob`: play Blob in the terminal."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sylvan.cli.blob_screen import (
    advice_table,
    colours,
    review_text,
    rules_of,
    scoreboard,
    table,
)
from sylvan.cli.conversation import Conversation
from sylvan.cli.terminal import Bar, json_text
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.blob.session import BlobSession

__all__ = ["play_blob"]

HELP = """\
a bid        2
a card       7h, or 10♥
rules        show the rules of this game
moves        list your legal bids or cards
hint         show the value of each: expected points, and the chance to make your bid
board        show the table
score        show the points so far
undo         take back your last bid or card and everything after it
save FILE    write the game; resume it with: sylvan play blob --resume FILE
help, quit"""


def play_blob(
    rules: Sequence[str],
    seat: int | None,
    opponents: str | None,
    level: int,
    simulations: int | None,
    seed: int | None,
    resume: Path | None,
) -> None:
    """Start a game from the options of `sylvan play`."""
    from sylvan.blob.copilot import game_of
    from sylvan.blob.session import BlobSession, opponents_at

    if resume is not None:
        if rules or seat is not None or opponents is not None or seed is not None:
            raise ConfigError(
                f"--resume {resume} has its own rules, seats and seed: omit other options."
            )
        session = BlobSession.from_json(resume.read_text("utf-8", "replace"), str(resume))
    else:
        seed = random.randrange(2**32) if seed is None else seed
        start = game_of(rules_of(rules), seed)
        if simulations is not None:
            if opponents is not None:
                raise ConfigError(
                    "--simulations and --opponents contradict: write --opponents "
                    "information_set:400."
                )
            opponents = f"information_set:{simulations}"
        names = (opponents or opponents_at(level)).split(",")
        names = names * (start.num_players - 1) if len(names) == 1 else names
        session = BlobSession(start, seat or 0, names, seed=seed)
    BlobTable(session).run()


class BlobTable(Conversation):
    """A game's terminal session."""

    def __init__(self, session: BlobSession) -> None:
        super().__init__()
        self.session = session
        self.names = {seat: player.name for seat, player in session.players.items()}

    @property
    def is_over(self) -> bool:
        return self.session.is_over

    def begin(self) -> None:
        session = self.session
        self.say(f"You have seat {session.seat} of {session.game.num_players}. Type help for help.")
        if session.is_persons_turn:
            self.show()

    def prompt(self) -> str | None:
        """Return the prompt for the person's bid or card, or let an opponent act."""
        session = self.session
        if session.is_persons_turn:
            return "your bid: " if session.game.phase == "bidding" else "your card: "
        before = session.game.clone()
        with Bar("thinking"):
            seat, done = session.reply()
        said = done.replace("bid", "bids") if before.phase == "bidding" else f"plays {done}"
        self.say_coloured(f"seat {seat} {said}")
        self.after(before.round, sum(before.tricks))
        return None

    def handle(self, line: str) -> None:
        """Make the person's bid or play."""
        session = self.session
        before = session.game.clone()
        session.play(session.read(line))
        self.after(before.round, sum(before.tricks))

    def after(self, number: int, tricks: int) -> None:
        """Report a finished trick or round and the person's turn."""
        game = self.session.game
        if game.round != number or game.is_terminal():
            self.end_of_round(number)
        elif sum(game.tricks) > tricks:
            self.say(f"Seat {game.to_play()} takes the trick.")
        if self.session.is_persons_turn:
            self.show()

    def end_of_round(self, number: int) -> None:
        """Print the scoreboard and the review of the round."""
        session = self.session
        *_, last = session.rounds()
        self.say(f"Round {number + 1} is over.")
        self.say(scoreboard(session.game.points, self.seats(), last))
        with Bar("looking back") as bar:
            decisions = session.look_back(number, bar.show)
        self.say_coloured(review_text(number, decisions) + "\n")

    def seats(self) -> list[str]:
        """Return the players' names by seat."""
        return [
            f"seat {seat} {self.names.get(seat, 'you')}"
            for seat in range(self.session.game.num_players)
        ]

    def say_coloured(self, text: str) -> None:
        self.console.print(colours(text), soft_wrap=True)

    def show(self, _: str = "") -> None:
        """Print the person's view."""
        self.say_coloured(table(self.session.view, self.session.seat, self.names))
        if self.session.is_persons_turn and self.session.game.phase == "playing":
            self.moves("")

    def rules(self, _: str) -> None:
        from sylvan.cli.rules import rules_text

        self.say(rules_text("blob", self.session.start))

    def moves(self, _: str) -> None:
        game = self.session.view
        names = [game.action_to_string(action) for action in game.legal_actions()]
        self.say_coloured(f"You may {'bid' if game.phase == 'bidding' else 'play'}: " + " ".join(
            name.removeprefix("bid ") for name in names))  # fmt: skip

    def hint(self, _: str) -> None:
        with Bar("thinking"):
            advice = self.session.hint()
        self.say_coloured(advice_table(self.session.view, advice))

    def score(self, _: str) -> None:
        self.say(scoreboard(self.session.game.points, self.seats()))

    def undo(self, _: str) -> None:
        self.say(f"{self.session.undo()} bids and cards taken back.")
        self.show()

    def save(self, rest: str) -> None:
        """Write the game to a file."""
        from sylvan.files import write_text

        if not rest:
            raise ConfigError("Give a file name: save blob.json")
        write_text(rest, json_text(self.session.to_json()) + "\n")
        self.say(f"Saved to {rest}. Resume with: sylvan play blob --resume {rest}")

    def end(self) -> None:
        """Print the winner."""
        points, seat = self.session.game.points, self.session.seat
        if not self.session.is_over:
            self.say("The game is not finished.")
        elif points[seat] < max(points):
            self.say(f"You lose: {points[seat]} points, and {max(points)} were the most.")
        else:
            shared = points.count(max(points)) > 1
            self.say(f"You {'share the win' if shared else 'win'} with {points[seat]} points.")


BlobTable.commands = {
    "help": lambda table, _: table.say(HELP),
    "rules": BlobTable.rules,
    "moves": BlobTable.moves,
    "hint": BlobTable.hint,
    "board": BlobTable.show,
    "score": BlobTable.score,
    "undo": BlobTable.undo,
    "save": BlobTable.save,
}
