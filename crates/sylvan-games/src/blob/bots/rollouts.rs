//! Flat Monte Carlo: tries every legal action in the same sampled deals, with a playout by the card
//! counter to the end of the round, and takes the best mean utility.
//!
//! There is no tree: the policy plays all later moves, so they depend on the deal only through the
//! policy's own view. Ties go to the policy's own choice, then to the lower action.
//!
//! `choose` uses as many playouts as `judge`, deals times actions, by sequential halving: each of
//! log2(actions) rounds tries the remaining actions in new deals, the same for all, and drops the
//! worse half; all rounds have equally many playouts. So the last two actions are tried in more
//! deals: with eight actions, 2 1/3 times as many. The card counter's own estimate of an action
//! counts as half as many deals. Bids on one card are exact (`one_card.rs`) and need no playouts.

use sylvan_core::{Action, Rng, Seat};

use super::belief::Belief;
use super::counter::{self, TEMPER, Temper};
use super::one_card;
use crate::blob::play::NUM_ACTIONS;
use crate::blob::score::utilities;
use crate::blob::state::{Blob, Phase};

/// The weight of the card counter's own estimate of an action, as a share of the deals.
const PRIOR_WEIGHT: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rollouts {
    /// Sampled deals per decision.
    pub deals: u32,
    /// λ of the bot's own utility; may differ from the game's.
    pub rivalry: f64,
    /// The distribution of the deals.
    pub belief: Belief,
    pub temper: Temper,
}

impl Default for Rollouts {
    fn default() -> Self {
        Self {
            deals: 128,
            rivalry: 1.0,
            belief: Belief::WEIGHTED,
            temper: TEMPER,
        }
    }
}

/// The rollout statistics of one action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    pub action: Action,
    /// Mean utility, mean points, and the share of deals in which the seat made its bid.
    pub utility: f64,
    pub points: f64,
    pub made: f64,
}

impl Rollouts {
    pub fn choose(&self, state: &Blob, rng: &mut Rng) -> Action {
        let mut only = None;
        let mut count = 0;
        state.for_each_legal(|action| {
            only = Some(action);
            count += 1;
        });
        if count == 1 {
            return only.unwrap_or_default();
        }
        if let Some((bid, _)) = one_card::bid(state) {
            return bid;
        }
        let own = counter::choose(state, &self.temper);
        let Ok(view) = state.view(state.turn) else {
            return own;
        };
        let mut left = verdicts_on(&view);
        self.add_prior(&view, &mut left);
        let playouts = self.deals * left.len() as u32;
        let rounds = left.len().next_power_of_two().ilog2();
        while left.len() > 1 {
            let deals = playouts / (rounds * left.len() as u32);
            self.try_in(&view, deals.max(1), &mut left, rng);
            left.sort_by(|a, b| {
                let order = b.utility.total_cmp(&a.utility);
                order
                    .then_with(|| (b.action == own).cmp(&(a.action == own)))
                    .then(a.action.cmp(&b.action))
            });
            left.truncate(left.len().div_ceil(2));
        }
        left[0].action
    }

    /// The statistics of all legal actions of the seat to move. The state may be a view of that
    /// seat or a full state: other hands are not read.
    pub fn judge(&self, state: &Blob, rng: &mut Rng) -> Vec<Verdict> {
        let Ok(view) = state.view(state.turn) else {
            return Vec::new();
        };
        let mut verdicts = verdicts_on(&view);
        self.try_in(&view, self.deals, &mut verdicts, rng);
        let weight = 1.0 / f64::from(self.deals.max(1));
        for verdict in &mut verdicts {
            verdict.utility *= weight;
            verdict.points *= weight;
            verdict.made *= weight;
        }
        verdicts
    }

    /// Starts with the card counter's own estimate of every action, weighted as some deals: few
    /// playouts are noisy, and the estimate helps where they do not separate the actions.
    fn add_prior(&self, view: &Blob, verdicts: &mut [Verdict]) {
        let scoring = &view.options.scoring;
        let paid = match view.phase {
            Phase::Playing => {
                let bid = view.bids[usize::from(view.turn)];
                f64::from(scoring.points(bid, bid)) / scoring.most(view.cards)
            }
            _ => 1.0, // the value of a bid is already a share
        };
        let mut left = verdicts.iter_mut();
        let weight = paid * PRIOR_WEIGHT * f64::from(self.deals);
        counter::judge(view, &self.temper, |_, worth| {
            if let Some(verdict) = left.next() {
                verdict.utility = weight * f64::from(worth);
            }
        });
    }

    /// Adds the results of actions in new deals.
    fn try_in(&self, view: &Blob, deals: u32, verdicts: &mut [Verdict], rng: &mut Rng) {
        let deals = self.belief.draw(view, deals, &self.temper, rng);
        for deal in deals.unwrap_or_default() {
            for verdict in &mut *verdicts {
                self.play_out(deal, view.turn, verdict);
            }
        }
    }

    fn play_out(&self, mut deal: Blob, seat: Seat, verdict: &mut Verdict) {
        deal.take(verdict.action);
        while deal.phase() != Phase::Over {
            let action = counter::choose(&deal, &self.temper);
            deal.take(action);
        }
        let mut out = [0.0; 8];
        let most = deal.options.scoring.most(deal.cards);
        utilities(deal.last_points(), most, self.rivalry, &mut out);
        let own = usize::from(seat);
        verdict.utility += out[own];
        verdict.points += f64::from(deal.last[own]);
        verdict.made += f64::from(u8::from(deal.bids[own] == deal.tricks[own]));
    }
}

/// Empty statistics for the legal actions of a view's seat.
fn verdicts_on(view: &Blob) -> Vec<Verdict> {
    let mut verdicts = Vec::with_capacity(NUM_ACTIONS);
    view.for_each_legal(|action| {
        verdicts.push(Verdict {
            action,
            utility: 0.0,
            points: 0.0,
            made: 0.0,
        });
    });
    verdicts
}
