//! Operations of self-play on all trees of a forest at once.

pub(crate) mod results; // the outcomes of all searches, as flat arrays
pub(crate) mod moves; // a move in every tree
pub mod remake; // rebuilds positions of played games, for the learner
