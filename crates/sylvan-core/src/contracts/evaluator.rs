//! The `Evaluator` trait: computes the logits and values of a leaf in Rust.

use crate::contracts::game::{Action, Game, Seat};

/// A state to evaluate.
pub struct Leaf<'a, G> {
    pub state: &'a G,
    /// The seat to move.
    pub seat: Seat,
    /// The legal actions, in the game's order; never empty.
    pub actions: &'a [Action],
    /// A seed for random evaluators. Depends on the search's seed, the tree and the number of this
    /// evaluation in the tree, not on threads.
    pub ticket: u64,
}

/// Evaluates one leaf at a time; the threads of a forest share it.
pub trait Evaluator<G: Game>: Send + Sync {
    /// Replaces `logits` by one per legal action, in their order, and writes `values`, one per
    /// seat.
    fn evaluate(
        &self,
        leaf: &Leaf<'_, G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
    ) -> Result<(), G::Error>;

    /// Computes the logits only, for a simulation that continues below this node
    /// (`information_set.rs`); `values` is not read. Override it if values cost more than priors.
    fn priors(
        &self,
        leaf: &Leaf<'_, G>,
        logits: &mut Vec<f32>,
        values: &mut [f32],
    ) -> Result<(), G::Error> {
        self.evaluate(leaf, logits, values)
    }
}
