//! Players that need no search, for yardsticks and for playing games out: random, one that wins every
//! trick it can, the rule bot, the card counter; flat Monte Carlo, which asks them; and exact bids on
//! one card.
//!
//! A bot reads the hand of the seat to move and what everyone saw, nothing else: permuting hidden
//! hands leaves its choice as it is.

mod belief;
mod counter;
mod examples;
mod odds;
pub mod one_card;
mod playout;
mod rollouts;
mod rule;
mod table;
mod tables;

use sylvan_core::playouts;
use sylvan_core::{Action, Rng, Sure, Turn};

pub use belief::{Belief, replay};
pub use counter::{TEMPER, Temper};
pub use examples::{Kept, Lesson, Round, Rows, Study};
pub use playout::Playout;
pub use rollouts::{Rollouts, Verdict};
pub use table::{Tally, play_game};
pub use tables::{Table, advance};

use super::state::{Blob, Phase};

/// A player by its rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bot {
    /// Any legal action, all equally likely.
    Random,
    /// Bids as the rule bot, takes every trick it can.
    WinEveryTrick,
    Rule,
    Counter(Temper),
    /// The best of all actions over sampled deals, played out by the card counter.
    Rollouts(Rollouts),
}

impl Bot {
    pub const COUNTER: Self = Self::Counter(TEMPER);

    /// The action of the seat to move.
    pub fn choose(&self, state: &Blob, rng: &mut Rng) -> Action {
        match (self, state.phase()) {
            (Self::Random, _) => state.at_random(rng),
            (Self::Rule | Self::WinEveryTrick, Phase::Bidding) => rule::bid(state),
            (Self::Rule, _) => Action::from(rule::play(state, false)),
            (Self::WinEveryTrick, _) => Action::from(rule::play(state, true)),
            (Self::Counter(temper), _) => counter::choose(state, temper),
            (Self::Rollouts(rollouts), _) => rollouts.choose(state, rng),
        }
    }
}

impl playouts::Playout<Blob> for Bot {
    #[inline]
    fn choose(&self, state: &Blob, _: &[Action], rng: &mut Rng) -> Sure<Action> {
        Ok(Self::choose(self, state, rng))
    }

    #[inline]
    fn step(&self, state: &mut Blob, _: &mut Vec<Action>, rng: &mut Rng) -> Sure<Turn> {
        state.take(Self::choose(self, state, rng));
        Ok(state.whose())
    }
}
