"""A match of a game of two seats: two players, many games, each opening with both colours.

Game number `n` has opening `n // 2`; player A has White in even games. The seed of a game depends
only on the match's seed and `n`, so games do not depend on each other, and a match can be
interrupted and resumed at any game.

The players determine the schedule:

- networks without a clock: all games in progress share one batch;
- others (other programs, clocks, evaluators in Rust): one thread per game.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sylvan._native import mix
from sylvan.engines.match.arbiter import Adjudication, Finished, play_game
from sylvan.engines.match.openings import Opening, builtin_openings, digest, random_openings
from sylvan.errors import ConfigError, EngineError
from sylvan.evaluators import EvaluatorLike, evaluator_for, evaluator_named
from sylvan.evaluators.protocol import header_of
from sylvan.games.chess import Chess
from sylvan.games.naming import GameSpec
from sylvan.planning import LatentModel
from sylvan.planning.roots import shown_to
from sylvan.planning.tree import label
from sylvan.players.batching import Thinking, alone, together
from sylvan.players.player import Player
from sylvan.players.specs import PlayerSpec

if TYPE_CHECKING:
    from sylvan.games import Game

__all__ = ["Match", "Played", "check_evaluator"]

WIDTH = 64
"""Default number of concurrent games that share a network's batch."""


@dataclass(frozen=True)
class Played:
    """A game of a match."""

    number: int
    """Its number in the schedule, from 0."""
    opening: str
    fen: str | None
    """The first position; None: the initial position of chess."""
    moves: list[str]
    """In UCI, or in other games than chess their names; including the opening."""
    book: int
    """Number of moves of the opening."""
    score: float
    """For player A: 1, 0.5 or 0."""
    ending: str
    captures: int
    """Without the opening."""
    checks: int
    seconds: tuple[float, float]
    """Thinking time of players A and B."""
    detail: str = ""

    @property
    def white(self) -> int:
        """The player with White: 0 is A, 1 is B."""
        return self.number % 2


@dataclass(frozen=True)
class Match:
    """Players, openings and rules of a match.

    >>> from sylvan.players.specs import player_spec
    >>> match = Match((player_spec("material:simulations=50"), player_spec("random")))
    >>> [game.number for game in match.play(range(2))]
    [0, 1]
    """

    players: tuple[PlayerSpec, PlayerSpec]
    openings: tuple[Opening, ...] = ()
    """Empty: the built-in set."""
    rules: Adjudication = field(default_factory=Adjudication)
    seed: int = 0
    game: GameSpec = field(default_factory=lambda: GameSpec("chess"))

    def __post_init__(self) -> None:
        seats = self.game.first().num_players
        if seats != 2:
            raise ConfigError(f"{self.game.name} has {seats} seats: a match needs a game of two.")
        for spec in self.players:
            if spec.kind == "uci" and not self.is_chess:
                raise ConfigError(f"{spec.name} plays chess only, not {self.game.name}.")
        if not self.openings:
            found = builtin_openings() if self.is_chess else random_openings(self.game)
            object.__setattr__(self, "openings", tuple(found))

    @property
    def is_chess(self) -> bool:
        return self.game.name == "chess"

    def check(self) -> None:
        """Check that the players play this game, rather than fail in the first one.

        :raises SylvanError: one does not; the message says why.
        """
        for spec in self.players:
            if spec.kind == "search" and not spec.is_learned:
                check_evaluator(self.openings[0].start(), spec.evaluator())

    @property
    def shares_batches(self) -> bool:
        """Whether the games in progress share one batch."""
        has_network = any(spec.is_network for spec in self.players)
        return has_network and not any(spec.blocks for spec in self.players)

    def identity(self) -> dict[str, Any]:
        """Return the settings that all games of a match have in common."""
        a, b = self.players
        rules = {name: value for name, value in vars(self.rules).items() if value is not None}
        openings = digest(list(self.openings))
        return {
            **({} if self.is_chess else {"game": self.game.name, "params": self.game.params}),
            "A": a.identity(),
            "B": b.identity(),
            "openings": openings,
            "adjudication": rules,
            "seed": self.seed,
        }

    def play(self, numbers: Iterable[int], concurrency: int | None = None) -> Iterator[Played]:
        """Play games; yield each as soon as it ends. Closing the iterator abandons the games in
        progress.

        :param concurrency: concurrent games; None: one, or enough to fill a network's batch.
        """
        if concurrency is not None and concurrency < 1:
            raise ConfigError(f"concurrency is {concurrency}: give at least 1.")
        if self.shares_batches:
            yield from self._batched(numbers, concurrency or WIDTH)
        else:
            yield from self._in_threads(numbers, concurrency or 1)

    def _game(
        self,
        number: int,
        players: tuple[Player, Player],
        wanted: Callable[[], bool] = lambda: True,
    ) -> Thinking[Played]:
        """Play game `number` while `wanted` returns True."""
        opening = self.openings[number // 2 % len(self.openings)]
        start = opening.start()
        for i, player in enumerate(players):
            player.new_game(mix(mix(self.seed, number), i))
        order = (0, 1) if number % 2 == 0 else (1, 0)
        controls = tuple(spec.limits.tc for spec in self.players)
        finished = yield from play_game(
            start,
            (players[order[0]], players[order[1]]),
            (controls[order[0]], controls[order[1]]),
            self.rules,
            wanted,
            mix(mix(self.seed, number // 2), 2),
        )
        return _record(number, opening, finished, order)

    def _batched(self, numbers: Iterable[int], width: int) -> Iterator[Played]:
        """Play in this thread with shared batches; one evaluator per network file."""
        networks: dict[str, EvaluatorLike | LatentModel] = {}

        def opened(spec: PlayerSpec) -> Player:
            key = f"{spec.source} {spec.options}"
            if spec.is_network and key not in networks:
                networks[key] = spec.model() if spec.is_learned else spec.evaluator()
            return spec.open(networks.get(key))

        def games() -> Iterator[Thinking[Played]]:
            for number in numbers:
                a, b = self.players
                yield self._game(number, (opened(a), opened(b)))

        yield from together(games(), width)

    def _in_threads(self, numbers: Iterable[int], count: int) -> Iterator[Played]:
        """Play in `count` threads, each with its own pair of players."""
        workers = _Workers(self, iter(numbers))
        try:
            workers.start(count)
            while (game := workers.results.get()) is not None:
                if isinstance(game, BaseException):
                    raise game
                yield game
        finally:
            workers.stop()


class _Workers:
    """Threads that play the games of a match."""

    def __init__(self, match: Match, numbers: Iterator[int]) -> None:
        self.results: queue.Queue[Played | BaseException | None] = queue.Queue()
        """Finished games, an error that ended a thread, and None at the end."""
        self._match = match
        self._numbers = numbers
        self._lock = threading.Lock()
        self._stopped = False
        self._players: list[Player] = []
        self._threads: list[threading.Thread] = []
        self._working = 0

    def start(self, count: int) -> None:
        self._working = count
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _next(self) -> int | None:
        with self._lock:
            return None if self._stopped else next(self._numbers, None)

    def _work(self) -> None:
        try:
            number = self._next()
            with ExitStack() as stack:
                pair: tuple[Player, Player] | None = None
                while number is not None:
                    if pair is None:  # late: some threads get no game
                        pair = self._open(stack)
                    game = alone(self._match._game(number, pair, lambda: not self._stopped))
                    if not self._stopped:
                        self.results.put(game)
                    number = self._next()
        except BaseException as error:
            self.results.put(error)
        finally:
            with self._lock:
                self._working -= 1
                if self._working == 0:
                    self.results.put(None)

    def _open(self, stack: ExitStack) -> tuple[Player, Player]:
        first, second = (stack.enter_context(spec.open()) for spec in self._match.players)
        with self._lock:
            self._players += [first, second]
        return first, second

    def stop(self) -> None:
        """Abandon the games in progress and wait for the threads."""
        self._stopped = True
        for thread in self._threads:
            while thread.is_alive():
                for player in list(self._players):
                    with suppress(EngineError):  # its thread may have closed it already
                        player.stop()
                thread.join(timeout=0.05)


def _record(number: int, opening: Opening, game: Finished, order: tuple[int, int]) -> Played:
    """Convert a finished game to the match's record; `order[s]` is the player of seat `s`."""
    state = opening.start()
    is_chess = isinstance(state, Chess)
    captures = checks = 0
    moves = list(opening.moves)
    for action in game.actions:
        text = label(state, action)
        captures += is_chess and "x" in text
        checks += is_chess and text.endswith(("+", "#"))
        moves.append(text)
        state.apply(action)
    of_a = order.index(0)
    return Played(
        number=number,
        opening=opening.name,
        fen=opening.fen,
        moves=state.moves if isinstance(state, Chess) else moves,
        book=len(opening.moves),
        score=(1 + game.returns[of_a]) / 2,
        ending=game.ending,
        captures=captures,
        checks=checks,
        seconds=(round(game.seconds[of_a], 4), round(game.seconds[1 - of_a], 4)),
        detail=game.detail,
    )


def check_evaluator(start: Game, judge: EvaluatorLike | None) -> None:
    """Check that an evaluator plays the game of a position.

    :param judge: an evaluator, its name, or None for the game's default.
    :raises SylvanError: it does not; the message says why.
    """
    evaluator = evaluator_for(start, evaluator_named(judge))
    shown = shown_to(start, evaluator)
    header = header_of(evaluator)
    if header is not None and not shown.is_chance():
        header.check(shown)
