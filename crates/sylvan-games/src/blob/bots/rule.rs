//! The rule bot: bids by the values of single cards, and plays by card strength.
//!
//! *Bid*: the rounded sum of card values: trumps A 1, K 0.85, Q 0.65, J 0.45, lower 0.25; side
//! suits A 0.8, K 0.45 (0.2 in a suit of more than four), Q 0.15 (0.05 in a suit of more than
//! three); 0.4 for each void side suit with two trumps or more. It takes the nearest legal bid, the
//! lower one on ties.
//!
//! *Play*, while below the bid: lead the strongest card; follow with the strongest winning card
//! (the weakest winning card if last); otherwise discard the weakest. With the bid met: lead the
//! weakest; follow with the strongest losing card; if all win, play the strongest if last,
//! otherwise the weakest. Trumps are stronger than all other cards.
//!
//! The bot that wins every trick it can bids the same and plays as if it were always below its bid.

use sylvan_core::Action;

use crate::blob::cards::{Card, Cards, each, of_suit, rank, suit};
use crate::blob::play::FIRST_BID;
use crate::blob::state::Blob;

const JACK: u8 = 9;
const QUEEN: u8 = 10;
const KING: u8 = 11;
const ACE: u8 = 12;

/// The bid for the hand of the seat to move.
pub fn bid(state: &Blob) -> Action {
    let hand = state.hands[usize::from(state.turn)];
    let worth = tricks_worth(hand, state.trump, state.all_suits());
    nearest_bid(state, worth.round() as i32)
}

/// The nearest legal bid, the lower one on ties.
pub fn nearest_bid(state: &Blob, wanted: i32) -> Action {
    let mask = state.bid_mask();
    let bids = (0..=i32::from(state.cards)).filter(|&bid| mask >> bid & 1 == 1);
    let best = bids.min_by_key(|&bid| ((bid - wanted).abs(), bid));
    FIRST_BID + best.unwrap_or_default() as Action
}

fn tricks_worth(hand: Cards, trump: u8, suits: u8) -> f64 {
    let trumps = (hand & of_suit(trump)).count_ones();
    let mut worth = 0.0;
    for card in each(hand) {
        let long = (hand & of_suit(suit(card))).count_ones();
        worth += match (suit(card) == trump, rank(card)) {
            (true, ACE) => 1.0,
            (true, KING) => 0.85,
            (true, QUEEN) => 0.65,
            (true, JACK) => 0.45,
            (true, _) => 0.25,
            (false, ACE) => 0.8,
            (false, KING) if long > 4 => 0.2,
            (false, KING) => 0.45,
            (false, QUEEN) if long > 3 => 0.05,
            (false, QUEEN) => 0.15,
            (false, _) => 0.0,
        };
    }
    if trumps >= 2 {
        let side = (0..4).filter(|&suit| suits >> suit & 1 == 1 && suit != trump);
        worth += 0.4 * side.filter(|&suit| hand & of_suit(suit) == 0).count() as f64;
    }
    worth
}

/// The card that the seat to move plays.
pub fn play(state: &Blob, always_short: bool) -> Card {
    let seat = usize::from(state.turn);
    let short = always_short || state.tricks[seat] < state.bids[seat];
    let legal = state.playable_from(state.hands[seat]);
    let strength = |card: &Card| (suit(*card) == state.trump, rank(*card), *card);
    let strongest = |cards: Cards| each(cards).max_by_key(strength);
    let weakest = |cards: Cards| each(cards).min_by_key(strength);
    if state.in_trick == 0 {
        let card = if short {
            strongest(legal)
        } else {
            weakest(legal)
        };
        return card.unwrap_or_default();
    }
    let last = state.in_trick + 1 == state.options.players;
    let winners = each(legal)
        .filter(|&card| state.beats(card))
        .fold(0, |all, card| all | 1 << card);
    let card = match (short, winners, legal & !winners) {
        (true, 0, _) => weakest(legal),
        (true, _, _) if last => weakest(winners),
        (true, _, _) => strongest(winners),
        (false, _, 0) if last => strongest(legal),
        (false, _, 0) => weakest(legal),
        (false, _, losers) => strongest(losers),
    };
    card.unwrap_or_default()
}
