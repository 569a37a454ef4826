"""Where the observation of a card game shows each suit, for networks that treat all suits alike.

Renaming suits permutes the groups of cells in `by_suit`, and changes no other cell.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SuitLayout", "layout_of"]


@dataclass(frozen=True)
class SuitLayout:
    """The layout of an observation; actions are the cards, then all others (bids)."""

    suits: int
    ranks: int
    seats: int
    """The most seats; the observation has empty cells for absent ones."""
    others: int
    """Actions that are no cards."""
    by_suit: tuple[tuple[int, ...], ...]
    """The cells of each suit, in the same order for all."""
    table: tuple[int, ...]
    """All other cells."""

    @property
    def size(self) -> int:
        """The numbers of an observation."""
        return self.suits * len(self.by_suit[0]) + len(self.table)

    @property
    def cards(self) -> int:
        """The cards of the deck; card `ranks * suit + rank`."""
        return self.suits * self.ranks


def layout_of(observation_shape: tuple[int, ...]) -> SuitLayout | None:
    """The layout of observations of this shape; None if they are not those of a card game.

    >>> layout_of((1338,)).by_suit[1][:3]  # the first cards of the second suit in the own hand
    (13, 14, 15)
    >>> layout_of((1337,)) is None
    True
    """
    return next((each for each in LAYOUTS if observation_shape == (each.size,)), None)


def _blob() -> SuitLayout:
    """Blob's layout; `crates/sylvan-games/src/blob/encoding.rs` writes the observation."""
    seats, suits, ranks, bids = 8, 4, 13, 14
    cards = suits * ranks
    head, block = 3 * cards + 5 + 4 + 2 + 3 * bids + 9, 2 * cards + 2 * bids + 4 + 4
    by_suit: list[list[int]] = [[] for _ in range(suits)]

    def add_cards(begin: int) -> None:
        for suit, own in enumerate(by_suit):
            own += range(begin + ranks * suit, begin + ranks * (suit + 1))

    def add_flags(begin: int) -> None:
        for suit, own in enumerate(by_suit):
            own.append(begin + suit)

    for begin in (0, cards, 2 * cards):  # own hand, unseen, turned up
        add_cards(begin)
    add_flags(3 * cards)  # trump; the fifth cell means no trump
    add_flags(3 * cards + 5)  # led
    for seat in range(seats):
        begin = head + seat * block
        add_cards(begin)  # played before
        add_cards(begin + cards)  # in the trick
        add_flags(begin + 2 * cards + 2 * bids)  # has no card of it
    used = {cell for own in by_suit for cell in own}
    table = tuple(cell for cell in range(head + seats * block) if cell not in used)
    return SuitLayout(suits, ranks, seats, bids, tuple(map(tuple, by_suit)), table)


LAYOUTS = (_blob(),)
"""The layouts of all card games; their sizes differ."""
