//! What self-play asks of a forest, for all trees at once.

pub(crate) mod results; // what the searches found, as flat arrays
pub(crate) mod moves; // a move in every tree
pub mod remake; // positions of played games, for the learner
