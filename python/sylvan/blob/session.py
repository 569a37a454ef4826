"""A person against bots in Blob: moves, opponents, hints, review of decisions, save and resume.

Opponents and the adviser get only `game.observe(seat)`, so they cannot read hidden cards. Their
random numbers depend on the seed and the number of the move, so that replies are the same after an
undo or a resume.

Independent of the terminal: `sylvan play blob` is the user interface.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sylvan._native import Rng
from sylvan.blob.advice import Advice, Adviser, Searched
from sylvan.blob.players import BlobPlayer, bot_named
from sylvan.engines.match.session import Session
from sylvan.errors import ConfigError, SylvanError
from sylvan.games.blob import Blob
from sylvan.moved import forward_name

__all__ = ["STRENGTHS", "BlobSession", "Decision", "opponents_at"]

STRENGTHS = ("rule", "counter", "network_search:2000")
"""Opponents from the weakest to the strongest, names for `bot_named`."""

FORMAT = "sylvan blob sitting 1"
_PLAYERS, _ADVICE = 1 << 32, 1 << 33
"""Random streams of the seed, above those of the deals."""


@dataclass(frozen=True)
class Decision:
    """A bid or a card of the person, with the adviser's values."""

    view: Blob
    action: int
    advice: Advice

    @property
    def cost(self) -> float:
        """Expected loss in points."""
        return self.advice.cost(self.action)


class BlobSession(Session):
    """A game of Blob in progress; the person has seat `seat`.

    >>> session = BlobSession(Blob(players=3, cards=1, seed=3), 0, ["rule", "counter"])
    >>> while not session.is_persons_turn: _ = session.reply()
    >>> session.labels
    ['bid 0', 'bid 0']
    >>> session.game.action_to_string(session.hint().best.action)
    'bid 0'
    """

    game: Blob
    start: Blob

    def __init__(
        self,
        start: Blob,
        seat: int,
        opponents: Sequence[str],
        adviser: Adviser | None = None,
        seed: int = 0,
    ) -> None:
        """Start a game from `start`.

        :param opponents: names of players, clockwise from the person's left.
        :raises ConfigError: the seat or a player does not exist, or their number is wrong.
        """
        count = start.num_players
        if not 0 <= seat < count:
            raise ConfigError(f"seat is {seat}: the seats of {count} players are 0 to {count - 1}.")
        if len(opponents) != count - 1:
            raise ConfigError(
                f"{len(opponents)} opponents are named: {count} players need {count - 1}, or one "
                "name for all of them."
            )
        if not 0 <= seed < 1 << 63:
            raise ConfigError(f"seed is {seed}: give a whole number of 63 bits.")
        super().__init__(start, seat, seed)
        self.opponents = tuple(opponents)
        players = [bot_named(name) for name in opponents]
        self.players: dict[int, BlobPlayer] = {
            (seat + 1 + offset) % count: player for offset, player in enumerate(players)
        }
        self.adviser = adviser or Searched()
        self._advice: dict[int, Advice] = {}

    @property
    def view(self) -> Blob:
        """The person's view."""
        return self.game.observe(self.seat)

    def read(self, text: str) -> int:
        """Parse a person's input; errors depend only on the person's view."""
        return self.view.string_to_action(text)

    def reply(self) -> tuple[int, str]:
        """Let the opponent to move act; return its seat and its action's name."""
        seat = self.game.to_play()
        rng = Rng(self.seed, _PLAYERS + len(self.actions))
        action = self.players[seat].choose(self.game.observe(seat), rng)
        name = self.game.action_to_string(action)
        self.play(action)
        return seat, name

    def hint(self, seat: int | None = None) -> Advice:
        """Return the value of every legal bid or card of a seat, by default the person's."""
        view = self.view if seat is None else self.game.observe(seat)
        return self._advise(len(self.actions), view)

    def _advise(self, move: int, view: Blob) -> Advice:
        """Return the advice at a move, computed once."""
        known = self._advice  # read once: an undo in another thread replaces it
        if move not in known:
            known[move] = self.adviser.advise(view, Rng(self.seed, _ADVICE + move))
        return known[move]

    def undo(self, seats: Collection[int] | None = None) -> int:
        undone = super().undo(seats)
        self._advice = {
            move: advice for move, advice in list(self._advice.items()) if move <= len(self.actions)
        }
        return undone

    def look_back(
        self,
        number: int,
        progress: Callable[[int, int], object] | None = None,
        seat: int | None = None,
    ) -> list[Decision]:
        """Return the decisions of a seat in a round, without forced ones.

        :param number: of the round, from 0.
        :param progress: called with the number of decisions done and their total.
        :param seat: None: the person's.
        """
        choices = self.choices(self.seat if seat is None else seat, number)
        decisions = []
        for done, choice in enumerate(choices):
            if progress is not None:
                progress(done, len(choices))
            decisions.append(self.judge(*choice))
        return decisions

    def choices(self, seat: int, number: int | None = None) -> list[tuple[int, Blob, int]]:
        """Return the choices of a seat, without forced ones: the move's number, view and action.

        :param number: of the round, from 0; None: all rounds.
        """
        state, found = self.start.clone(), []
        for move, action in enumerate(self.actions):
            is_own = number in (None, state.round) and state.to_play() == seat
            if is_own and len(state.legal_actions()) > 1:
                found.append((move, state.observe(seat), action))
            state.apply(action)
        return found

    def judge(self, move: int, view: Blob, action: int) -> Decision:
        """Return a choice with the advice at it."""
        return Decision(view, action, self._advise(move, view))

    def rounds(self) -> list[list[tuple[int, int, int]]]:
        """Return bid, tricks and points of every seat, for every finished round."""
        state, found = self.start.clone(), []
        for action in self.actions:
            last = state.clone()
            state.apply(action)
            if state.round != last.round or state.is_terminal():
                last = last.this_round()
                last.apply(action)
                bids = [bid for bid in last.bids if bid is not None]
                found.append(list(zip(bids, last.tricks, last.last_points, strict=True)))
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the game as JSON values; `from_json` resumes it."""
        return {
            "format": FORMAT,
            "start": self.start.to_json(),
            "seat": self.seat,
            "opponents": list(self.opponents),
            "seed": self.seed,
            "actions": self.actions,
        }

    @classmethod
    def from_json(cls, text: str, name: str = "This") -> Self:
        """Resume a saved game; every move is checked again.

        :param name: of the file, for error messages.
        :raises ConfigError: it is not a saved game, or breaks the rules.
        """
        try:
            document = json.loads(text)
            if not isinstance(document, Mapping) or document.get("format") != FORMAT:
                raise ConfigError(f"its format is not {FORMAT!r}")
            start = Blob.from_json(document["start"])
            if start.is_view or start.is_terminal() or start.is_chance():
                raise ConfigError("its start is not a game that can be played")
            seat, seed = int(document["seat"]), int(document["seed"])
            session = cls(start, seat, [str(name) for name in document["opponents"]], seed=seed)
            for action in document["actions"]:
                session.play(action)
        except SylvanError as error:
            raise ConfigError(f"{name} is not a saved game of Blob: {error}") from None
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ConfigError(
                f"{name} is not a saved game of Blob: {type(error).__name__} {error}."
            ) from None
        return session


def opponents_at(level: int) -> str:
    """Return the opponent's name for a level, 1 to 10.

    >>> opponents_at(1), opponents_at(5), opponents_at(10)
    ('rule', 'counter', 'network_search:2000')
    """
    return STRENGTHS[0 if level <= 3 else 1 if level <= 7 else 2]


def __getattr__(name: str) -> Any:
    return forward_name(__name__, name)
