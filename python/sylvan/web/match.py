"""A game at a table: who has which seat, what each may see, hints and judgements.

What is sent to a seat comes from its view alone: hidden cards never reach this file's messages,
and a hint is made of the same view.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from functools import partial

from sylvan.blob.advice import Advice
from sylvan.blob.copilot import game_of
from sylvan.blob.network_player import NetworkPlayer, network_search
from sylvan.blob.players import BlobPlayer, bot_named
from sylvan.blob.session import BlobSession, opponents_at
from sylvan.engines.match.session import GameSession
from sylvan.errors import ConfigError, GameOver, IllegalAction
from sylvan.games import Game
from sylvan.games.blob import Blob
from sylvan.games.naming import GameSpec
from sylvan.games.optional import outcome_of
from sylvan.planning.roots import hides, root_actions
from sylvan.players.player import Clocks
from sylvan.web import protocol as p
from sylvan.web.boards import actions_of, board_of, mover
from sylvan.web.desk import Desk
from sylvan.web.opponents import BLOB, adviser_for, networks_for, player_for
from sylvan.web.review import judged, judged_move
from sylvan.web.reviewer import Judge, Stopped

__all__ = ["Match", "match_for", "options_of"]


class Match(ABC):
    """One game: what a page may know of it, and what people may do."""

    session: GameSession | BlobSession

    def __init__(self, request: p.Sit) -> None:
        self.game, self.teaches = request.game, request.teach
        self.people = frozenset(
            seat for seat, choice in enumerate(request.seats) if choice.who != "player"
        )
        self._objected: tuple[int, int] | None = None
        """The move and the action that were objected to last."""

    @property
    def hides(self) -> bool:
        """Whether seats see different things."""
        return hides(self.session.game)

    @property
    def is_over(self) -> bool:
        return self.session.is_over

    @property
    def turn(self) -> int | None:
        """The seat to move; None at the end."""
        return None if self.is_over else mover(self.session.game)

    @property
    def is_replying(self) -> bool:
        """Whether a player of ours is to move."""
        return self.turn is not None and self.turn not in self.people

    @property
    def seat_names(self) -> list[str]:
        start = self.session.start
        return [start.seat_name(seat) for seat in range(start.num_players)]

    @abstractmethod
    def player_name(self, seat: int) -> str:
        """The name of the player of ours at a seat; empty for people."""

    @abstractmethod
    def reply(self, clocks: Clocks | None = None) -> None:
        """Let the player of ours move who is to move."""

    @abstractmethod
    def hint(self) -> list[p.Option]:
        """The options of the seat to move, from its view."""

    @abstractmethod
    def review(self, seats: Sequence[int]) -> list[Judge]:
        """Some seats' moves so far: what to call for the judgement of each, from any thread."""

    @abstractmethod
    def verdict(self, seats: Sequence[int]) -> str:
        """How the game ended for some seats."""

    @abstractmethod
    def _judged(self, action: int) -> p.Judged | None:
        """The judgement of an action of the seat to move; None if there is none."""

    @property
    def can_draw(self) -> bool:
        """Whether the players may agree to a draw."""
        return False

    def agree_draw(self) -> bool:
        """End the game in a draw, to which all people agree; returns whether a player of ours does
        too.
        """
        return False

    def stop(self) -> None:
        """End a reply soon; from any thread."""

    def close(self) -> None:
        """Let the players go."""

    def view(self, seat: int) -> Game:
        """The view of a seat."""
        game = self.session.game
        return game.observe(seat) if self.hides else game

    def board(self, seat: int | None) -> p.Board:
        """The board that a seat sees; None: what everyone sees."""
        session = self.session
        if not self.hides:
            return board_of(session.game, session.actions[-1] if session.actions else None)
        if seat is not None:
            return board_of(self.view(seat))
        if isinstance(session.game, Blob):
            return board_of(session.game)
        return p.PictureBoard(kind="picture", svg=None, text="Nothing is shown to all seats.")

    def actions(self, seat: int) -> list[p.ActionInfo]:
        """The legal actions of a seat now."""
        return actions_of(self.view(seat)) if seat == self.turn else []

    def act(self, action: int) -> None:
        """Make the move of the person who is to move.

        :raises IllegalAction: it is not legal.
        """
        self._need_legal(action)
        self.session.play(action)

    def objection(self, action: int) -> str | None:
        """A sentence if the action is a blunder and the game teaches; once for each."""
        self._need_legal(action)
        here = len(self.session.actions), action
        if not self.teaches or self._objected == here:
            return None
        judged = self._judged(action)
        if judged is None or judged.mark != "??":
            return None
        self._objected = here
        return f"{judged.label} is a blunder. Look again, or play it once more to insist."

    def take_back(self, seats: Collection[int]) -> None:
        """Undo to the last turn of one of these seats."""
        self.session.undo(seats)

    def _need_legal(self, action: int) -> None:
        turn = self.turn
        if turn is None:
            raise GameOver("The game is over: start a new one, or take a move back.")
        if action not in root_actions(self.view(turn)):
            raise IllegalAction("This is not a legal move here: choose one that is offered.")

    @property
    def said(self) -> list[p.PlyInfo]:
        """The moves so far that everyone has seen."""
        session = self.session
        moves = zip(session.actions, session.labels, session.seats(), strict=True)
        return [
            p.PlyInfo(action=action, label=label, seat=None if seat < 0 else seat)
            for action, label, seat in moves
        ]


def match_for(desk: Desk, request: p.Sit, seed: int) -> Match:
    """Start a game.

    :raises SylvanError: it cannot be played so.
    """
    if request.game == BLOB:
        return _BlobMatch(desk, request, seed)
    desk.need_game(request.game)
    return _GameMatch(desk, request, seed)


def _level(request: p.Sit) -> int:
    """The strength of the first player of ours, by which the adviser is chosen."""
    return next((choice.level for choice in request.seats if choice.who == "player"), 10)


class _GameMatch(Match):
    """A game of one of our games, or of one's own."""

    session: GameSession

    def __init__(self, desk: Desk, request: p.Sit, seed: int) -> None:
        super().__init__(request)
        start = GameSpec(request.game).first()
        if len(request.seats) != start.num_players:
            raise ConfigError(
                f"seats has {len(request.seats)} entries: this game has {start.num_players} seats."
            )
        self.players = {
            seat: player_for(desk, request.game, start, choice)
            for seat, choice in enumerate(request.seats)
            if choice.who == "player"
        }
        for seat, player in self.players.items():
            player.new_game(seed + seat)
        self.adviser = adviser_for(start, _level(request))
        self.session = GameSession(
            start,
            min(self.people, default=0),
            self.adviser,
            seed=seed % 2**32,
            others=self.players,
        )

    def player_name(self, seat: int) -> str:
        return self.players[seat].name if seat in self.players else ""

    def reply(self, clocks: Clocks | None = None) -> None:
        self.session.reply(clocks)

    def stop(self) -> None:
        for player in (*self.players.values(), self.adviser):
            player.stop()

    def close(self) -> None:
        for player in (*self.players.values(), self.adviser):
            player.close()

    def hint(self) -> list[p.Option]:
        assert self.turn is not None
        label, value = self.session.hint()
        action = self.view(self.turn).string_to_action(label)
        return [p.Option(action=action, label=label, value=value or 0.0, made=None)]

    @property
    def can_draw(self) -> bool:
        return self.session.start.num_players == 2 and not self.hides

    def agree_draw(self) -> bool:
        if self.players:
            return self.session.offer_draw()
        self.session.agree_draw()
        return True

    def review(self, seats: Sequence[int]) -> list[Judge]:
        return judged(self.session, self.adviser.evaluate, seats)

    def verdict(self, seats: Sequence[int]) -> str:
        if len(seats) == 1:
            return self.session.verdict_for(seats[0])
        if self.session.agreed is not None:
            return f"Drawn by {self.session.agreed}."
        totals = self.session.totals
        best = [seat for seat, total in enumerate(totals) if total == max(totals)]
        how = outcome_of(self.session.game)
        by = f" by {how}" if how else ""
        if len(totals) > 1 and len(best) == 1:
            name = self.seat_names[best[0]]
            return f"{name[:1].upper()}{name[1:]} wins{by}."
        if len(totals) == 2:
            return f"Drawn{by}."
        return f"The game is over: the seats get {', '.join(f'{x:g}' for x in totals)}."

    def _judged(self, action: int) -> p.Judged | None:
        if self.hides:
            return None
        ply = len(self.session.actions)
        return judged_move(self.session.game, action, ply, self.adviser.evaluate)

    @property
    def said(self) -> list[p.PlyInfo]:
        return [] if self.hides else super().said  # a name may tell what is hidden


class _BlobMatch(Match):
    """A game of Blob; bids and cards that were played are known to all."""

    session: BlobSession

    def __init__(self, desk: Desk, request: p.Sit, seed: int) -> None:
        super().__init__(request)
        rules = {"players": len(request.seats), "cards": request.cards}
        given = {name: value for name, value in rules.items() if value is not None}
        start = game_of(given, seed % 2**32)
        self._choices = request.seats
        seats, first = start.num_players, min(self.people, default=0)
        names = [
            "rule" if seat in self.people else opponents_at(request.seats[seat].level)
            for seat in ((first + 1 + k) % seats for k in range(seats - 1))
        ]
        self.session = BlobSession(start, first, names, seed=seed % 2**32)
        for seat, choice in enumerate(request.seats):
            if choice.who == "player":
                self.session.players[seat] = _blob_player(desk, choice)

    def player_name(self, seat: int) -> str:
        choice = self._choices[seat]
        if seat in self.people:
            return ""
        return f"{choice.network or 'Sylvan'}, strength {choice.level}"

    def reply(self, clocks: Clocks | None = None) -> None:  # noqa: ARG002
        self.session.reply()

    def hint(self) -> list[p.Option]:
        assert self.turn is not None
        return options_of(self.session.game.observe(self.turn), self.session.hint(self.turn))

    def review(self, seats: Sequence[int]) -> list[Judge]:
        choices = [choice for seat in seats for choice in self.session.choices(seat)]
        return [partial(self._choice, number, *each) for number, each in enumerate(choices)]

    def _choice(self, number: int, move: int, view: Blob, action: int, _: Stopped) -> p.Judged:
        decision = self.session.judge(move, view, action)
        return p.Judged(
            ply=number,
            label=f"round {view.round + 1}: {view.action_to_string(action)}",
            best=view.action_to_string(decision.advice.best.action),
            loss=decision.cost,
            mark=_mark(decision.cost),
            options=options_of(view, decision.advice),
        )

    def verdict(self, seats: Sequence[int]) -> str:
        points = self.session.game.points
        most = max(points)
        if len(seats) == 1:
            result = "You win" if points[seats[0]] == most else "You lose"
            return f"{result}: {points[seats[0]]} points, the most are {most}."
        best = [f"seat {seat}" for seat, each in enumerate(points) if each == most]
        return f"{' and '.join(best)} {'wins' if len(best) == 1 else 'win'}: {most} points."

    def _judged(self, action: int) -> p.Judged | None:
        assert self.turn is not None
        view, advice = self.session.game.observe(self.turn), self.session.hint(self.turn)
        loss = advice.cost(action)
        return p.Judged(
            ply=len(self.session.actions),
            label=view.action_to_string(action),
            best=view.action_to_string(advice.best.action),
            loss=loss,
            mark=_mark(loss),
            options=[],
        )


def _blob_player(desk: Desk, choice: p.SeatChoice) -> BlobPlayer:
    """A player of Blob by strength, or with the network of a run."""
    if choice.network is None:
        return bot_named(opponents_at(choice.level))
    known = networks_for(desk, BLOB)
    if choice.network not in known:
        listed = ", ".join(known) or "none"
        raise ConfigError(f"There is no network {choice.network!r} for blob here: {listed}.")
    path = known[choice.network]
    return NetworkPlayer(path) if choice.level < 5 else network_search(path, 200 * choice.level)


def options_of(view: Blob, advice: Advice) -> list[p.Option]:
    """Advice as options."""
    return [
        p.Option(
            action=row.action,
            label=view.action_to_string(row.action),
            value=row.points,
            made=row.made,
        )
        for row in advice.rows
    ]


def _mark(points: float) -> str:
    """The mark of a decision in Blob that is expected to lose some points."""
    return "??" if points >= 3 else "?" if points >= 1.5 else "?!" if points >= 0.5 else ""
