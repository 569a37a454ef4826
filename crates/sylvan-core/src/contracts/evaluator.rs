//! The `Evaluator` trait: turns a leaf into logits and values without leaving Rust.

use crate::contracts::game::{Action, Game, Seat};

/// A state that waits for its evaluation.
pub struct Leaf<'a, G> {
    pub state: &'a G,
    /// The seat to move.
    pub seat: Seat,
    /// Its legal actions, in the game's order; never empty.
    pub actions: &'a [Action],
    /// A seed for evaluators that play at random. Depends on the search's seed, the tree and the number
    /// of this evaluation in the tree, not on threads.
    pub ticket: u64,
}

/// Evaluates one leaf at a time; shared by the threads of a forest.
pub trait Evaluator<G: Game>: Send + Sync {
    /// Replaces `logits` by one per legal action, in their order, and fills `values`, one per seat.
    fn evaluate(
        &self,
        leaf: &Leaf<'_, G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
    ) -> Result<(), G::Error>;

    /// The logits alone, for a walk that continues from here (`information_set.rs`); `values` is not read.
    /// For evaluators whose values cost more than their priors.
    fn priors(
        &self,
        leaf: &Leaf<'_, G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
    ) -> Result<(), G::Error> {
        self.evaluate(leaf, logits, values)
    }
}
