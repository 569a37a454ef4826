"""Players: what chooses a move, in a match or at a person's board.

A `Player` is opened, plays one game at a time, and is closed:

    with SearchPlayer("material", simulations=800) as player:
        player.new_game(seed=1)
        action = player.play(game)

`think` is `play` as a generator that asks for evaluations (see `batching`), so that searches of
many games share a network's batch. Another program, or an evaluator inside Rust, is waited for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from sylvan.evaluators import evaluator_for, evaluator_named
from sylvan.planning import Forest, Search, SearchConfig
from sylvan.planning.roots import as_root, shown_to
from sylvan.players.batching import Request, Thinking, alone
from sylvan.players.clock import Clock, budget

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["Choice", "Clocks", "Player", "RandomPlayer", "SearchPlayer"]


@dataclass(frozen=True)
class Clocks:
    """Seconds on the clocks of both seats, and what each move adds."""

    remaining: tuple[float, float]
    increment: tuple[float, float]


class Choice(NamedTuple):
    """A move, and what the player that chose it expects of the game."""

    action: int
    value: float | None
    """For the seat that moves, from -1 to 1; None if the player does not say."""


class Player(ABC):
    """Chooses moves in one game at a time."""

    name: str

    def new_game(self, seed: int = 0) -> None:
        """Forget the last game; `seed` fixes whatever is random in the next one."""

    @abstractmethod
    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:
        """Choose a move, asking for evaluations on the way."""

    def play(self, game: Game, clocks: Clocks | None = None) -> int:
        """The action to take in `game`, in which a seat is to move."""
        return alone(self.think(game, clocks)).action

    def stop(self) -> None:
        """End the thinking that is under way; may be called from any thread."""

    def close(self) -> None:
        """Give back what the player holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RandomPlayer(Player):
    """Takes any legal move, all alike.

    >>> from sylvan.games import TicTacToe
    >>> with RandomPlayer() as player:
    ...     player.new_game(seed=3)
    ...     player.play(TicTacToe([0, 4])) in range(9)
    True
    """

    name = "random"

    def __init__(self) -> None:
        self.new_game()

    def new_game(self, seed: int = 0) -> None:
        """Start a new sequence of choices."""
        from sylvan._native import Rng

        self._rng = Rng(seed)

    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:  # noqa: ARG002
        """Draw a move."""
        yield from ()
        actions = game.legal_actions()
        return Choice(actions[self._rng.below(len(actions))], None)


class SearchPlayer(Player):
    """Searches, keeping the tree from move to move.

    >>> from sylvan.games import Chess
    >>> with SearchPlayer("material", simulations=200) as player:
    ...     game = Chess("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
    ...     game.san(player.play(game))
    'Ra8#'
    """

    def __init__(
        self,
        evaluate: Any = None,
        config: SearchConfig | None = None,
        *,
        name: str | None = None,
        shares_batches: bool = False,
        **settings: Any,
    ) -> None:
        """Prepare a player.

        Args:
            evaluate: an evaluator, its name, or None for the game's default
            config: the settings of each search
            name: as it stands in a table; else the evaluator's
            shares_batches: whether other games fill the evaluator's batch; if not, as many leaves
                of the one tree are in flight as the evaluator prefers
            settings: changes to `config`, by name
        """
        self.evaluate = evaluator_named(evaluate)
        self.config = (config or SearchConfig()).replace(**settings)
        if not shares_batches:
            self.config = Search(self.evaluate, self.config).config
        self.name = name or getattr(self.evaluate, "name", None) or "search"
        self._forest: Forest | None = None
        self._seeded = self.config

    def new_game(self, seed: int = 0) -> None:
        """Let go of the tree."""
        self._forest = None
        self._seeded = self.config.replace(seed=seed)

    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:
        """Search the position, in the tree of the last move if the game went on from there."""
        evaluator = evaluator_for(game, self.evaluate)
        forest = self._forest = self._planted(shown_to(game, evaluator))
        if clocks is not None:
            forest.limit(seconds=time_for_move(clocks, game.to_play()))
        forest.begin()
        if getattr(evaluator, "native", None) is not None:
            forest.run(evaluator)
        else:
            while (leaves := forest.select()) is not None:
                forest.take(*(yield Request(evaluator, leaves)))
        result = forest.result()
        return Choice(result.action, float(result.value))

    def _planted(self, game: Game) -> Forest:
        """A forest of one tree, whose root is `game`."""
        if self._forest is not None:
            actions = moves_between(self._forest.states[0], game)
            if actions is not None:
                self._forest.advance(0, *actions)
                return self._forest
        return Forest([game], self._seeded)

    def stop(self) -> None:
        """End the search that is under way."""
        if self._forest is not None:
            self._forest.stop()

    def close(self) -> None:
        """Free the tree."""
        self._forest = None


def moves_between(earlier: Game, later: Game) -> list[int] | None:
    """The actions that lead from one position of a game of chess to a later one.

    None where that cannot be told: another game, a move taken back, a game without a record.

    >>> from sylvan.games import Chess
    >>> moves_between(Chess(moves="e4"), Chess(moves="e4 e5")), moves_between(Chess(), Chess())
    ([877], [])
    """
    if getattr(earlier, "start_fen", None) is None or type(earlier) is not type(later):
        return None
    before, after = earlier.moves, later.moves  # type: ignore[attr-defined]
    same_start = earlier.start_fen == later.start_fen  # type: ignore[attr-defined]
    same_rules = earlier.chess960 == later.chess960  # type: ignore[attr-defined]
    if not (same_start and same_rules) or after[: len(before)] != before:
        return None
    actions, state = [], earlier
    for move in after[len(before) :]:
        state = as_root(state)  # a game may go on where a draw could be claimed
        actions.append(state.string_to_action(move))
        state.apply(actions[-1])
    return actions


OVERHEAD = 0.02
"""Seconds of a clock that are kept for the time that a machine is late."""


def time_for_move(clocks: Clocks, seat: int) -> float:
    """Seconds to spend on a move.

    >>> round(time_for_move(Clocks((60, 60), (1, 1)), seat=0), 2)
    2.47
    """
    clock = Clock(clocks.remaining[seat], clocks.increment[seat])
    return budget(clock, OVERHEAD).aim
