//! Deals weighted by the other seats' bids and plays: a seat that bid three rarely holds a weak
//! hand.
//!
//! Without the evidence of bids and plays, all deals consistent with a view are equally likely.
//! With a policy π as the model of the other seats, a deal's weight is the likelihood of their
//! actions:
//!
//! ```text
//! w(deal) = Π_t  (1 - noise) · [π(state_t) = action_t] + noise / legal actions_t
//! ```
//!
//! over the moves of the other seats in this round, replayed in that deal. The noise gives every
//! consistent deal a positive weight, because the model may be wrong. Several candidates are drawn
//! uniformly for each deal.
//!
//! `draw` returns many deals, by systematic resampling: one random offset, then equal steps through
//! the cumulative weights, which is proportional to the weights with the least variance.
//!
//! `pick` returns one, for a search with a new deal per simulation. Rejection sampling accepts a
//! candidate with probability `w / bound`. If none is accepted, it takes the candidate with the
//! least `e / w`, with `e` exponentially distributed, which selects each with probability
//! proportional to its weight. Weights only decrease during the replay, so a candidate is dropped
//! as soon as it can neither be accepted nor selected, usually at the first bid that differs from
//! the model's.

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
    /// Candidates per deal (for `pick`, the most); 1 gives uniform deals.
    pub candidates: u32,
    /// The probability of a random bid, and of a random play; 1 ignores them.
    pub bid_noise: f32,
    pub play_noise: f32,
}

impl Belief {
    /// All consistent deals are equally likely.
    pub const UNIFORM: Self = Self {
        candidates: 1,
        bid_noise: 1.0,
        play_noise: 1.0,
    };
    /// Deals are weighted by the others' bids. Weighting by plays showed no measurable gain.
    pub const WEIGHTED: Self = Self {
        candidates: 4,
        bid_noise: 0.1,
        play_noise: 1.0,
    };

    /// Draws `count` deals consistent with a view, by their weights.
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
        Ok(kept.into_iter().map(|index| deals[index]).collect())
    }

    /// Completes a view to one of several candidates, by their weights.
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

    /// An upper bound of the weights.
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

    /// Whether deals have different weights: a seat has bid, and the belief uses bids or plays.
    pub fn weighs(&self, view: &Blob) -> bool {
        self.candidates > 1 && view.bids_made > 0 && self.bid_noise.min(self.play_noise) < 1.0
    }

    /// The likelihood of the actions of the seats other than `viewer` in this deal; if it is not
    /// above `least`, any number that is not.
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

/// Calls `visit` with every state of the round so far and its action, until it returns `Break`.
pub fn replay(deal: &Blob, mut visit: impl FnMut(&Blob, Action) -> ControlFlow<()>) {
    let mut state = *deal;
    state.begin_round(deal.round);
    state.hands = deal.hands;
    for (seat, card) in deal.plays() {
        state.hands[usize::from(seat)] |= bit(card);
    }
    (state.trump, state.turned_up, state.dealt) = (deal.trump, deal.turned_up, deal.dealt);
    state.phase = Phase::Bidding;
    for ply in 0..deal.bids_made + deal.count {
        let action = match ply.checked_sub(deal.bids_made) {
            None => FIRST_BID + Action::from(deal.bids[usize::from(state.turn)]),
            Some(card) => Action::from(deal.played[usize::from(card)]),
        };
        if visit(&state, action).is_break() {
            return;
        }
        state.take(action);
    }
}

/// Systematic resampling: draws `count` indices by their weights; `offset` is in 0..1.
fn resample(weights: &[f64], count: usize, offset: f64) -> Vec<usize> {
    let total: f64 = weights.iter().sum();
    let step = total / count as f64;
    let (mut index, mut sum) = (0, weights[0]);
    let mut kept = Vec::with_capacity(count);
    for i in 0..count {
        let target = (i as f64 + offset) * step;
        while sum <= target && index + 1 < weights.len() {
            index += 1;
            sum += weights[index];
        }
        kept.push(index);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resampling_is_proportional_to_weights() {
        assert_eq!(resample(&[1.0, 1.0, 2.0], 4, 0.5), [0, 1, 2, 2]);
        assert_eq!(resample(&[0.0, 3.0, 0.0], 2, 0.0), [1, 1]);
        let mut counts = [0; 3];
        for i in 0..1000 {
            for index in resample(&[0.2, 0.5, 0.3], 1, f64::from(i) / 1000.0) {
                counts[index] += 1;
            }
        }
        assert_eq!(counts, [200, 500, 300]);
    }
}
