//! The traits of games and evaluators, and the arithmetic and settings shared by all rooms.

pub(crate) mod simd; // vector code: functions for several instruction sets, rounding, column minima and maxima
pub(crate) mod prefetch; // asks for memory ahead of its use
pub mod numbers; // exp, ln, softmax and stored priors, the same bits on every machine
pub mod rng; // the seeded generator, one stream per tree
pub(crate) mod game; // the `Game` trait: turns, legal actions, returns, observations
pub mod values; // values per seat, and their storage in a tree
pub mod config; // settings: selection rule, limits, noise
pub(crate) mod evaluator; // the `Evaluator` trait: a leaf in, logits and values out
