"""A second, simple implementation of Blob, written from the rules, not from the core.

Hands are sets of (suit, rank), tricks lists; nothing is shared with `sylvan`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SPADES, HEARTS, CLUBS, DIAMONDS = range(4)


def rounds_of(players: int, cards: int) -> list[int]:
    down = list(range(cards, 1, -1))
    return down + [1] * players + down[::-1]


def took(trick: list[tuple[int, tuple[int, int]]], trump: int | None) -> int:
    """The seat that takes a full trick."""
    led = trick[0][1][0]
    trumps = [(rank, seat) for seat, (suit, rank) in trick if suit == trump]
    follows = [(rank, seat) for seat, (suit, rank) in trick if suit == led]
    return max(trumps or follows)[1]


@dataclass
class Twin:
    """A whole game with the default rules, dealt from outside."""

    players: int
    cards: int
    round: int = -1
    points: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rounds = rounds_of(self.players, self.cards)
        self.points = [0] * self.players

    def deal(self, hands: list[list[int]]) -> None:
        self.round += 1
        self.size = self.rounds[self.round]
        self.dealer = self.round % self.players
        self.trump = None if self.round % 5 == 4 else self.round % 5
        self.hands = [{divmod(card, 13) for card in hand} for hand in hands]
        self.bids: dict[int, int] = {}
        self.taken = [0] * self.players
        self.trick: list[tuple[int, tuple[int, int]]] = []
        self.turn = (self.dealer + 1) % self.players

    def legal(self) -> list[int]:
        if len(self.bids) < self.players:
            bids = set(range(self.size + 1))
            if len(self.bids) == self.players - 1:
                bids -= {self.size - sum(self.bids.values())}
            return [52 + bid for bid in sorted(bids)]
        hand = self.hands[self.turn]
        if self.trick:
            led = self.trick[0][1][0]
            hand = {card for card in hand if card[0] == led} or hand
        return sorted(suit * 13 + rank for suit, rank in hand)

    def apply(self, action: int) -> bool:
        """Whether the round is over."""
        if action >= 52:
            self.bids[self.turn] = action - 52
            self.turn = (self.turn + 1) % self.players
            return False
        card = divmod(action, 13)
        self.hands[self.turn].remove(card)
        self.trick.append((self.turn, card))
        self.turn = (self.turn + 1) % self.players
        if len(self.trick) < self.players:
            return False
        self.turn = took(self.trick, self.trump)
        self.taken[self.turn] += 1
        self.trick = []
        if any(self.hands):
            return False
        for seat in range(self.players):
            if self.taken[seat] == self.bids[seat]:
                self.points[seat] += 10 + self.bids[seat]
        return True
