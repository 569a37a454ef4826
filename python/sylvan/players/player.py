"""Players choose moves, in a match or against a person.

A `Player` is opened, plays one game at a time, and is closed:

    with SearchPlayer("material", simulations=800) as player:
        player.new_game(seed=1)
        action = player.play(game)

`think` is `play` as a generator of evaluation requests (see `batching`), so that searches of many
games share a network's batch. Players that need no evaluator in Python yield no requests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self, Unpack

from sylvan.evaluators import EvaluatorLike, evaluator_for, evaluator_named
from sylvan.evaluators.native import native_call
from sylvan.evaluators.protocol import name_of
from sylvan.games.chess import Chess
from sylvan.planning import Forest, Search, SearchConfig, SearchSettings
from sylvan.planning.roots import as_root, seen_by_mover, shown_to
from sylvan.players.batching import Request, Thinking, alone
from sylvan.players.clock import Clock, budget

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["Choice", "Clocks", "Player", "RandomPlayer", "SearchPlayer"]


@dataclass(frozen=True)
class Clocks:
    """Seconds on the clocks of both seats, and their increments per move."""

    remaining: tuple[float, float]
    increment: tuple[float, float]


class Choice(NamedTuple):
    """A move, and the expected result of the game."""

    action: int
    value: float | None
    """For the seat to move, from -1 to 1; None if unknown."""


class Player(ABC):
    """Chooses moves in one game at a time."""

    name: str

    def new_game(self, seed: int = 0) -> None:
        """Forget the last game; `seed` determines all random choices in the next one."""

    @abstractmethod
    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:
        """Choose a move; yield requests for evaluations."""

    def play(self, game: Game, clocks: Clocks | None = None) -> int:
        """Choose an action in `game`, which is neither over nor at a chance node."""
        return alone(self.think(game, clocks)).action

    def stop(self) -> None:
        """Stop a running `think` soon; may be called from any thread."""

    def close(self) -> None:
        """Release the player's resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RandomPlayer(Player):
    """Takes a random legal move, each with the same probability.

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
        """Restart the random numbers from `seed`."""
        from sylvan._native import Rng

        self._rng = Rng(seed)

    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:  # noqa: ARG002
        """Draw a move."""
        yield from ()
        actions = game.legal_actions()
        return Choice(actions[self._rng.below(len(actions))], None)


class SearchPlayer(Player):
    """Searches, and keeps the tree between moves.

    >>> from sylvan.games import Chess
    >>> with SearchPlayer("material", simulations=200) as player:
    ...     game = Chess("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")
    ...     game.san(player.play(game))
    'Ra8#'
    """

    def __init__(
        self,
        evaluate: EvaluatorLike | None = None,
        config: SearchConfig | None = None,
        *,
        name: str | None = None,
        shares_batches: bool = False,
        **settings: Unpack[SearchSettings],
    ) -> None:
        """Create a player.

        Args:
            evaluate: an evaluator, its name, or None for the game's default
            config: the settings of each search
            name: for tables; default: the evaluator's
            shares_batches: whether other games fill the evaluator's batch; if not, the tree has as
                many leaves in flight as the evaluator prefers
            settings: changes to `config`, by name
        """
        self.evaluate = evaluator_named(evaluate)
        self.config = (config or SearchConfig()).replace(**settings)
        if not shares_batches:
            self.config = Search(self.evaluate, self.config).config
        self.name = name or (
            "search" if self.evaluate is None else name_of(self.evaluate, "search")
        )
        self._forest: Forest | None = None
        self._seeded = self.config

    def new_game(self, seed: int = 0) -> None:
        """Drop the tree."""
        self._forest = None
        self._seeded = self.config.replace(seed=seed)

    def think(self, game: Game, clocks: Clocks | None = None) -> Thinking[Choice]:
        """Search the position, in the tree of the last move if `game` continues from there.

        Of a game with hidden information, the search gets what the seat to move sees.
        """
        if self.config.hidden != "cheating":
            game = seen_by_mover(game)
        evaluator = evaluator_for(game, self.evaluate)
        forest = self._forest = self._rooted_at(shown_to(game, evaluator))
        if clocks is not None:
            forest.limit(seconds=time_for_move(clocks, game.to_play()))
        forest.begin()
        if native_call(evaluator) is not None:
            forest.run(evaluator)
        else:
            while (leaves := forest.select()) is not None:
                forest.take(*(yield Request(evaluator, leaves)))
        result = forest.result()
        return Choice(result.action, float(result.value))

    def _rooted_at(self, game: Game) -> Forest:
        """A forest of one tree with the root `game`; reuses the last tree if possible."""
        if self._forest is not None:
            actions = moves_between(self._forest.states[0], game)
            if actions is not None:
                self._forest.advance(0, *actions)
                return self._forest
        return Forest([game], self._seeded)

    def stop(self) -> None:
        """Stop a running search."""
        if self._forest is not None:
            self._forest.stop()

    def close(self) -> None:
        """Free the tree."""
        self._forest = None


def moves_between(earlier: Game, later: Game) -> list[int] | None:
    """The actions between two positions of one game of chess.

    None if unknown: another game, a move taken back, or a game without move history.

    >>> from sylvan.games import Chess
    >>> moves_between(Chess(moves="e4"), Chess(moves="e4 e5")), moves_between(Chess(), Chess())
    ([877], [])
    """
    if not (isinstance(earlier, Chess) and isinstance(later, Chess)):
        return None
    before, after = earlier.moves, later.moves
    same_start = earlier.start_fen == later.start_fen
    same_rules = earlier.chess960 == later.chess960
    if not (same_start and same_rules) or after[: len(before)] != before:
        return None
    actions: list[int] = []
    state: Game = earlier
    for move in after[len(before) :]:
        state = as_root(state)  # a game may continue after a claimable draw
        actions.append(state.string_to_action(move))
        state.apply(actions[-1])
    return actions


OVERHEAD = 0.02
"""Seconds of a clock reserved for delays of the machine."""


def time_for_move(clocks: Clocks, seat: int) -> float:
    """Seconds to spend on a move.

    >>> round(time_for_move(Clocks((60, 60), (1, 1)), seat=0), 2)
    2.47
    """
    clock = Clock(clocks.remaining[seat], clocks.increment[seat])
    return budget(clock, OVERHEAD).aim
