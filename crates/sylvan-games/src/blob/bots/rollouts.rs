//! Flat Monte Carlo: every legal action tried in the same sampled deals, each played to the end of
//! the round by the card counter; the best mean utility wins.
//!
//! No tree: what follows an action is the policy's play, so a plan may differ by deal only as far as
//! the policy's own view does. Ties go to the policy's own choice, then to the lower action.

use sylvan_core::{Action, Rng, Seat};

use super::belief::Belief;
use super::counter::{self, TEMPER, Temper};
use crate::blob::play::NUM_ACTIONS;
use crate::blob::score::utilities;
use crate::blob::state::{Blob, Phase};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rollouts {
    /// Sampled deals per decision.
    pub deals: u32,
    /// λ of the utility that it works for, whatever that of the game.
    pub rivalry: f64,
    /// How those deals are drawn.
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

/// What rollouts say of one action.
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
        let own = counter::choose(state, &self.temper);
        let verdicts = self.judge(state, rng);
        let best = verdicts.iter().max_by(|a, b| {
            let order = a.utility.total_cmp(&b.utility);
            order
                .then_with(|| (a.action == own).cmp(&(b.action == own)))
                .then(b.action.cmp(&a.action))
        });
        best.map_or(own, |verdict| verdict.action)
    }

    /// All legal actions of the seat to move, with what came of them. The state may be a view of
    /// that seat or the whole game: the rest of the hands is not read.
    pub fn judge(&self, state: &Blob, rng: &mut Rng) -> Vec<Verdict> {
        let seat = state.turn;
        let Ok(view) = state.view(seat) else {
            return Vec::new();
        };
        let mut actions = Vec::with_capacity(NUM_ACTIONS);
        view.for_each_legal(|action| {
            actions.push(Verdict {
                action,
                utility: 0.0,
                points: 0.0,
                made: 0.0,
            });
        });
        let deals = self.belief.draw(&view, self.deals, &self.temper, rng);
        for deal in deals.unwrap_or_default() {
            for verdict in &mut actions {
                self.play_out(deal, seat, verdict);
            }
        }
        let weight = 1.0 / f64::from(self.deals.max(1));
        for verdict in &mut actions {
            verdict.utility *= weight;
            verdict.points *= weight;
            verdict.made *= weight;
        }
        actions
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
