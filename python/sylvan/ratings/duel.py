"""Games between two players, all of them at once.

Games go on in step: of all that are in progress, those in which one player is to move are handed to
it together, so that a search fills its network's batch with hundreds of trees. Every move is
searched from a fresh tree, so the simulations of two players can be compared.

*Fair.* Games come in pairs. Both of a pair begin with the same random plies; in the first, player A
has one seat alone and player B all others, in the second it is the other way round. With two seats
that is: colours swapped. A game counts 1 for the lone seat if it got more than the others on
average, 0 if less, 1/2 if as much; so two equal players share the points, however many seats there
are. A game of one seat is played by each of the two, with the same luck, and their totals compared.

*Repeatable.* A game's opening, its chance and its players' seeds follow from the duel's seed and
the game's number.
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
"""Games in progress at once at most, so that their trees have room."""
TRIES = 1000
"""Random openings that may end the game before the players take over."""


class Side(Protocol):
    """A player of many games at once."""

    name: str

    def choose(self, states: Sequence[Game], seeds: Sequence[int]) -> Sequence[int]:
        """An action for each state, in all of which a seat is to move; a seed for each."""


@dataclass(eq=False)
class DuelGame:
    """A game, in progress or over."""

    number: int
    state: Game
    sides: tuple[int, ...]
    """Who has each seat: 0 is A, 1 is B."""
    seed: int
    opening: int
    """Plies that were drawn before the players took over."""
    actions: list[int] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    """What each seat has been paid so far: rewards, and at the end returns."""
    ending: str = ""
    """`end` by the rules, `limit` at the most plies."""

    def apply(self, action: int) -> None:
        """Take an action and what it pays."""
        self.state.apply(action)
        self.actions.append(action)
        for seat, reward in enumerate(self.state.rewards()):
            self.totals[seat] += float(reward)

    def settle(self, most: int | None) -> None:
        """Play what chance has to say, and see whether the game is over."""
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
    """What came of it, from player A's side."""

    scores: tuple[float, ...]
    """Of each game: 1, 0.5 or 0."""
    games: tuple[DuelGame, ...]
    """As played; of a game of one seat both plays, one after the other."""

    @property
    def elo(self) -> Elo:
        """The difference that the scores speak for, with its interval."""
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
    watch: Callable[[int, int], None] | None = None,
) -> Duel:
    """Let two players play so many games.

    :param opening_plies: random ones before the players take over, so that games differ.
    :param max_plies: after which a game ends as it stands: with equal totals it is a draw.
    :param watch: told, after each round of moves, the games that are over and how many there are.
    :raises ConfigError: the game is over after any such opening.
    """
    if games < 1:
        raise ConfigError(f"games is {games}: give at least 1.")
    seats = spec.first().num_players
    played: list[DuelGame] = []
    plays = games if seats > 1 else 2 * games
    for start in range(0, plays, WIDTH):
        numbers = range(start, min(start + WIDTH, plays))
        block = [_begun(spec, number, seed, opening_plies) for number in numbers]
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


def _begun(spec: GameSpec, number: int, seed: int, plies: int) -> DuelGame:
    """Game `number` after its opening, which it shares with the other one of its pair."""
    pair, other = divmod(number, 2)
    for attempt in range(TRIES):
        state = spec.first()
        seats = state.num_players
        lone = pair % seats
        sides = tuple(other if seat == lone else 1 - other for seat in range(seats))
        luck = mix(mix(seed, pair), attempt)
        game = DuelGame(number, state, sides, luck, plies, totals=[0.0] * seats)
        rng = Rng(luck, 2**32)
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
        f"{spec.name} is over after {plies} random plies, however often one tries: set fewer."
    )


def _rounds(games: list[DuelGame], players: tuple[Side, Side], most: int | None) -> Iterator[int]:
    """Go on with all games until they are over; after each round, how many are."""
    going = games
    while going := [game for game in going if not game.ending]:
        turns: dict[int, list[DuelGame]] = defaultdict(list)
        for game in going:
            turns[game.sides[game.state.to_play()]].append(game)
        for side in sorted(turns):
            waiting = turns[side]
            seeds = [mix(mix(game.seed, game.number), len(game.actions)) for game in waiting]
            actions = players[side].choose([game.state for game in waiting], seeds)
            for game, action in zip(waiting, actions, strict=True):
                game.apply(int(action))
                game.settle(most)
        yield sum(bool(game.ending) for game in games)


def _score(game: DuelGame) -> float:
    """What a game of several seats counts for A."""
    lone = 0 if game.sides.count(0) == 1 else 1
    seat = game.sides.index(lone)
    rest = [total for other, total in enumerate(game.totals) if other != seat]
    score = _compared(game.totals[seat], sum(rest) / len(rest))
    return score if lone == 0 else 1 - score


def _compared(mine: float, other: float) -> float:
    return 0.5 if abs(mine - other) < 1e-9 else float(mine > other)
