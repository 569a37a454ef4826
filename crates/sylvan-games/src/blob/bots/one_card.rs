//! Exact bids in rounds of one card.
//!
//! With one card each there is nothing to play: who wins is settled by the deal, so a bid changes
//! nothing but its own points, and what a seat does not know are the others' cards. It knows their
//! bids. Seats bid in turn, so the game is solved from the first bidder on: who bids first has the
//! chances of the deck; each later seat knows, for every earlier one, the set of cards with which
//! that seat bids as it did, and bids
//!
//! ```text
//!     argmax over b of  p · points(b, 1) + (1 - p) · points(b, 0),   p = P(win | own card, bids)
//! ```
//!
//! Where all seats bid so, none can gain by bidding otherwise. p is a ratio of whole numbers: deals
//! in which every other card loses to the own one, of all deals that fit the bids.
//!
//! Utility: own points. Equal bids: the lower one. A bid that no card would make tells nothing.

use sylvan_core::{Action, MAX_SEATS};

use crate::blob::cards::{Card, Cards, NO_TRUMP, bit, each, of_suit, of_suits, suit};
use crate::blob::play::FIRST_BID;
use crate::blob::score::Scoring;
use crate::blob::state::{Blob, Phase};

/// The bid of the seat to move, and the chance that its card wins; `None` unless it is to bid on one
/// card, which it sees.
pub fn bid(state: &Blob) -> Option<(Action, f64)> {
    let hand = state.hands[usize::from(state.turn)];
    if state.cards != 1 || state.phase != Phase::Bidding || hand.count_ones() != 1 {
        return None;
    }
    let mut table = Bidding::new(state);
    let mut seat = state.after(state.dealer);
    while seat != state.turn {
        table.heard(state.bids[usize::from(seat)]);
        seat = state.after(seat);
    }
    let chance = table.chance(hand.trailing_zeros() as Card);
    let best = best_bid(&state.options.scoring, chance, state.bid_mask());
    Some((FIRST_BID + Action::from(best), chance))
}

fn best_bid(scoring: &Scoring, chance: f64, mask: u32) -> u8 {
    let worth = |bid: u8| {
        let [missed, won] = [0, 1].map(|tricks| f64::from(scoring.points(bid, tricks)));
        chance * won + (1.0 - chance) * missed
    };
    match mask & 3 {
        3 => u8::from(worth(1) > worth(0)),
        only => u8::from(only == 2),
    }
}

/// What the bids so far say.
struct Bidding {
    deck: Cards,
    trump: u8,
    players: usize,
    scoring: Scoring,
    /// The cards with which each seat that has bid, from the leader on, bids as it did.
    hands: [Cards; MAX_SEATS],
    heard: usize,
}

impl Bidding {
    fn new(state: &Blob) -> Self {
        let up = state.turned_up().map_or(0, bit);
        Self {
            deck: of_suits(state.all_suits()) & !up,
            trump: state.trump,
            players: state.num_players(),
            scoring: state.options.scoring,
            hands: [0; MAX_SEATS],
            heard: 0,
        }
    }

    /// The next seat has bid, which is not the last and so may bid as it likes.
    fn heard(&mut self, bid: u8) {
        let fits = |&card: &Card| best_bid(&self.scoring, self.chance(card), 3) == bid;
        let hands: Cards = each(self.deck).filter(fits).map(bit).sum();
        self.hands[self.heard] = hands;
        self.heard += 1;
        if ways(&self.hands[..self.heard]) == 0 {
            self.hands[self.heard - 1] = self.deck;
        }
    }

    /// The chance that a card of the next seat to bid wins.
    fn chance(&self, card: Card) -> f64 {
        let others = self.deck & !bit(card);
        let fit = self.deals(others, others);
        let own = of_suit(suit(card));
        let higher = own & !(bit(card) | (bit(card) - 1));
        let is_trump = self.trump != NO_TRUMP && suit(card) == self.trump;
        let ruffs = if is_trump || self.trump == NO_TRUMP {
            0
        } else {
            of_suit(self.trump)
        };
        let losing = others & !higher & !ruffs;
        // A card that is neither led nor a trump wins nothing unless its suit is led.
        let led = if self.heard == 0 || is_trump {
            losing
        } else {
            losing & own
        };
        if fit == 0 {
            0.0
        } else {
            self.deals(led, losing) as f64 / fit as f64
        }
    }

    /// Deals to the other seats that fit the bids, the leader's card from `first`, others from
    /// `rest`, of which `first` is a part.
    fn deals(&self, first: Cards, rest: Cards) -> u64 {
        let mut hands = self.hands;
        for (place, hand) in hands[..self.heard].iter_mut().enumerate() {
            *hand &= if place == 0 { first } else { rest };
        }
        let mut deals = ways(&hands[..self.heard]);
        let left = u64::from(rest.count_ones());
        for dealt in self.heard..self.players - 1 {
            deals *= left.saturating_sub(dealt as u64);
        }
        deals
    }
}

/// The ways to take a card from each set, no card twice.
fn ways(sets: &[Cards]) -> u64 {
    let mut counts = [0; 1 << MAX_SEATS];
    let all = (1 << sets.len()) - 1;
    counts[0] = 1;
    for card in each(sets.iter().fold(0, |all, set| all | set)) {
        for served in (0..=all).rev() {
            for (place, set) in sets.iter().enumerate() {
                if served >> place & 1 == 1 && set & bit(card) != 0 {
                    counts[served] += counts[served & !(1 << place)];
                }
            }
        }
    }
    counts[all]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_counted() {
        assert_eq!(ways(&[]), 1);
        assert_eq!(ways(&[0b111]), 3);
        assert_eq!(ways(&[0b111, 0b111]), 6);
        assert_eq!(ways(&[0b011, 0b110, 0b100]), 1);
        assert_eq!(ways(&[0b1, 0b1]), 0);
    }
}
