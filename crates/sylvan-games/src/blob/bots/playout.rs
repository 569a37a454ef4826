//! The card counter as an evaluator: the value of a leaf is the result when the card counter plays
//! all seats to the end of the round, and the priors favour its choice for the seat to move, from
//! that seat's view. One seat, the one that searches, may have another logit, because it searches
//! again at its next move.
//!
//! The policy is deterministic, so one deal has one value: the search averages over the deals of
//! its simulations.

use sylvan_core::{Action, Evaluator, Leaf, Seat, Sure};

use super::counter::{self, TEMPER};
use crate::blob::score::utilities;
use crate::blob::state::{Blob, Phase};

#[derive(Clone, Copy, Debug)]
pub struct Playout {
    /// The logit of the card counter's choice; all other actions have 0.
    pub lean: f32,
    /// One seat with another logit.
    pub own: Option<(Seat, f32)>,
}

impl Playout {
    /// Writes the logits; returns the card counter's choice.
    fn judge(&self, leaf: &Leaf<'_, Blob>, logits: &mut Vec<f32>) -> Action {
        let first = counter::choose(leaf.state, &TEMPER);
        let lean = match self.own {
            Some((seat, lean)) if seat == leaf.seat => lean,
            _ => self.lean,
        };
        let logit = |&action: &Action| if action == first { lean } else { 0.0 };
        logits.clear();
        logits.extend(leaf.actions.iter().map(logit));
        first
    }
}

impl Evaluator<Blob> for Playout {
    fn priors(&self, leaf: &Leaf<'_, Blob>, logits: &mut Vec<f32>, _: &mut [f32]) -> Sure {
        self.judge(leaf, logits);
        Ok(())
    }

    fn evaluate(&self, leaf: &Leaf<'_, Blob>, logits: &mut Vec<f32>, values: &mut [f32]) -> Sure {
        let mut state = leaf.state.this_round();
        state.take(self.judge(leaf, logits));
        while state.phase() != Phase::Over {
            let action = counter::choose(&state, &TEMPER);
            state.take(action);
        }
        let mut out = [0.0; 8];
        let most = state.options.scoring.most(state.cards);
        utilities(state.last_points(), most, state.options.rivalry, &mut out);
        for (value, utility) in values.iter_mut().zip(out) {
            *value = utility as f32;
        }
        Ok(())
    }
}
