"""`BlobGame` and its players, as the document `blob-mcts-node` uses them.

    game = BlobGame(num_players=4)
    game.setup_round(cards_to_deal=5)
    player = game.current_player
    game.apply_action(game.get_legal_actions()[0], player)

It is `sylvan.games.Blob`, round by round, under the document's names and codes: within a phase an
action is a bid, 0 to 13, or a card, 0 to 51 (`suit * 13 + rank`; suits ♠ ♥ ♣ ♦, ranks 2 to ace).
Networks and replay tell the two apart: there bids are 52 to 65 (`to_code`, `from_code`).

Seat 0 deals the first round, so seat 1 bids first; then the next seat deals. Trump goes round: ♠ ♥
♣ ♦, none. Deals come from NumPy's global generator unless `setup_round` is given a seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sylvan.errors import ConfigError, WrongPhase
from sylvan.games.blob import FIRST_BID, Blob

__all__ = ["BlobGame", "Player"]

TRUMPS = ("spades", "hearts", "clubs", "diamonds", "none")


@dataclass(frozen=True)
class Player:
    """A seat at a game."""

    game: BlobGame = field(compare=False)
    position: int

    @property
    def name(self) -> str:
        """For people to read."""
        return f"Player {self.position}"

    @property
    def hand(self) -> list[int]:
        """Codes of the cards held.

        :raises HiddenCards: the game is what another seat sees of it.
        """
        return self.game.state.hand(self.position)

    @property
    def bid(self) -> int | None:
        """The tricks that were bid; None before."""
        return self.game.state.bids[self.position]

    @property
    def tricks_won(self) -> int:
        """Tricks taken in this round."""
        return self.game.state.tricks[self.position]

    @property
    def total_score(self) -> int:
        """Points of all rounds that are over."""
        return self.game.scores[self.position]

    def __repr__(self) -> str:
        return self.name


class BlobGame:
    """A table, and the round that is played there.

    >>> game = BlobGame(num_players=4)
    >>> game.setup_round(cards_to_deal=5, seed=1)
    >>> game.phase, game.current_player, game.get_legal_actions()
    ('bidding', Player 1, [0, 1, 2, 3, 4, 5])
    """

    def __init__(self, num_players: int = 4, **options: Any) -> None:
        """A table before its first round.

        :param options: other rules, as `sylvan.games.Blob` takes them: `hook`, `scoring`, ...
        """
        self.num_players = num_players
        self.options = options
        self.round = -1
        """Counted from 0; -1 before the first."""
        self._before = [0] * num_players
        self._state: Blob | None = None
        self._deal(1, seed=0)  # what does not fit together is refused now

    def setup_round(self, cards_to_deal: int, *, seed: int | None = None) -> None:
        """Deal the next round.

        :raises WrongPhase: one is under way.
        :raises ConfigError: there are not so many cards.
        """
        if self._state is not None and not self.is_over:
            raise WrongPhase("A round is under way: play it to its end, or take another BlobGame.")
        seed = int(np.random.randint(2**62)) if seed is None else seed
        scores = self.scores
        self.round += 1
        try:
            self._state = self._deal(cards_to_deal, seed)
        except ConfigError:
            self.round -= 1
            raise
        self._before = scores

    def _deal(self, cards: int, seed: int) -> Blob:
        place = max(self.round, 0)
        rules: dict[str, Any] = {"dealer": place % self.num_players, "trump": TRUMPS[place % 5]}
        rules |= self.options
        return Blob(self.num_players, cards, sequence="single", seed=seed, **rules)

    @property
    def state(self) -> Blob:
        """The round as the search takes it.

        :raises WrongPhase: there is none.
        """
        if self._state is None:
            raise WrongPhase("No round was dealt: call setup_round first.")
        return self._state

    @property
    def players(self) -> list[Player]:
        """Everyone at the table, by position."""
        return [Player(self, position) for position in range(self.num_players)]

    @property
    def dealer_position(self) -> int:
        """Who deals, and bids last."""
        return self.state.dealer

    @property
    def phase(self) -> str:
        """`bidding`, `playing` or `over`; `dealing` before the first round."""
        return "dealing" if self._state is None else self._state.phase

    @property
    def is_over(self) -> bool:
        """Whether the round has come to its end."""
        return self.state.is_terminal()

    @property
    def current_player(self) -> Player | None:
        """Whose turn it is; None when the round is over."""
        return None if self.is_over else Player(self, self.state.to_play())

    @property
    def scores(self) -> list[int]:
        """Points of all rounds that are over, by position."""
        last = self._state.last_points if self._state is not None and self.is_over else []
        return [a + b for a, b in zip(self._before, last or [0] * self.num_players, strict=True)]

    def returns(self) -> list[float]:
        """What the round paid each seat, as a share of the most that it can pay."""
        return list(self.state.returns())

    def get_legal_actions(self) -> list[int]:
        """Bids or cards that whose turn it is may choose from; nothing when the round is over."""
        return [self.from_code(code) for code in self.state.legal_actions()]

    def apply_action(self, action: int, player: Player) -> None:
        """A bid or a card of the player whose turn it is.

        :raises WrongPlayer: it is another's turn.
        :raises IllegalBid: the round does not have the bid, or the dealer must not make it.
        :raises IllegalCard: the card is not held, or does not follow suit.
        """
        if self.phase == "bidding":
            self.state.bid(player.position, action)
        else:
            self.state.play(player.position, action)

    def copy(self) -> BlobGame:
        """An independent copy."""
        other = BlobGame.__new__(BlobGame)
        other.__dict__.update(self.__dict__)
        other._before = list(self._before)
        other._state = None if self._state is None else self._state.clone()
        return other

    def observe(self, player: Player) -> BlobGame:
        """The game as a player sees it: the other hands are gone."""
        other = self.copy()
        other._state = self.state.observe(player.position)
        return other

    @property
    def sees_all(self) -> bool:
        """Whether every hand is open: nobody at a real table sees so much."""
        return self.state.viewer is None

    @staticmethod
    def from_code(code: int) -> int:
        """The bid or card of a code as networks and replay have it."""
        return code - FIRST_BID if code >= FIRST_BID else code

    def to_code(self, action: int) -> int:
        """The code of a bid or card: cards 0 to 51, bids from 52."""
        return FIRST_BID + action if self.phase == "bidding" else action
