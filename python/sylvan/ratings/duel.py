"""Play many games between two players in parallel.

All games advance together: each player chooses its moves in all its games in one call, so that a
search fills its network's batch with hundreds of trees. Every move is searched with a new tree, so
the simulations of two players are comparable.

*Fair.* Games are played in pairs with the same random opening. In the first game, player A has one
seat and player B all others; in the second they are swapped. With two seats, this swaps colours. A
game scores 1 for the single seat if its total is above the mean of the others, 0 if below, 1/2 if
equal; so two equal players share the points for any number of seats. A game with one seat is played
by each player, with the same random events, and their totals are compared.

*Reproducible.* A game's opening, its chance events and its players' seeds depend only on the duel's
seed and the game's number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sylvan._native import Rng, mix
from sylvan.errors import ConfigError
from sylvan.games import Game
from sylvan.games.naming import GameSpec
from sylvan.players.elo import Elo, elo_difference

__all__ = ["Duel", "DuelGame", "Side", "duel"]

WIDTH = 512
"""Maximum number of parallel games, which bounds the memory of their trees."""
TRIES = 1000
"""Maximum number of random openings to try until one does not end the game."""


class Side(Protocol):
    """A player of many games in parallel."""

    name: str

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> Sequence[int]:
        """Choose an action in each state, none of which is terminal or a chance node.

        :param seeds: one per state.
        """


@dataclass(eq=False)
class DuelGame:
    """A game in progress, or finished."""

    number: int
    state: Game
    sides: tuple[int, ...]
    """The player of each seat: 0 is A, 1 is B."""
    seed: int
    opening: int
    """Number of random plies at the start."""
    actions: list[int] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    """Sum of each seat's rewards, and of its return at the end."""
    ending: str = ""
    """`end` by the rules, `limit` at the maximum number of plies."""

    def apply(self, action: int) -> None:
        """Apply an action and add up its rewards."""
        self.state.apply(action)
        self.actions.append(action)
        for seat, reward in enumerate(self.state.rewards()):
            self.totals[seat] += float(reward)

    def settle(self, most: int | None) -> None:
        """Draw chance outcomes until a seat is to move, and detect the end of the game."""
        while not self.state.is_terminal() and self.state.is_chance():
            outcomes = self.state.chance_outcomes()
            rng = Rng(self.seed, len(self.actions))
            self.apply(outcomes[rng.pick([share for _, share in outcomes])][0])
        if self.state.is_terminal():
            self.ending = "end"
            for seat, payment in enumerate(self.state.returns()):
                self.totals[seat] += float(payment)
        elif most is not None and len(self.actions) >= most:
            self.ending = "limit"


@dataclass(frozen=True)
class Duel:
    """The result of a duel, from player A's point of view."""

    scores: tuple[float, ...]
    """The score of each game: 1, 0.5 or 0."""
    games: tuple[DuelGame, ...]
    """The games as played; with one seat, A's and B's game follow each other."""

    @property
    def elo(self) -> Elo:
        """The estimated Elo difference, with its interval."""
        return elo_difference(*(self.scores.count(score) for score in (1.0, 0.5, 0.0)))

    @property
    def score(self) -> float:
        return self.elo.score

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the score."""
        from sylvan.players.elo import score_of_elo

        return score_of_elo(self.elo.low), score_of_elo(self.elo.high)


def duel(
    spec: GameSpec,
    a: Side,
    b: Side,
    games: int,
    seed: int = 0,
    *,
    opening_plies: int = 4,
    max_plies: int | None = 1000,
    first: int = 0,
    watch: Callable[[int, int], None] | None = None,
) -> Duel:
    """Play games `first` to `first + games` between two players.

    :param opening_plies: random plies at the start, so that games differ.
    :param max_plies: end a game after this many plies; equal totals are a draw.
    :param watch: called after each round of moves with the number of finished games and the total.
    :raises ConfigError: every random opening ends the game.
    """
    if games < 1:
        raise ConfigError(f"games is {games}: give at least 1.")
    seats = spec.first().num_players
    played: list[DuelGame] = []
    each = 1 if seats > 1 else 2
    begin, plays = each * first, each * games
    for start in range(0, plays, WIDTH):
        numbers = range(begin + start, begin + min(start + WIDTH, plays))
        block = [_started(spec, number, seed, opening_plies) for number in numbers]
        for over in _rounds(block, (a, b), max_plies):
            if watch is not None:
                watch(start + over, plays)
        played += block
    if seats == 1:
        pairs = zip(played[::2], played[1::2], strict=True)
        scores = tuple(_compared(mine.totals[0], other.totals[0]) for mine, other in pairs)
    else:
        scores = tuple(map(_score, played))
    return Duel(scores, tuple(played))


def _started(spec: GameSpec, number: int, seed: int, plies: int) -> DuelGame:
    """Start game `number` with the random opening of its pair."""
    pair, other = divmod(number, 2)
    for attempt in range(TRIES):
        state = spec.first()
        seats = state.num_players
        lone = pair % seats
        sides = tuple(other if seat == lone else 1 - other for seat in range(seats))
        game_seed = mix(mix(seed, pair), attempt)
        game = DuelGame(number, state, sides, game_seed, plies, totals=[0.0] * seats)
        rng = Rng(game_seed, 2**32)
        game.settle(None)
        for _ in range(plies):
            if game.ending:
                break
            legal = game.state.legal_actions()
            game.apply(legal[rng.below(len(legal))])
            game.settle(None)
        if not game.ending:
            return game
        if plies == 0:
            break
    raise ConfigError(
        f"{spec.name} ended within {plies} random plies in {TRIES} attempts: set opening_plies "
        "lower."
    )


def _rounds(games: list[DuelGame], players: tuple[Side, Side], most: int | None) -> Iterator[int]:
    """Play all games to the end; after each round of moves yield the number of finished ones."""
    running = games
    while running := [game for game in running if not game.ending]:
        turns: dict[int, list[DuelGame]] = defaultdict(list)
        for game in running:
            turns[game.sides[game.state.to_play()]].append(game)
        for side in sorted(turns):
            to_move = turns[side]
            seeds = [mix(mix(game.seed, game.number), len(game.actions)) for game in to_move]
            actions = players[side].choose([game.state for game in to_move], seeds)
            for game, action in zip(to_move, actions, strict=True):
                game.apply(int(action))
                game.settle(most)
        yield sum(bool(game.ending) for game in games)


def _score(game: DuelGame) -> float:
    """A's score in a game with several seats."""
    lone = 0 if game.sides.count(0) == 1 else 1
    seat = game.sides.index(lone)
    rest = [total for other, total in enumerate(game.totals) if other != seat]
    score = _compared(game.totals[seat], sum(rest) / len(rest))
    return score if lone == 0 else 1 - score


def _compared(mine: float, other: float) -> float:
    return 0.5 if abs(mine - other) < 1e-9 else float(mine > other)
