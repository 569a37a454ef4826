"""A game between a person and a player: moves, replies, undo, resignation, saving.

Independent of the terminal: `sylvan play` is the user interface.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

from sylvan._native import Rng
from sylvan.errors import ConfigError, GameOver, IllegalAction
from sylvan.games.chess import Chess
from sylvan.games.optional import max_length_of, outcome_of
from sylvan.planning.roots import hides
from sylvan.planning.tree import label
from sylvan.players.batching import alone

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.players.player import Clocks, Player

__all__ = ["GameSession", "Session"]

EVEN = 0.05
"""Values at most this far from 0 count as equal."""
WORSE = 0.25
"""A player accepts a draw at any time if it expects to lose by this: about a pawn in chess."""
EARLIEST_DRAW = 40
"""Half-moves before which a player that is not worse declines a draw; in short games half of the
longest game."""
ENDGAME = 12
"""Most pieces in an endgame of chess."""


class Session:
    """A game in which a person has seat `seat`; chance is drawn with `seed`."""

    def __init__(self, start: Game, seat: int, seed: int = 0) -> None:
        self.start = start.clone()
        self.game = start.clone()
        self.seat = seat
        self.seed = seed
        self.actions: list[int] = []
        self.labels: list[str] = []
        """The moves in the game's notation, chance included."""
        self.paid = [0.0] * start.num_players
        """Sum of rewards per seat."""
        self._chance()

    @property
    def is_over(self) -> bool:
        return self.game.is_terminal()

    @property
    def view(self) -> Game:
        """The person's view: the game itself if it hides nothing."""
        return self.game.observe(self.seat) if hides(self.game) else self.game

    @property
    def is_persons_turn(self) -> bool:
        return not self.is_over and self.game.to_play() == self.seat

    def read(self, text: str) -> int:
        """Parse a person's input.

        :raises IllegalAction: it is not a legal action.
        """
        try:
            return self.game.string_to_action(text)
        except ValueError:
            # Accept a piece in lower case if it is not a pawn move.
            if text[:1] in set("nbrqk") and isinstance(self.game, Chess):
                for action in self.game.legal_actions():
                    san = self.game.san(action).rstrip("+#")
                    if san == text[0].upper() + text[1:].rstrip("+#"):
                        return action
            raise

    def play(self, action: int) -> None:
        """Apply a legal action of any seat."""
        if self.is_over:
            raise GameOver("the game is over: undo a move, or start a new game")
        self._apply(action)
        self._chance()

    def _apply(self, action: int) -> None:
        self.labels.append(label(self.game, action))
        self.game.apply(action)
        self.actions.append(action)
        self.paid = [sum(both) for both in zip(self.paid, self.game.rewards(), strict=True)]

    def _chance(self) -> None:
        """Draw chance outcomes; the same ones again after an undo."""
        while self._is_chance():
            outcomes = self.game.chance_outcomes()
            rng = Rng(self.seed, len(self.actions))
            self._apply(outcomes[rng.pick([share for _, share in outcomes])][0])

    def _is_chance(self) -> bool:
        return not self.game.is_terminal() and self.game.is_chance()

    def undo(self, seats: Collection[int] | None = None) -> int:
        """Undo to the last turn of one of `seats`, by default the person's; return the number of
        moves undone.
        """
        asking = (self.seat,) if seats is None else seats
        turns = [i for i, seat in enumerate(self.seats()) if seat in asking]
        if not turns:
            raise ConfigError("There is nothing to take back: you have not moved yet.")
        undone = len(self.actions) - turns[-1]
        self.replay(self.actions[: turns[-1]])
        return undone

    def replay(self, actions: Sequence[int]) -> None:
        """Start again and apply these actions, chance included.

        :raises IllegalAction: one is not legal; the game then ends before it.
        """
        self.game, self.actions, self.labels = self.start.clone(), [], []
        self.paid = [0.0] * self.game.num_players
        for action in actions:
            outcomes = [a for a, _ in self.game.chance_outcomes()] if self._is_chance() else None
            if self.game.is_terminal() or action not in (outcomes or self.game.legal_actions()):
                raise IllegalAction(f"action {action} is not legal after {self.labels}")
            self._apply(action)
        self._chance()

    def seats(self) -> list[int]:
        """Return the seat of each move; -1 for chance."""
        state, seats = self.start.clone(), []
        for action in self.actions:
            seats.append(-1 if state.is_chance() else state.to_play())
            state.apply(action)
        return seats


class GameSession(Session):
    """A game of a person and players of ours; one player has all other seats, unless `others` are
    given.

    >>> from sylvan.players.player import SearchPlayer
    >>> from sylvan.games import TicTacToe
    >>> session = GameSession(TicTacToe(), seat=0, player=SearchPlayer("uniform", simulations=500))
    >>> session.play(session.read("4"))
    >>> _ = session.reply()
    >>> len(session.actions), session.is_over
    (2, False)
    """

    def __init__(
        self,
        start: Game,
        seat: int,
        player: Player,
        adviser: Player | None = None,
        seed: int = 0,
        others: Mapping[int, Player] | None = None,
    ) -> None:
        """Start a game from `start`.

        :param adviser: gives hints; None: the player does.
        :param seed: seed of chance.
        :param others: players of single seats; `player` has the rest.
        """
        super().__init__(start, seat, seed)
        self.player, self.others = player, dict(others or {})
        self.adviser = adviser or player
        self.value: float | None = None
        """The player's expected value at its last move."""
        self._agreed: tuple[str, str] | None = None
        """Result and reason, if not by the rules of the game."""

    @property
    def is_over(self) -> bool:
        return self._agreed is not None or self.game.is_terminal()

    def reply(self, clocks: Clocks | None = None) -> str:
        """Let the player to move do so; return its move."""
        player = self.others.get(self.game.to_play(), self.player)
        choice = alone(player.think(self.game, clocks))
        self.value = choice.value
        reply = label(self.game, choice.action)
        self.play(choice.action)
        return reply

    def hint(self) -> tuple[str, float | None]:
        """Return the adviser's move for the person, and what the person can expect of it."""
        choice = alone(self.adviser.think(self.game))
        return label(self.game, choice.action), choice.value

    def undo(self, seats: Collection[int] | None = None) -> int:
        undone = super().undo(seats)
        self._agreed, self.value = None, None
        return undone

    def resign(self) -> None:
        """End the game: the person resigns.

        :raises ConfigError: the game has not two seats.
        """
        self._need_two_seats("resign")
        self._agreed = ("0-1" if self.seat == 0 else "1-0", "resignation")

    def offer_draw(self) -> bool:
        """Offer a draw; return whether the player accepts: if it is worse, and late in the game
        also if the position is equal.

        :raises ConfigError: the game has not two seats.
        """
        self._need_two_seats("draw")
        agreed = self.value is not None and self.value <= (EVEN if self._is_late() else -WORSE)
        if agreed:
            self.agree_draw()
        return agreed

    def agree_draw(self) -> None:
        """End the game: both sides agree to a draw.

        :raises ConfigError: the game has not two seats.
        """
        self._need_two_seats("draw")
        self._agreed = ("1/2-1/2", "agreement")

    def _is_late(self) -> bool:
        """Whether an equal position may be drawn: late in the game, or an endgame of chess."""
        if isinstance(self.game, Chess):
            pieces = sum(map(str.isalpha, self.game.fen().split()[0]))
            if pieces <= ENDGAME:
                return True
        longest = max_length_of(self.game) or 2 * EARLIEST_DRAW
        return len(self.actions) >= min(EARLIEST_DRAW, longest // 2)

    def _need_two_seats(self, what: str) -> None:
        if self.start.num_players != 2:
            raise ConfigError(f"{what} is for games of two seats: quit leaves the game.")

    @property
    def agreed(self) -> str | None:
        """How the game ended, if not by its rules."""
        return None if self._agreed is None else self._agreed[1]

    @property
    def totals(self) -> list[float]:
        """The returns of a finished game, per seat."""
        return [paid + end for paid, end in zip(self.paid, self.game.returns(), strict=True)]

    @property
    def result(self) -> str:
        """The result of a game of two seats in PGN's notation: `1-0`, `0-1`, `1/2-1/2`, or `*` for
        an unfinished game.
        """
        if self._agreed is not None:
            return self._agreed[0]
        if not self.game.is_terminal():
            return "*"
        first, second = self.totals
        ahead = first - second
        return "1-0" if ahead > 0 else "0-1" if ahead < 0 else "1/2-1/2"

    @property
    def verdict(self) -> str:
        """The result as a sentence for the person."""
        return self.verdict_for(self.seat)

    def verdict_for(self, seat: int) -> str:
        """The result as a sentence for the person at a seat."""
        if not self.is_over:
            return "The game is not finished."
        if self.start.num_players != 2:
            shown = ", ".join(f"{total:g}" for total in self.totals)
            return f"You get {self.totals[seat]:g}; the seats get {shown}."
        reason = self._agreed[1] if self._agreed else outcome_of(self.game)
        by = f" by {reason}" if reason else ""
        if self.result == "1/2-1/2":
            return f"Drawn{by}."
        won = self.result == ("1-0" if seat == 0 else "0-1")
        return f"You {'win' if won else 'lose'}{by}."

    def pgn(self) -> str:
        """Return the game (chess only) as PGN."""
        import chess.pgn

        from sylvan.games.pgn import game_text

        state: Chess = self.game  # type: ignore[assignment]
        game = chess.pgn.Game.from_board(state.board())
        names = ["You", self.player.name]
        game.headers["Event"] = "Sylvan in the terminal"
        game.headers["Date"] = f"{date.today():%Y.%m.%d}"
        game.headers["White"], game.headers["Black"] = names if self.seat == 0 else names[::-1]
        game.headers["Result"] = self.result
        return game_text(game)
