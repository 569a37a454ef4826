"""A game of a person against players of ours, in a thread of its own.

What is sent comes from the view of the person's seat alone: hidden cards never reach this file's
messages, and a hint is made of the same view.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod

from sylvan.blob.copilot import game_of
from sylvan.blob.session import BlobSession, opponents_at
from sylvan.engines.match.levels import players_at
from sylvan.engines.match.session import GameSession
from sylvan.errors import ConfigError, GameOver, IllegalAction, SearchStateError
from sylvan.games.naming import GameSpec
from sylvan.planning.roots import hides, root_actions
from sylvan.web import protocol as p
from sylvan.web.boards import actions_of, board_of, mover
from sylvan.web.desk import Desk
from sylvan.web.review import judged, judged_move
from sylvan.web.worker import Send, Worker

__all__ = ["Play"]

BLOB = "blob"


class Play(Worker):
    """The game that a page plays."""

    def __init__(self, desk: Desk, send: Send) -> None:
        """Prepare; `send` is called with every message."""
        super().__init__(send)
        self._desk = desk
        self._match: _Match | None = None

    @property
    def _has_work(self) -> bool:
        return self._match is not None and self._match.is_replying

    def _work(self) -> None:
        match = self._need_match()
        match.reply()
        self._send(match.table())

    def _do(self, request: p.Request) -> None:
        match request:
            case p.Sit():
                self._sit(request)
            case p.Act(action=action):
                match = self._need_match()
                if (objection := match.objection(action)) is not None:
                    self._send(p.Problem(sentence=objection))
                else:
                    match.act(action)
            case p.TakeBack():
                self._need_match().take_back()
            case p.Hint():
                self._send(p.Hinted(options=self._need_match().hint()))
                return
            case p.Review():
                self._send(p.Reviewed(decisions=self._need_match().review()))
                return
            case _:
                return
        self._send(self._need_match().table())

    def _fail(self, sentence: str) -> None:
        super()._fail(sentence)
        if self._match is not None:
            self._send(self._match.table())

    def _end(self) -> None:
        self._leave()

    def _need_match(self) -> _Match:
        if self._match is None:
            raise SearchStateError("There is no game yet: start one.")
        return self._match

    def _sit(self, request: p.Sit) -> None:
        seed = random.randrange(2**53) if request.seed is None else request.seed
        if request.game == BLOB:
            new: _Match = _BlobMatch(request, seed)
        else:
            self._desk.need_game(request.game)
            new = _GameMatch(request, seed)
        self._leave()
        self._match = new

    def _leave(self) -> None:
        if self._match is not None:
            self._match.close()
        self._match = None


class _Match(ABC):
    """One game: what a page may know of it, and what the person may do."""

    session: GameSession | BlobSession
    game: str
    teaches: bool
    _objected: tuple[int, int] | None = None
    """The move and the action that were objected to last."""

    @property
    def is_replying(self) -> bool:
        """Whether a player of ours is to move."""
        return not self.session.is_over and not self.session.is_persons_turn

    @abstractmethod
    def reply(self) -> None: ...

    @abstractmethod
    def hint(self) -> list[p.Option]: ...

    @abstractmethod
    def review(self) -> list[p.Judged]: ...

    @abstractmethod
    def table(self) -> p.Table: ...

    def close(self) -> None:
        """Let the players go."""

    def act(self, action: int) -> None:
        """Make the person's move.

        :raises IllegalAction: it is not legal, or not the person's turn.
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

    @abstractmethod
    def _judged(self, action: int) -> p.Judged | None:
        """The judgement of an action that the person may take; None if there is none."""

    def take_back(self) -> None:
        """Undo to the person's last turn."""
        self.session.undo()

    def _need_legal(self, action: int) -> None:
        self._need_turn()
        if action not in root_actions(self.session.view):
            raise IllegalAction("This is not a legal move here: choose one that is offered.")

    def _need_turn(self) -> None:
        if self.session.is_over:
            raise GameOver("The game is over: start a new one, or take a move back.")
        if not self.session.is_persons_turn:
            raise IllegalAction("It is not your turn: wait for the others.")

    @property
    def _said(self) -> list[p.PlyInfo]:
        session = self.session
        moves = zip(session.actions, session.labels, session.seats(), strict=True)
        return [
            p.PlyInfo(action=action, label=label, seat=None if seat < 0 else seat)
            for action, label, seat in moves
        ]


class _GameMatch(_Match):
    """A game of one of our games, or of one's own."""

    session: GameSession

    def __init__(self, request: p.Sit, seed: int) -> None:
        start = GameSpec(request.game).first()
        if request.seat >= start.num_players:
            raise ConfigError(
                f"seat is {request.seat}: the seats of this game are 0 to {start.num_players - 1}."
            )
        self.game, self.teaches = request.game, request.teach
        self.player, self.adviser = players_at(start, request.level)
        self.player.new_game(seed)
        self.session = GameSession(start, request.seat, self.player, self.adviser, seed % 2**32)

    def reply(self) -> None:
        self.session.reply()

    def close(self) -> None:
        self.player.close()
        self.adviser.close()

    def hint(self) -> list[p.Option]:
        self._need_turn()
        label, value = self.session.hint()
        action = self.session.view.string_to_action(label)
        return [p.Option(action=action, label=label, value=value or 0.0, made=None)]

    def review(self) -> list[p.Judged]:
        return judged(self.session, self.adviser.evaluate)

    def _judged(self, action: int) -> p.Judged | None:
        if hides(self.session.game):
            return None
        ply = len(self.session.actions)
        return judged_move(self.session.game, action, ply, self.adviser.evaluate)

    def table(self) -> p.Table:
        session = self.session
        state, start = session.view, session.start
        own = session.is_persons_turn
        hidden = hides(session.game)
        last = session.actions[-1] if session.actions and not hidden else None
        return p.Table(
            game=self.game,
            board=board_of(state, last),
            actions=actions_of(state) if own else [],
            seat=session.seat,
            to_play=None if session.is_over else mover(session.game),
            names=[
                start.seat_name(seat) + (" (you)" if seat == session.seat else "")
                for seat in range(start.num_players)
            ],
            said=[] if hidden else self._said,  # a name may tell what is hidden
            over=session.verdict if session.is_over else None,
        )


class _BlobMatch(_Match):
    """A game of Blob; bids and cards that were played are known to all."""

    session: BlobSession
    game = BLOB

    def __init__(self, request: p.Sit, seed: int) -> None:
        asked = {"players": request.players, "cards": request.cards}
        rules = {name: value for name, value in asked.items() if value is not None}
        start = game_of(rules, seed % 2**32)
        names = [opponents_at(request.level)] * (start.num_players - 1)
        self.session = BlobSession(start, request.seat, names, seed=seed % 2**32)
        self.teaches = request.teach

    def reply(self) -> None:
        self.session.reply()

    def hint(self) -> list[p.Option]:
        self._need_turn()
        view = self.session.view
        return [
            p.Option(
                action=row.action,
                label=view.action_to_string(row.action),
                value=row.points,
                made=row.made,
            )
            for row in self.session.hint().rows
        ]

    def review(self) -> list[p.Judged]:
        found: list[p.Judged] = []
        for number in range(self.session.game.round + 1):
            for decision in self.session.look_back(number):
                view, best = decision.view, decision.advice.best.action
                label = view.action_to_string(decision.action)
                found.append(
                    p.Judged(
                        ply=len(found),
                        label=f"round {number + 1}: {label}",
                        best=view.action_to_string(best),
                        loss=decision.cost,
                        mark=_mark(decision.cost),
                    )
                )
        return found

    def _judged(self, action: int) -> p.Judged | None:
        view, advice = self.session.view, self.session.hint()
        loss = advice.cost(action)
        return p.Judged(
            ply=len(self.session.actions),
            label=view.action_to_string(action),
            best=view.action_to_string(advice.best.action),
            loss=loss,
            mark=_mark(loss),
        )

    def table(self) -> p.Table:
        session = self.session
        view, seat = session.view, session.seat
        over = None
        if session.is_over:
            points = view.points
            most = max(points)
            over = "You win" if points[seat] == most else "You lose"
            over += f": {points[seat]} points, the most are {most}."
        names = {each: player.name for each, player in session.players.items()}
        return p.Table(
            game=BLOB,
            board=board_of(view),
            actions=actions_of(view) if session.is_persons_turn else [],
            seat=seat,
            to_play=None if session.is_over else view.to_play(),
            names=[
                "you" if each == seat else f"seat {each}, {names[each]}"
                for each in range(view.num_players)
            ],
            said=self._said,
            over=over,
        )


def _mark(points: float) -> str:
    """The mark of a decision in Blob that is expected to lose some points."""
    return "??" if points >= 3 else "?" if points >= 1.5 else "?!" if points >= 0.5 else ""
