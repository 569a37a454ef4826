//! The probabilities that a seat holds hidden cards, by suit.
//!
//! Apart from the evidence of bids and plays, unseen cards of a suit are equivalent, so the
//! probability that a seat holds one of them is its expected number of them over their number. The
//! expected numbers form a table of holders (the other seats and the undealt stock) by suits, with
//! known row sums (hand sizes) and column sums (unseen cards of the suit) and zeros at voids;
//! iterative proportional fitting scales rows and columns in turn until both sums fit. Without
//! voids every holder has its share of all suits.
//!
//! All seats are computed at once, one lane each; the lane of the own seat is used for the stock.

use sylvan_core::{MAX_SEATS, Seat};

use crate::blob::cards::{Cards, bit, of_suit};
use crate::blob::state::Blob;

/// A number for each seat.
pub type Lanes = [f32; MAX_SEATS];

/// Iterations of fitting; the sums are then correct to a few percent at worst.
const ROUNDS: usize = 4;

/// The probabilities of the other hands, for the seat to move.
pub struct Odds {
    /// Cards unseen by the seat to move.
    pub unseen: Cards,
    counts: [usize; 4],
    /// By suit and number: the probability that a seat holds none of this many given unseen cards.
    none_of: [[Lanes; 14]; 4],
}

impl Odds {
    pub fn of(state: &Blob) -> Self {
        let own = state.turn;
        let up = state.turned_up().map_or(0, bit);
        let seen = state.hands[usize::from(own)] | state.gone | up;
        let unseen = state.options.deck() & !seen;
        let counts = std::array::from_fn(|s| (unseen & of_suit(s as u8)).count_ones() as usize);
        let holds = holds(state, own, &counts);
        let mut none_of = [[[1.0; MAX_SEATS]; 14]; 4];
        for suit in 0..4 {
            for number in 0..counts[suit] {
                for seat in 0..MAX_SEATS {
                    none_of[suit][number + 1][seat] =
                        none_of[suit][number][seat] * (1.0 - holds[suit][seat]);
                }
            }
        }
        Self {
            unseen,
            counts,
            none_of,
        }
    }

    /// The probabilities that seats hold none of `count` given unseen cards of a suit.
    #[inline]
    pub fn none_of(&self, suit: u8, count: u32) -> &Lanes {
        &self.none_of[usize::from(suit)][count as usize]
    }

    /// The probabilities that seats are void in a suit.
    #[inline]
    pub fn lacks(&self, suit: u8) -> &Lanes {
        let suit = usize::from(suit);
        &self.none_of[suit][self.counts[suit]]
    }
}

/// By suit and seat: the probability that the seat holds a given unseen card of the suit.
fn holds(state: &Blob, own: Seat, counts: &[usize; 4]) -> [Lanes; 4] {
    let own = usize::from(own);
    let total = counts.iter().sum::<usize>().max(1) as f32;
    let mut sizes = [0.0; MAX_SEATS];
    let mut voids = 0;
    for seat in (0..state.num_players()).filter(|&seat| seat != own) {
        sizes[seat] = f32::from(state.hand_size(seat as Seat));
        voids |= state.voids[seat];
    }
    if voids == 0 {
        return [sizes.map(|size| size / total); 4];
    }
    sizes[own] = (total - sizes.iter().sum::<f32>()).max(0.0);
    let mut table: [Lanes; 4] = std::array::from_fn(|suit| {
        std::array::from_fn(|seat| {
            let void = seat != own && state.voids[seat] >> suit & 1 == 1;
            if void {
                0.0
            } else {
                counts[suit] as f32 * sizes[seat] / total
            }
        })
    });
    for _ in 0..ROUNDS {
        fit(&mut table, &sizes, counts);
    }
    for (row, &count) in table.iter_mut().zip(counts) {
        let one = 1.0 / count.max(1) as f32;
        row.iter_mut().for_each(|cell| *cell *= one);
        row[own] = 0.0;
    }
    table
}

/// Scales the table to the hand sizes, then to the numbers of unseen cards per suit.
#[inline]
fn fit(table: &mut [Lanes; 4], sizes: &Lanes, counts: &[usize; 4]) {
    let mut factors = [0.0; MAX_SEATS];
    for seat in 0..MAX_SEATS {
        let sum = table[0][seat] + table[1][seat] + table[2][seat] + table[3][seat];
        factors[seat] = sizes[seat] / sum.max(1e-9);
    }
    for (row, &count) in table.iter_mut().zip(counts) {
        let mut sum = 0.0;
        for seat in 0..MAX_SEATS {
            row[seat] *= factors[seat];
            sum += row[seat];
        }
        let factor = count as f32 / sum.max(1e-9);
        row.iter_mut().for_each(|cell| *cell *= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::bots::Bot;
    use crate::blob::cards::{each, suit};
    use crate::blob::options::{Options, Sequence};
    use crate::blob::state::Phase;

    /// Compares with the frequencies in sampled deals, in rounds with voids.
    #[test]
    fn odds_match_sampled_deals() {
        let (mut error, mut cells) = (0.0, 0.0);
        for seed in 0..60 {
            let options = Options::new(4, Sequence::list(&[6]).unwrap());
            let mut state = Blob::new(options, Some(seed)).unwrap();
            let mut rng = sylvan_core::Rng::new(seed, 1);
            for _ in 0..4 + 9 + seed % 5 {
                let action = Bot::Random.choose(&state, &mut rng);
                state.take(action);
            }
            assert_eq!(state.phase(), Phase::Playing);
            let (odds, view) = (Odds::of(&state), state.view(state.turn).unwrap());
            let mut shares = [[0.0; 52]; 4];
            for _ in 0..400 {
                let mut deal = view;
                deal.complete(&mut rng).unwrap();
                for (shares, hand) in shares.iter_mut().zip(deal.hands) {
                    each(hand).for_each(|card| shares[usize::from(card)] += 1.0 / 400.0);
                }
            }
            for seat in (0..4).filter(|&seat| seat != usize::from(state.turn)) {
                for card in each(odds.unseen) {
                    let held = 1.0 - odds.none_of(suit(card), 1)[seat];
                    error += (held - shares[seat][usize::from(card)]).abs();
                    cells += 1.0;
                }
            }
        }
        assert!(error / cells < 0.02, "{}", error / cells);
    }
}
