//! Who holds what: the chances that a hidden card lies with a seat, by suit.
//!
//! Unseen cards of a suit are alike before bids and plays are read, so the chance that a seat holds
//! one of them is its expected number of them over their number. Those expected numbers form a table
//! of holders (the other seats and the undealt stock) by suits, with known sums of rows (hand sizes)
//! and columns (unseen cards of the suit) and zeros at voids; iterative proportional fitting scales
//! rows and columns in turn until both sums fit. Without voids the first table fits already.

use sylvan_core::{MAX_SEATS, Seat};

use crate::blob::cards::{Cards, bit, of_suit};
use crate::blob::state::Blob;

/// Rounds of fitting; the sums are then right to a few percent at worst.
const ROUNDS: usize = 4;

/// What the seat to move can reckon of the others' hands.
pub struct Odds {
    /// Cards that the seat has not seen.
    pub unseen: Cards,
    /// By seat and suit: the chance that the seat holds a given unseen card of the suit.
    pub holds: [[f32; 4]; MAX_SEATS],
    /// By seat and suit: the chance that the seat holds none of the suit.
    pub lacks: [[f32; 4]; MAX_SEATS],
}

impl Odds {
    pub fn of(state: &Blob) -> Self {
        let own = state.turn;
        let up = state.turned_up().map_or(0, bit);
        let seen = state.hands[usize::from(own)] | state.gone | up;
        let unseen = state.options.deck() & !seen;
        let counts: [f32; 4] =
            std::array::from_fn(|s| (unseen & of_suit(s as u8)).count_ones() as f32);
        let mut holds = expected(state, own, &counts);
        let mut lacks = [[0.0; 4]; MAX_SEATS];
        for seat in 0..state.num_players() {
            for s in 0..4 {
                holds[seat][s] = if counts[s] > 0.0 {
                    holds[seat][s] / counts[s]
                } else {
                    0.0
                };
                lacks[seat][s] = power(1.0 - holds[seat][s], counts[s] as u32);
            }
        }
        Self {
            unseen,
            holds,
            lacks,
        }
    }

    /// The chance that a seat holds at least one of `count` given unseen cards of a suit.
    #[inline]
    pub fn any_of(&self, seat: Seat, suit: u8, count: u32) -> f32 {
        1.0 - power(
            1.0 - self.holds[usize::from(seat)][usize::from(suit)],
            count,
        )
    }
}

/// Expected cards by seat and suit.
fn expected(state: &Blob, own: Seat, counts: &[f32; 4]) -> [[f32; 4]; MAX_SEATS] {
    let n = state.num_players();
    let total: f32 = counts.iter().sum();
    let mut sizes = [0.0; MAX_SEATS];
    let mut voids = 0;
    for seat in (0..n).filter(|&seat| seat != usize::from(own)) {
        sizes[seat] = f32::from(state.hand_size(seat as Seat));
        voids |= state.voids[seat];
    }
    let share = 1.0 / total.max(1.0);
    let mut table: [[f32; 4]; MAX_SEATS] =
        std::array::from_fn(|seat| counts.map(|count| count * sizes[seat] * share));
    if voids == 0 {
        return table;
    }
    let dealt: f32 = sizes.iter().sum();
    let rest = (total - dealt).max(0.0);
    let mut stock = counts.map(|count| count * rest * share);
    for (row, voids) in table.iter_mut().zip(state.voids) {
        for (s, cell) in row.iter_mut().enumerate() {
            *cell *= f32::from(u8::from(voids >> s & 1 == 0));
        }
    }
    for _ in 0..ROUNDS {
        let rows = table[..n].iter_mut().zip(sizes).chain([(&mut stock, rest)]);
        for (row, size) in rows {
            let sum: f32 = row.iter().sum();
            let factor = if sum > 0.0 { size / sum } else { 0.0 };
            row.iter_mut().for_each(|cell| *cell *= factor);
        }
        for s in 0..4 {
            let sum = table[..n].iter().map(|row| row[s]).sum::<f32>() + stock[s];
            let factor = if sum > 0.0 { counts[s] / sum } else { 0.0 };
            table[..n].iter_mut().for_each(|row| row[s] *= factor);
            stock[s] *= factor;
        }
    }
    table
}

#[inline]
pub fn power(base: f32, exponent: u32) -> f32 {
    (0..exponent).fold(1.0, |product, _| product * base)
}
