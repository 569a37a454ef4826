"""`sylvan advise`: a copilot for a real table of Blob."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sylvan.cli.blob_screen import advice_table, colours, rules_of, scoreboard, table
from sylvan.cli.conversation import Conversation
from sylvan.cli.terminal import Bar, json_text
from sylvan.errors import ConfigError

if TYPE_CHECKING:
    from sylvan.blob.copilot import Copilot

__all__ = ["advise"]

HELP = """\
hand CARDS     your hand as dealt: hand AS 10H 7D; enter it again to correct it
up CARD        the card turned up for trump, before your hand, if the rules turn one up
trump SUIT     trump of this round, if it differs from the rules: spades ... diamonds, none
a bid, a card  of the seat in the prompt: 2, 7h
hint           the value of your options
undo           take back your last entry
list           all bids and cards of the round, numbered
correct 3 7h   change entry 3 to the 7♥
next           start the next round, after the last card
round 4        go to the start of round 4
points 10 0 21 set the points before this round, seat 0 first
board, save FILE, help, quit"""


def advise(
    game: Annotated[str, typer.Argument(help="The game: blob.")] = "blob",
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Rules as NAME=VALUE: players=4, cards=5, trump=turned_up, dealer=2."),
    ] = None,
    seat: Annotated[int, typer.Option(min=0, help="Your seat, counted from 0.")] = 0,
    simulations: Annotated[
        int | None, typer.Option(min=1, help="Simulations per move (default: about 0.3 s).")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Resume from a saved file.")] = None,
) -> None:
    """Get advice at a real table: enter your hand, then each bid and card as it is played.

    When it is your turn, every legal bid or card is listed with its value. Impossible entries are
    refused and change nothing.

    Examples:

    - `sylvan advise blob --rule players=4 --rule cards=5 --seat 2`
    - `sylvan advise blob --resume table.json`
    """
    from sylvan.blob.advice import Searched
    from sylvan.blob.copilot import Copilot, Notes

    if game != "blob":
        raise ConfigError(f"There is no copilot for {game!r}: give blob.")
    if resume is not None:
        if rule:
            raise ConfigError(f"--resume {resume} has its own rules: omit --rule.")
        copilot = Copilot.from_json(resume.read_text("utf-8", "replace"), str(resume))
    else:
        copilot = Copilot(Notes(seat, rules_of(rule or [])))
    copilot.adviser = Searched(simulations)
    Table(copilot).run()


class Table(Conversation):
    """The copilot's terminal session."""

    def __init__(self, copilot: Copilot) -> None:
        super().__init__()
        self.copilot = copilot

    @property
    def is_over(self) -> bool:
        """Return whether the last card of the last round has been played."""
        state = self.copilot.table
        return state.is_terminal() and state.round + 1 == len(state.sequence)

    def begin(self) -> None:
        self.say("Enter what happens at the table, or help.")
        self.show()

    def prompt(self) -> str:
        """Return the prompt for the next input."""
        copilot, state = self.copilot, self.copilot.table
        if not state.is_view and copilot.needs_card and copilot.notes.turned_up is None:
            return "card turned up: "
        if not state.is_view and not state.is_terminal():
            return f"your {state.cards} cards: "
        if state.is_terminal():
            return "next, undo or quit: "
        who = "you" if copilot.is_persons_turn else f"seat {state.to_play()}"
        verb = "bid" if state.phase == "bidding" else "play"
        return f"{who} {verb}{'' if who == 'you' else 's'}: "

    def handle(self, line: str) -> None:
        """Handle a bid, a card or another entry."""
        copilot = self.copilot
        if not copilot.table.is_view and not copilot.table.is_terminal():
            if copilot.needs_card and copilot.notes.turned_up is None:
                copilot.turn_up(line)
                return
            self.hand(line)
        else:
            copilot.enter(line)
            self.after()

    def after(self) -> None:
        """Print the changes."""
        copilot, state = self.copilot, self.copilot.table
        if state.is_terminal():
            bids = [bid for bid in state.bids if bid is not None]
            last = list(zip(bids, state.tricks, state.last_points, strict=True))
            names = [f"seat {seat}" for seat in range(state.num_players)]
            self.say(f"Round {state.round + 1} is over.")
            self.say(scoreboard(state.points, names, last))
        elif copilot.is_persons_turn:
            self.show()
            self.hint()

    def say_coloured(self, text: str) -> None:
        self.console.print(colours(text), soft_wrap=True)

    def show(self, _: str = "") -> None:
        """Print the table."""
        self.say_coloured(table(self.copilot.table, self.copilot.notes.seat, {}))

    def hint(self, _: str = "") -> None:
        with Bar("thinking"):
            advice = self.copilot.advise()
        self.say_coloured(advice_table(self.copilot.table, advice))

    def hand(self, rest: str) -> None:
        self.copilot.enter_hand(_words(rest))
        if not self.copilot.is_persons_turn:
            self.show()
        self.after()

    def correct(self, rest: str) -> None:
        number, _, text = rest.partition(" ")
        if not (_is_number(number) and text):
            raise ConfigError("Give the entry's number and its new value: correct 3 7h")
        self.copilot.correct(int(number), text.strip())
        self.after()

    def undo(self, _: str) -> None:
        self.copilot.undo()
        self.show()

    def list(self, _: str) -> None:
        state = self.copilot.table
        for number, (seat, action) in enumerate(self.copilot.history(), start=1):
            self.say_coloured(f"{number:3}  seat {seat}  {state.action_to_string(action)}")

    def next(self, _: str) -> None:
        self.copilot.next_round()
        self.show()

    def round(self, rest: str) -> None:
        if not _is_number(rest):
            raise ConfigError("Give the number of the round: round 4")
        self.copilot.go_to(int(rest))
        self.show()

    def save(self, rest: str) -> None:
        """Write the session to a file."""
        from sylvan.files import write_text

        if not rest:
            raise ConfigError("Give a file name: save table.json")
        write_text(rest, json_text(self.copilot.to_json()) + "\n")
        self.say(f"Saved to {rest}. Resume with: sylvan advise blob --resume {rest}")


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 6


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


Table.commands = {
    "help": lambda table, _: table.say(HELP),
    "hand": Table.hand,
    "up": lambda table, rest: table.copilot.turn_up(rest),
    "trump": lambda table, rest: (table.copilot.set_trump(rest), table.show()),
    "points": lambda table, rest: (table.copilot.set_points(_words(rest)), table.show()),
    "hint": Table.hint,
    "undo": Table.undo,
    "list": Table.list,
    "correct": Table.correct,
    "next": Table.next,
    "round": Table.round,
    "board": Table.show,
    "save": Table.save,
}
