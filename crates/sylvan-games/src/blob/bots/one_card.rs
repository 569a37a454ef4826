//! Exact bids in rounds of one card.
//!
//! With one card each, the deal determines the winner, so a bid changes only the bidder's own
//! points. A seat does not know the other cards, but it knows the earlier bids. Seats bid in turn,
//! so the game can be solved from the first bidder: it has the probabilities of the deck. Each
//! later seat knows, for every earlier one, the set of cards that lead to its bid, and bids
//!
//! ```text
//!     argmax over b of  p · points(b, 1) + (1 - p) · points(b, 0),   p = P(win | own card, bids)
//! ```
//!
//! If all seats bid like this, none can gain by another bid. p is a ratio of integers: the deals in
//! which every other card loses to the own one, over all deals consistent with the bids.
//!
//! Utility: own points. Ties go to the lower bid. A bid that no card would make is ignored.

use sylvan_core::{Action, MAX_SEATS};

use crate::blob::cards::{Card, Cards, NO_TRUMP, bit, each, of_suit, of_suits, suit};
use crate::blob::play::FIRST_BID;
use crate::blob::score::Scoring;
use crate::blob::state::{Blob, Phase};

/// The bid of the seat to move, and the probability that its card wins; `None` unless it must bid
/// on one visible card.
pub fn bid(state: &Blob) -> Option<(Action, f64)> {
    let hand = state.hands[usize::from(state.turn)];
    if state.cards != 1 || state.phase != Phase::Bidding || hand.count_ones() != 1 {
        return None;
    }
    let mut table = Bidding::new(state);
    let mut seat = state.after(state.dealer);
    while seat != state.turn {
        table.add_bid(state.bids[usize::from(seat)]);
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

/// The information of the bids so far.
struct Bidding {
    deck: Cards,
    trump: u8,
    players: usize,
    scoring: Scoring,
    /// The cards that lead to the bid of each seat that has bid, starting with the leader.
    hands: [Cards; MAX_SEATS],
    num_bids: usize,
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
            num_bids: 0,
        }
    }

    /// Adds the bid of the next seat; it is not the last, so every bid was legal.
    fn add_bid(&mut self, bid: u8) {
        let fits = |&card: &Card| best_bid(&self.scoring, self.chance(card), 3) == bid;
        let hands: Cards = each(self.deck).filter(fits).map(bit).sum();
        self.hands[self.num_bids] = hands;
        self.num_bids += 1;
        if ways(&self.hands[..self.num_bids]) == 0 {
            self.hands[self.num_bids - 1] = self.deck;
        }
    }

    /// The probability that a card of the next seat to bid wins.
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
        // A side card that is not led wins only if its suit is led.
        let led = if self.num_bids == 0 || is_trump {
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

    /// The number of deals to the other seats consistent with the bids, with the leader's card from
    /// `first` and the others from `rest`; `first` is a subset of `rest`.
    fn deals(&self, first: Cards, rest: Cards) -> u64 {
        let mut hands = self.hands;
        for (index, hand) in hands[..self.num_bids].iter_mut().enumerate() {
            *hand &= if index == 0 { first } else { rest };
        }
        let mut deals = ways(&hands[..self.num_bids]);
        let left = u64::from(rest.count_ones());
        for dealt in self.num_bids..self.players - 1 {
            deals *= left.saturating_sub(dealt as u64);
        }
        deals
    }
}

/// The number of ways to take one card from each set, no card twice.
fn ways(sets: &[Cards]) -> u64 {
    let mut counts = [0; 1 << MAX_SEATS];
    let all = (1 << sets.len()) - 1;
    counts[0] = 1;
    for card in each(sets.iter().fold(0, |all, set| all | set)) {
        for served in (0..=all).rev() {
            for (index, set) in sets.iter().enumerate() {
                if served >> index & 1 == 1 && set & bit(card) != 0 {
                    counts[served] += counts[served & !(1 << index)];
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
    fn ways_by_hand() {
        assert_eq!(ways(&[]), 1);
        assert_eq!(ways(&[0b111]), 3);
        assert_eq!(ways(&[0b111, 0b111]), 6);
        assert_eq!(ways(&[0b011, 0b110, 0b100]), 1);
        assert_eq!(ways(&[0b1, 0b1]), 0);
    }
}
