//! Cards and sets of cards.
//!
//! A card is `suit · 13 + rank`: suits ♠0 ♥1 ♣2 ♦3, ranks 2 = 0 … ace = 12. A set is a `u64` with
//! one bit per card, so a suit is 13 consecutive bits and a higher card of a suit is a higher bit.

pub type Card = u8;
/// A set of cards, bit `c` for card `c`.
pub type Cards = u64;

pub const RANKS: u8 = 13;
pub const SUITS: u8 = 4;
/// Marks a missing card.
pub const NO_CARD: Card = 255;
/// Marks a round without trump.
pub const NO_TRUMP: u8 = 4;

#[inline]
pub const fn suit(card: Card) -> u8 {
    // Division by 13, exact for numbers below 64.
    ((card as u16 * 79) >> 10) as u8
}

#[inline]
pub const fn rank(card: Card) -> u8 {
    card - suit(card) * RANKS
}

#[inline]
pub const fn card(suit: u8, rank: u8) -> Card {
    suit * RANKS + rank
}

/// All cards of a suit; none for `NO_TRUMP`.
#[inline]
pub const fn of_suit(suit: u8) -> Cards {
    if suit < SUITS {
        0x1fff << (suit * RANKS)
    } else {
        0
    }
}

#[inline]
pub const fn bit(card: Card) -> Cards {
    1 << card
}

/// All cards of the suits whose bits are set in `suits`.
#[inline]
pub const fn of_suits(suits: u8) -> Cards {
    let mut cards = 0;
    let mut suit = 0;
    while suit < SUITS {
        if suits >> suit & 1 == 1 {
            cards |= of_suit(suit);
        }
        suit += 1;
    }
    cards
}

/// The cards of a set, in rising order.
#[inline]
pub fn each(mut cards: Cards) -> impl Iterator<Item = Card> {
    std::iter::from_fn(move || {
        if cards == 0 {
            return None;
        }
        let card = cards.trailing_zeros() as Card;
        cards &= cards - 1;
        Some(card)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_round_trip_through_suit_and_rank() {
        for code in 0..52 {
            assert_eq!((suit(code), rank(code)), (code / 13, code % 13));
            assert_eq!(card(suit(code), rank(code)), code);
            assert_ne!(of_suit(suit(code)) & bit(code), 0);
        }
        assert_eq!(of_suit(NO_TRUMP), 0);
        assert_eq!(of_suits(0b1010), of_suit(1) | of_suit(3));
        assert_eq!(each(0b1011).collect::<Vec<_>>(), [0, 1, 3]);
    }
}
