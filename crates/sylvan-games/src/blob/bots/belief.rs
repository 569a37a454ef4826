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
//! deal that fits is ruled out by a model that may be wrong. Several candidates are drawn uniformly
//! for each deal that is kept.
//!
//! `draw` keeps many at once by systematic resampling: one random offset, then equal steps through
//! the sum of weights, which keeps each in proportion with the least variance.
//!
//! `pick` keeps one, for a search that deals anew for each simulation: by rejection, a candidate is
//! taken with the chance `w / bound`. If none of them is, the one whose `e / w` is least, with `e`
//! exponentially distributed, which is each in proportion to its weight. Weights only fall while
//! moves are replayed, so a candidate is given up as soon as neither can come to pass, mostly at the
//! first bid that its seat would not have made.

use std::ops::ControlFlow;

use sylvan_core::numbers::ln;
use sylvan_core::{Action, Rng, Seat};

use super::counter::{self, Temper};
use crate::blob::BlobError;
use crate::blob::cards::bit;
use crate::blob::play::FIRST_BID;
use crate::blob::state::{Blob, NO_BID, Phase};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Candidates, or at most so many, per deal that is kept; 1 keeps all, so that deals are uniform.
    pub candidates: u32,
    /// How often a seat bids, and plays, as if at random; 1 leaves such moves unread.
    pub bid_noise: f32,
    pub play_noise: f32,
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
        let each = if self.weighs(view) {
            self.candidates
        } else {
            1
        };
        let mut deals = Vec::with_capacity((count * each) as usize);
        for _ in 0..count * each {
            let mut deal = *view;
            deal.complete_uniformly(rng)?;
            deals.push(deal);
        }
        if each <= 1 {
            return Ok(deals);
        }
        let viewer = view.viewer().unwrap_or(view.to_play());
        let weights: Vec<f64> = deals
            .iter()
            .map(|deal| self.weight(deal, viewer, temper, 0.0))
            .collect();
        let kept = resample(&weights, count as usize, rng.uniform());
        Ok(kept.into_iter().map(|place| deals[place]).collect())
    }

    /// Completes a view to one of some candidates, each as likely as its weight says.
    pub fn pick(&self, view: &mut Blob, temper: &Temper, rng: &mut Rng) -> Result<(), BlobError> {
        let viewer = view.viewer().unwrap_or(view.to_play());
        let bound = self.bound(view, viewer);
        let (mut first, mut least) = (*view, f64::INFINITY);
        for _ in 0..self.candidates {
            let mut deal = *view;
            deal.complete_uniformly(rng)?;
            let (taken, wait) = (rng.uniform() * bound, -ln(1.0 - rng.uniform()));
            let weight = self.weight(&deal, viewer, temper, taken.min(wait / least));
            if weight > taken {
                first = deal;
                break;
            }
            if wait < least * weight || first.viewer().is_some() {
                (first, least) = (deal, wait / weight);
            }
        }
        *view = first;
        Ok(())
    }

    /// At least the greatest weight that a deal can have.
    fn bound(&self, view: &Blob, viewer: Seat) -> f64 {
        let own = view.bids[usize::from(viewer)] != NO_BID;
        let bids = view.bids_made - u8::from(own);
        let noise = f64::from(self.bid_noise);
        let most = 1.0 - noise + noise / f64::from(view.cards);
        if noise < 1.0 {
            most.powi(bids.into())
        } else {
            1.0
        }
    }

    /// Whether it makes a difference: somebody has bid, and that is read.
    pub fn weighs(&self, view: &Blob) -> bool {
        self.candidates > 1 && view.bids_made > 0 && self.bid_noise.min(self.play_noise) < 1.0
    }

    /// The chance that the seats other than `viewer` would have done what they did in this deal; of
    /// one that is not above `least`, anything that is not.
    pub fn weight(&self, deal: &Blob, viewer: Seat, temper: &Temper, least: f64) -> f64 {
        let mut weight = 1.0;
        replay(deal, |state, action| {
            let noise = f64::from(match state.phase {
                Phase::Bidding => self.bid_noise,
                _ if self.play_noise == 1.0 => return ControlFlow::Break(()),
                _ => self.play_noise,
            });
            if state.turn == viewer || noise == 1.0 {
                return ControlFlow::Continue(());
            }
            let mut legal = 0;
            state.for_each_legal(|_| legal += 1);
            if legal > 1 {
                let chosen = counter::choose(state, temper) == action;
                weight *= (1.0 - noise) * f64::from(u8::from(chosen)) + noise / f64::from(legal);
            }
            if weight > least {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        weight
    }
}

/// Calls `visit` with every state of the round so far, from its deal on, and what was done there, as
/// long as it says so.
pub fn replay(deal: &Blob, mut visit: impl FnMut(&Blob, Action) -> ControlFlow<()>) {
    let mut state = *deal;
    state.begin_round(deal.round);
    state.hands = deal.hands;
    for (seat, card) in deal.plays() {
        state.hands[usize::from(seat)] |= bit(card);
    }
    (state.trump, state.turned_up, state.dealt) = (deal.trump, deal.turned_up, deal.dealt);
    state.phase = Phase::Bidding;
    for place in 0..deal.bids_made + deal.count {
        let action = match place.checked_sub(deal.bids_made) {
            None => FIRST_BID + Action::from(deal.bids[usize::from(state.turn)]),
            Some(card) => Action::from(deal.played[usize::from(card)]),
        };
        if visit(&state, action).is_break() {
            return;
        }
        state.take(action);
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
