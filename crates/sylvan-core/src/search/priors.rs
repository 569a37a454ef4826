//! Options of priors: an evaluation's logits are changed before their softmax.
//!
//! ```text
//!     logit'(a) = (logit(a) + b(a)) / policy_temperature,  at least  max logit' + ln(prior_floor)
//! ```
//!
//! b(a) is `forcing_bonus` for actions that the game calls forcing (`Game::is_forcing`), 0 for
//! others. All in single precision. A logit of -inf stays.
//!
//! Twin: `sylvan.reference.priors`.

use crate::contracts::config::Config;
use crate::contracts::game::Game;
use crate::contracts::numbers::ln;
use crate::search::settings::Settings;
use crate::search::visit::Visit;

/// Options that depend on the logits alone.
#[derive(Clone, Copy, Debug)]
pub struct PriorShape {
    temperature: f32,
    /// `ln(prior_floor)`; -inf without a floor.
    log_floor: f32,
}

impl PriorShape {
    pub fn new(config: &Config) -> Self {
        Self {
            temperature: config.policy_temperature,
            log_floor: match config.prior_floor {
                0.0 => f32::NEG_INFINITY,
                floor => ln(floor) as f32,
            },
        }
    }

    /// Whether logits stay as they are.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.temperature == 1.0 && self.log_floor == f32::NEG_INFINITY
    }

    pub fn apply(&self, logits: &mut [f32]) {
        if self.temperature != 1.0 {
            logits
                .iter_mut()
                .for_each(|logit| *logit /= self.temperature);
        }
        if self.log_floor > f32::NEG_INFINITY {
            let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let least = highest + self.log_floor;
            for logit in logits {
                if *logit < least && *logit > f32::NEG_INFINITY {
                    *logit = least;
                }
            }
        }
    }
}

impl Settings {
    /// Applies the options to the logits of a leaf's legal actions.
    #[inline]
    pub(crate) fn shape_priors<G: Game>(&self, visit: &Visit<G>, logits: &mut [f32]) {
        let bonus = self.config.forcing_bonus;
        if bonus > 0.0 {
            for (logit, &action) in logits.iter_mut().zip(&visit.actions) {
                if visit.state.is_forcing(action) {
                    *logit += bonus;
                }
            }
        }
        if !self.prior_shape.is_plain() {
            self.prior_shape.apply(logits);
        }
    }
}
