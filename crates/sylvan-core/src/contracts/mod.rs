//! What a game and an evaluator promise, and the arithmetic and settings that all rooms share.

pub(crate) mod simd; // vector code: one function for several instruction sets, two roundings at once, column extremes
pub mod numbers; // exp, ln, softmax and stored priors, the same bits on every machine
pub mod rng; // the seeded generator, one stream per tree
pub(crate) mod game; // the `Game` trait: what the search asks of a game
pub mod values; // values per seat, and how a tree stores them
pub mod config; // what a search is told: selection rule, limits, noise
pub(crate) mod evaluator; // the `Evaluator` trait: a leaf in, logits and values out
