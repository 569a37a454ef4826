"""A real table of Blob, entered from one seat: its hand, then each bid and card, with advice.

`Notes` holds everything entered; the state of the table is computed from it. Every change makes new
notes and replays them by the rules before it replaces the old notes, so an impossible entry raises
the rules' own error and changes nothing. `undo` reverts one change.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from sylvan._native import Rng
from sylvan.blob.advice import Advice, Adviser, Searched
from sylvan.errors import ConfigError, SylvanError, WrongPhase
from sylvan.games.blob import SUITS, Blob, card_code

__all__ = ["TRUMPS", "Copilot", "Notes", "game_of"]

FORMAT = "sylvan blob notes 1"
TRUMPS = ("spades", "hearts", "clubs", "diamonds", "none")


@dataclass(frozen=True)
class Notes:
    """The entries of one round of a table."""

    seat: int
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `Blob`."""
    round: int = 0
    points: tuple[int, ...] = ()
    """Points before the round; empty: all zero."""
    trump: str | None = None
    """Trump of this round, if it differs from the rules."""
    hand: tuple[int, ...] = ()
    """The dealt hand."""
    turned_up: int | None = None
    entries: tuple[int, ...] = ()
    """Bids and cards, in order."""

    def table(self) -> Blob:
        """Return the state: a view if the hand is entered, else the start of the round.

        :raises SylvanError: an entry breaks the rules; the error names card, seat and rule.
        """
        rules = dict(self.rules) | ({} if self.trump is None else {"trump": self.trump})
        start = game_of(rules)
        if not 0 <= self.seat < start.num_players:
            last = start.num_players - 1
            raise ConfigError(f"seat is {self.seat}: those of this table are 0 to {last}.")
        if not 0 <= self.round < len(start.sequence):
            raise ConfigError(
                f"There is no round {self.round + 1}: this game has {len(start.sequence)}."
            )
        table = start.at_round(self.round, self.points or (0,) * start.num_players)
        if not self.hand:
            return table
        table = table.enter(self.seat, self.hand, self.turned_up)
        for action in self.entries:
            table.act(table.to_play(), action)
        return table


class Copilot:
    """Notes of a table, with undo and advice.

    >>> copilot = Copilot(Notes(seat=0, rules={"players": 3, "cards": 2}))
    >>> copilot.enter_hand(["AS", "10H"])
    >>> copilot.enter("0"), copilot.enter("bid 1"), copilot.enter("2")
    (None, None, None)
    >>> copilot.enter("10H")
    Traceback (most recent call last):
    sylvan.errors.IllegalPosition: Seat 1 cannot have 10♥: seat 0 holds it.
    >>> copilot.table.to_play(), copilot.table.bids
    (1, [2, 0, 1])
    """

    def __init__(self, notes: Notes, adviser: Adviser | None = None, seed: int = 0) -> None:
        self.notes = notes
        self.table = notes.table()
        self.adviser = adviser or Searched()
        self.seed = seed
        self._past: list[Notes] = []

    @property
    def needs_card(self) -> bool:
        """Whether a card is turned up to make trump in this round."""
        return (self.notes.trump or self.notes.rules.get("trump")) == "turned_up"

    @property
    def is_persons_turn(self) -> bool:
        table = self.table
        return table.is_view and not table.is_terminal() and table.to_play() == self.notes.seat

    def enter_hand(self, cards: Sequence[str], turned_up: str | None = None) -> None:
        """Enter the dealt hand; later entries stay if they are still legal."""
        card = self.notes.turned_up if turned_up is None else card_code(turned_up)
        if not cards:
            raise ConfigError(f"A hand has {self.table.cards} cards: name them.")
        self._change(hand=tuple(card_code(name) for name in cards), turned_up=card)

    def turn_up(self, card: str) -> None:
        """Enter the turned-up card that makes trump; call it before `enter_hand`."""
        if not self.needs_card:
            raise ConfigError("No card is turned up in this round: enter trump, if it is another.")
        self._change(turned_up=card_code(card))

    def set_trump(self, name: str) -> None:
        """Set the trump of this round, if it differs from the rules."""
        by_name = dict(zip([*SUITS, *"shcd"], TRUMPS[:4] * 2, strict=True))
        suit = by_name.get(name.lower(), name.lower())
        if suit not in TRUMPS:
            raise ConfigError(f"{name!r} is no trump: give {', '.join(TRUMPS)}.")
        self._change(trump=suit)

    def set_points(self, points: Sequence[str]) -> None:
        """Set the points of all seats before this round."""
        are_numbers = all(re.fullmatch(r"-?[0-9]{1,6}", word) for word in points)
        if len(points) != self.table.num_players or not are_numbers:
            raise ConfigError(f"Points are {self.table.num_players} numbers, seat 0 first.")
        self._change(points=tuple(int(word) for word in points))

    def go_to(self, number: int) -> None:
        """Go to a round, counted from 1, before its deal."""
        self._change(round=number - 1, **_UNDEALT)

    def enter(self, text: str) -> None:
        """Enter a bid or a card of the seat to move: `2`, `7h`."""
        self._dealt()
        self._change(entries=(*self.notes.entries, self.table.string_to_action(text)))

    def correct(self, number: int, text: str) -> None:
        """Replace entry `number`, counted from 1; all later entries must still be legal."""
        self._dealt()
        entries = self.notes.entries
        if not 1 <= number <= len(entries):
            raise ConfigError(f"There is no entry {number}: {len(entries)} are noted.")
        before = replace(self.notes, entries=entries[: number - 1]).table()
        action = before.string_to_action(text)
        self._change(entries=(*entries[: number - 1], action, *entries[number:]))

    def next_round(self) -> None:
        """Go to the next round, with the points of this one; the round must be over."""
        if not self.table.is_terminal():
            raise WrongPhase("The round is not over: enter its cards first, or go to a round.")
        self._change(
            round=self.notes.round + 1, points=tuple(self.table.points), trump=None, **_UNDEALT
        )

    def undo(self) -> None:
        """Revert the last change."""
        if not self._past:
            raise ConfigError("There is nothing to take back.")
        self.notes = self._past.pop()
        self.table = self.notes.table()

    def advise(self) -> Advice:
        """Return the value of every legal bid or card.

        :raises WrongPhase: it is not the person's turn.
        """
        if not self.is_persons_turn:
            raise WrongPhase("It is not your turn: advice comes when it is.")
        return self.adviser.advise(self.table, Rng(self.seed, len(self.notes.entries)))

    def history(self) -> list[tuple[int, int]]:
        """Return seat and action of every entry."""
        table, seats = replace(self.notes, entries=()).table(), []
        for action in self.notes.entries:
            seats.append((table.to_play(), action))
            table.act(*seats[-1])
        return seats

    def to_json(self) -> dict[str, Any]:
        """Return the notes as JSON values."""
        return {"format": FORMAT, **asdict(self.notes)}

    @classmethod
    def from_json(cls, text: str, name: str = "This") -> Self:
        """Read saved notes and check them by the rules.

        :param name: of the file, for error messages.
        :raises ConfigError: the text has no notes, or they break the rules.
        """
        try:
            document = json.loads(text)
            if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
                raise ConfigError(f"its format is not {FORMAT!r}")
            for field_ in ("points", "hand", "entries"):
                document[field_] = tuple(document[field_])
            return cls(Notes(**document))
        except SylvanError as error:
            raise ConfigError(f"{name} has no notes of Blob: {error}") from None
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ConfigError(
                f"{name} has no notes of Blob: {type(error).__name__} {error}."
            ) from None

    def _dealt(self) -> None:
        if not self.table.is_view:
            raise WrongPhase("Your hand comes first: name its cards.")

    def _change(self, **changes: Any) -> None:
        notes = replace(self.notes, **changes)
        table = notes.table()
        self._past.append(self.notes)
        self.notes, self.table = notes, table


_UNDEALT: dict[str, Any] = {"hand": (), "turned_up": None, "entries": ()}


def game_of(rules: Mapping[str, Any], seed: int | None = None) -> Blob:
    """Make a game from its rules.

    :raises ConfigError: a rule does not exist or has an invalid value.
    """
    if "seed" in rules:
        raise ConfigError("seed is no rule of Blob: leave it out.")
    _check_rules(rules)
    try:
        return Blob(**rules, seed=seed)
    except (TypeError, OverflowError) as error:
        raise ConfigError(f"Blob has no such rules: {error}.") from None


def _check_rules(rules: Mapping[str, Any]) -> None:
    """Name the first rule that does not exist, or whose value has the wrong type.

    :raises ConfigError: there is one.
    """
    known = {name: p.default for name, p in inspect.signature(Blob).parameters.items()}
    del known["seed"]
    for name, value in rules.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"give {', '.join(known)}."
            raise ConfigError(f"Blob has no rule {name!r}: {hint}")
        kind = type(known[name])
        if (
            isinstance(value, bool) != (kind is bool)
            or (kind in (int, str) and not isinstance(value, kind))
            or (kind is float and not isinstance(value, int | float))
        ):
            wanted = {int: "a whole number", bool: "true or false", str: "a word"}.get(kind)
            raise ConfigError(f"{name} is {value!r}: give {wanted or 'a number'}.")
