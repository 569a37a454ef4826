//! Players without a tree search, as baselines and for playouts.
//!
//! A bot reads only the hand of the seat to move and public information: permuting hidden hands
//! does not change its choice.

mod rule; // the rule bot
mod odds; // the probabilities of hidden cards per seat
mod counter; // the card counter
pub mod one_card; // exact bids in rounds of one card
mod belief; // deals weighted by the other seats' bids and plays
mod rollouts; // flat Monte Carlo with the card counter
mod playout; // the card counter as an evaluator
mod table; // whole games between bots
mod tables; // many rounds at once, with some seats played from outside
mod examples; // training rounds played by bots

use sylvan_core::playouts;
use sylvan_core::{Action, Rng, Sure, Turn};

pub use belief::{Belief, replay};
pub use counter::{TEMPER, Temper};
pub use examples::{Lesson, Round, RoundSlices, Rows, Study};
pub use playout::Playout;
pub use rollouts::{Rollouts, Verdict};
pub use table::{Tally, play_game};
pub use tables::{Table, advance};

use super::state::{Blob, Phase};

/// A player by its rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bot {
    /// A uniformly random legal action.
    Random,
    /// Bids like the rule bot, takes every trick it can.
    WinEveryTrick,
    Rule,
    Counter(Temper),
    /// The best action over sampled deals, with playouts by the card counter.
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
        Ok(state.current_turn())
    }
}
