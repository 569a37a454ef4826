"""`BlobGame` and its players, as the document `blob-mcts-node` uses them.

    game = BlobGame(num_players=4)
    game.setup_round(cards_to_deal=5)
    player = game.current_player
    game.apply_action(game.get_legal_actions()[0], player)

This is `sylvan.games.Blob`, round by round, with the document's names and codes. An action is a bid
from 0 to 13 in the bidding, and a card from 0 to 51 in the play (`suit * 13 + rank`; suits ♠ ♥ ♣ ♦,
ranks 2 to ace). Networks and replay need different codes for the two: there bids are 52 to 65
(`to_code`, `from_code`).

Seat 0 deals the first round, so seat 1 bids first; the next seat deals the next round. Trump
changes by round: ♠ ♥ ♣ ♦, none. Without a seed, `setup_round` deals from NumPy's global generator.
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
    """A seat at a table; players of copies of a game are equal."""

    game: BlobGame = field(compare=False)
    position: int

    @property
    def name(self) -> str:
        """A name to show."""
        return f"Player {self.position}"

    @property
    def hand(self) -> list[int]:
        """The codes of its cards.

        :raises HiddenCards: the game is another seat's view.
        """
        return self.game.state.hand(self.position)

    @property
    def bid(self) -> int | None:
        """The number of tricks bid; None before the bid."""
        return self.game.state.bids[self.position]

    @property
    def tricks_won(self) -> int:
        """Tricks won in this round."""
        return self.game.state.tricks[self.position]

    @property
    def total_score(self) -> int:
        """Points of all finished rounds."""
        return self.game.scores[self.position]

    def __repr__(self) -> str:
        return self.name


class BlobGame:
    """A table and its current round.

    >>> game = BlobGame(num_players=4)
    >>> game.setup_round(cards_to_deal=5, seed=1)
    >>> game.phase, game.current_player, game.get_legal_actions()
    ('bidding', Player 1, [0, 1, 2, 3, 4, 5])
    """

    def __init__(self, num_players: int = 4, **options: Any) -> None:
        """Create a table before its first round.

        :param options: other rules of `sylvan.games.Blob`: `hook`, `scoring`, ...
        """
        self.num_players = num_players
        self.options = options
        self.round = -1
        """Counted from 0; -1 before the first."""
        self._before = [0] * num_players
        self._state: Blob | None = None
        self._deal(1, seed=0)  # refuse wrong options now

    def setup_round(self, cards_to_deal: int, *, seed: int | None = None) -> None:
        """Deal the next round.

        :raises WrongPhase: the round before is not finished.
        :raises ConfigError: there are not enough cards.
        """
        if self._state is not None and not self.is_over:
            raise WrongPhase("A round is under way: play it to its end, or make another BlobGame.")
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
        index = max(self.round, 0)
        rules: dict[str, Any] = {"dealer": index % self.num_players, "trump": TRUMPS[index % 5]}
        rules |= self.options
        return Blob(self.num_players, cards, sequence="single", seed=seed, **rules)

    @property
    def state(self) -> Blob:
        """The round as a `sylvan.games.Blob`, for searches.

        :raises WrongPhase: there is none.
        """
        if self._state is None:
            raise WrongPhase("No round was dealt: call setup_round first.")
        return self._state

    @property
    def players(self) -> list[Player]:
        """All players, by position."""
        return [Player(self, position) for position in range(self.num_players)]

    @property
    def dealer_position(self) -> int:
        """The position of the dealer, who bids last."""
        return self.state.dealer

    @property
    def phase(self) -> str:
        """`bidding`, `playing` or `over`; `dealing` before the first round."""
        return "dealing" if self._state is None else self._state.phase

    @property
    def is_over(self) -> bool:
        """Whether the round is over."""
        return self.state.is_terminal()

    @property
    def current_player(self) -> Player | None:
        """The player to move; None when the round is over."""
        return None if self.is_over else Player(self, self.state.to_play())

    @property
    def scores(self) -> list[int]:
        """Points of all finished rounds, by position."""
        last = self._state.last_points if self._state is not None and self.is_over else []
        return [a + b for a, b in zip(self._before, last or [0] * self.num_players, strict=True)]

    def returns(self) -> list[float]:
        """Each seat's points in this round, divided by the round's maximum."""
        return list(self.state.returns())

    def get_legal_actions(self) -> list[int]:
        """The legal bids or cards of the player to move; empty when the round is over."""
        return [self.from_code(code) for code in self.state.legal_actions()]

    def apply_action(self, action: int, player: Player) -> None:
        """Bid or play a card for the player whose turn it is.

        :raises WrongPlayer: it is another player's turn.
        :raises IllegalBid: the bid is out of range, or forbidden to the dealer.
        :raises IllegalCard: the player does not hold the card, or must follow suit.
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
        """A copy with what a player sees: without the other hands."""
        other = self.copy()
        other._state = self.state.observe(player.position)
        return other

    @property
    def sees_all(self) -> bool:
        """Whether all hands are visible; a player's view has one."""
        return self.state.viewer is None

    @staticmethod
    def from_code(code: int) -> int:
        """The bid or card of a code of networks and replay."""
        return code - FIRST_BID if code >= FIRST_BID else code

    def to_code(self, action: int) -> int:
        """The code of a bid or card for networks and replay: cards 0 to 51, bids from 52."""
        return FIRST_BID + action if self.phase == "bidding" else action
