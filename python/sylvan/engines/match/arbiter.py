"""One game between two players: turns, clocks and endings.

A game ends by the rules of the game, or because a player

- ran out of `time` (a draw if the opponent has too little material to mate),
- played an `illegal move`, or failed: `disconnect`, `stall`,

or, optionally, by adjudication: `length` (a draw), `resignation` and `agreed draw`, both only if
the two players have agreed on the value for some moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from sylvan._native import Rng
from sylvan.errors import ConfigError, EngineError
from sylvan.games.chess import Chess
from sylvan.games.optional import outcome_of
from sylvan.players.batching import Thinking
from sylvan.players.player import Choice, Clocks, Player

if TYPE_CHECKING:
    from sylvan.games import Game
    from sylvan.players.specs import TimeControl

__all__ = ["Adjudication", "Finished", "play_game"]

RESIGN_PLIES = 6
"""Consecutive half-moves at which both players expect the same winner."""
DRAW_PLIES, DRAW_AFTER = 16, 60
"""Consecutive half-moves at which both expect a draw, and the minimum length of the game."""


@dataclass(frozen=True)
class Adjudication:
    """Limits at which the arbiter ends a game; None: never."""

    length: int | None = None
    """Half-moves, without the opening, after which the game is a draw."""
    resign: float | None = None
    """End the game if both players expect at least this value for one side (0 to 1)."""
    draw: float | None = None
    """End the game if both players expect at most this value for either side (0 to 1)."""

    def __post_init__(self) -> None:
        for name in ("resign", "draw"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise ConfigError(f"{name} is {value}: give an expected result from 0 to 1.")
        if self.length is not None and self.length < 1:
            raise ConfigError(f"length is {self.length}: give at least 1 half-move.")

    def verdict(self, values: Sequence[float | None]) -> tuple[float, str] | None:
        """Return seat 0's return and the ending, or None.

        :param values: expected value for seat 0 at each half-move.
        """
        if self.resign is not None and len(values) >= RESIGN_PLIES:
            last = [0.0 if value is None else value for value in values[-RESIGN_PLIES:]]
            for sign in (1.0, -1.0):
                if all(sign * value >= self.resign for value in last):
                    return sign, "resignation"
        if self.draw is not None and len(values) >= max(DRAW_PLIES, DRAW_AFTER):
            last = [1.0 if value is None else value for value in values[-DRAW_PLIES:]]
            if all(abs(value) <= self.draw for value in last):
                return 0.0, "agreed draw"
        if self.length is not None and len(values) >= self.length:
            return 0.0, "length"
        return None


@dataclass(frozen=True)
class Finished:
    """A finished game."""

    actions: list[int]
    """Actions since `start`."""
    returns: tuple[float, float]
    """Per seat: 1 for a win, 0 for a draw, -1 for a loss."""
    ending: str
    seconds: tuple[float, float]
    """Thinking time of each seat."""
    detail: str = ""
    """Description of a fault, if there was one."""


def play_game(
    start: Game,
    players: tuple[Player, Player],
    controls: tuple[TimeControl | None, TimeControl | None] = (None, None),
    rules: Adjudication | None = None,
    wanted: Callable[[], bool] = lambda: True,
    seed: int = 0,
) -> Thinking[Finished]:
    """Play a game of two seats from `start` to the end. The seat that is paid more wins.

    :param players: by seat.
    :param controls: time controls by seat; None: no clock.
    :param wanted: the game is `abandoned` once this returns False.
    :param seed: of chance.
    """
    rules = rules or Adjudication()
    game = start.clone()
    clocks = [0.0 if control is None else control.base for control in controls]
    actions: list[int] = []
    values: list[float | None] = []
    spent = [0.0, 0.0]
    paid = [0.0, 0.0]

    def apply(action: int) -> None:
        game.apply(action)
        actions.append(action)
        for seat, reward in enumerate(game.rewards()):
            paid[seat] += reward

    def end(first: float, ending: str, detail: str = "") -> Finished:
        return Finished(actions, (first, -first), ending, (spent[0], spent[1]), detail)

    while not game.is_terminal():
        if not wanted():
            return end(0.0, "abandoned")
        if game.is_chance():
            outcomes = game.chance_outcomes()
            rng = Rng(seed, len(actions))
            apply(outcomes[rng.pick([share for _, share in outcomes])][0])
            continue
        seat = game.to_play()
        began = monotonic()
        try:
            choice = yield from players[seat].think(game, _clock(clocks, controls, seat))
        except EngineError as error:
            return end(-1.0 if seat == 0 else 1.0, error.ending, str(error))
        took = monotonic() - began
        spent[seat] += took
        if (control := controls[seat]) is not None:
            clocks[seat] -= took
            if clocks[seat] < 0:
                lost = _flag(game, seat)
                return end(lost, "time", f"{players[seat].name} was {-clocks[seat]:.3f} s late")
            clocks[seat] += control.increment
        apply(choice.action)
        values.append(_first(choice, seat))
        if not game.is_terminal() and (verdict := rules.verdict(values)) is not None:
            return end(*verdict)
    first, second = (sum(both) for both in zip(paid, game.returns(), strict=True))
    won = float((first > second) - (first < second))
    return end(won, outcome_of(game) or "end")


def _clock(
    clocks: list[float], controls: tuple[TimeControl | None, TimeControl | None], seat: int
) -> Clocks | None:
    """Return the clocks for the player to move; None if it has no clock."""
    if controls[seat] is None:
        return None
    increments = [0.0 if control is None else control.increment for control in controls]
    return Clocks((clocks[0], clocks[1]), (increments[0], increments[1]))


def _flag(game: Game, seat: int) -> float:
    """Return seat 0's return if `seat` runs out of time."""
    if isinstance(game, Chess) and game.board().has_insufficient_material(seat == 1):
        return 0.0  # the other side (White is True, and seat 0) cannot mate
    return -1.0 if seat == 0 else 1.0


def _first(choice: Choice, seat: int) -> float | None:
    """Return the expected value for seat 0."""
    return choice.value if choice.value is None or seat == 0 else -choice.value
