//! Deals weighted by what the others have done: a seat that bid three hardly holds nothing.
//!
//! Deals that fit a view are equally likely until bids and plays are read for what they mean. With a
//! policy π as the model of the other seats, a deal's weight is the chance that they would have done
//! what they did:
//!
//! ```text
//! w(deal) = Π_t  (1 - noise) · [π(state_t) = action_t] + noise / legal actions_t
//! ```
//!
//! over the moves of the other seats in this round, replayed in that deal. The noise is a floor: no
//! deal that fits is ruled out by a model that may be wrong. `draw` takes several candidates per
//! deal, uniformly, and keeps some of them by systematic resampling: one random offset, then equal
//! steps through the sum of weights, which keeps each in proportion with the least variance.

use sylvan_core::{Action, Rng, Seat};

use super::counter::{self, Temper};
use crate::blob::BlobError;
use crate::blob::cards::bit;
use crate::blob::play::FIRST_BID;
use crate::blob::state::{Blob, Phase};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Candidates per deal that is kept; 1 keeps all, so that deals are uniform.
    pub candidates: u32,
    /// How often a seat bids, and plays, as if at random.
    pub bid_noise: f64,
    pub play_noise: f64,
}

impl Belief {
    /// All deals that fit are equally likely.
    pub const UNIFORM: Self = Self {
        candidates: 1,
        bid_noise: 1.0,
        play_noise: 1.0,
    };
    /// Deals are weighed by the others' bids. Their plays add nothing that could be measured.
    pub const WEIGHTED: Self = Self {
        candidates: 4,
        bid_noise: 0.1,
        play_noise: 1.0,
    };

    /// `count` deals that fit a view, in proportion to their weights.
    pub fn draw(
        &self,
        view: &Blob,
        count: u32,
        temper: &Temper,
        rng: &mut Rng,
    ) -> Result<Vec<Blob>, BlobError> {
        let others_moved = view.bids_made > 0;
        let each = if others_moved { self.candidates } else { 1 };
        let mut deals = Vec::with_capacity((count * each) as usize);
        for _ in 0..count * each {
            let mut deal = *view;
            deal.complete(rng)?;
            deals.push(deal);
        }
        if each <= 1 {
            return Ok(deals);
        }
        let viewer = view.viewer().unwrap_or(view.to_play());
        let weights: Vec<f64> = deals
            .iter()
            .map(|deal| self.weight(deal, viewer, temper))
            .collect();
        let kept = resample(&weights, count as usize, rng.uniform());
        Ok(kept.into_iter().map(|place| deals[place]).collect())
    }

    /// The chance that the seats other than `viewer` would have done what they did in this deal.
    pub fn weight(&self, deal: &Blob, viewer: Seat, temper: &Temper) -> f64 {
        let mut weight = 1.0;
        replay(deal, |state, action| {
            if state.turn == viewer {
                return;
            }
            let noise = match state.phase {
                Phase::Bidding => self.bid_noise,
                _ => self.play_noise,
            };
            let mut legal = 0;
            state.for_each_legal(|_| legal += 1);
            if legal > 1 && noise < 1.0 {
                let chosen = counter::choose(state, temper) == action;
                weight *= (1.0 - noise) * f64::from(u8::from(chosen)) + noise / f64::from(legal);
            }
        });
        weight
    }
}

/// Calls `visit` with every state of the round so far, from its deal on, and what was done there.
pub fn replay(deal: &Blob, mut visit: impl FnMut(&Blob, Action)) {
    let mut state = *deal;
    state.begin_round(deal.round);
    state.hands = deal.hands;
    for (seat, card) in deal.plays() {
        state.hands[usize::from(seat)] |= bit(card);
    }
    (state.trump, state.turned_up, state.dealt) = (deal.trump, deal.turned_up, deal.dealt);
    state.phase = Phase::Bidding;
    for _ in 0..deal.bids_made {
        let action = FIRST_BID + Action::from(deal.bids[usize::from(state.turn)]);
        visit(&state, action);
        state.take(action);
    }
    for &card in deal.fallen() {
        visit(&state, Action::from(card));
        state.take(Action::from(card));
    }
}

/// Systematic resampling: `count` places in proportion to their weights; `offset` in 0..1.
fn resample(weights: &[f64], count: usize, offset: f64) -> Vec<usize> {
    let total: f64 = weights.iter().sum();
    let step = total / count as f64;
    let (mut place, mut sum) = (0, weights[0]);
    let mut kept = Vec::with_capacity(count);
    for i in 0..count {
        let target = (i as f64 + offset) * step;
        while sum <= target && place + 1 < weights.len() {
            place += 1;
            sum += weights[place];
        }
        kept.push(place);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resampling_is_in_proportion() {
        assert_eq!(resample(&[1.0, 1.0, 2.0], 4, 0.5), [0, 1, 2, 2]);
        assert_eq!(resample(&[0.0, 3.0, 0.0], 2, 0.0), [1, 1]);
        let mut counts = [0; 3];
        for i in 0..1000 {
            for place in resample(&[0.2, 0.5, 0.3], 1, f64::from(i) / 1000.0) {
                counts[place] += 1;
            }
        }
        assert_eq!(counts, [200, 500, 300]);
    }
}
