//! Self-play: operations on all trees of a forest at once, and actors that play many games.

pub(crate) mod results; // the outcomes of all searches, as flat arrays
pub(crate) mod moves; // a move in every tree
pub mod remake; // rebuilds positions of played games, for the learner
pub(crate) mod columns; // games as columns: one array per quantity
pub(crate) mod play_config; // the settings of self-play, and leases
pub mod seeds; // the random streams of a game, by ply and purpose
pub(crate) mod setup; // the first state and the settings of all games
pub(crate) mod openings; // the start of a game
pub(crate) mod ending; // resignation, and the result at the limit of plies
pub(crate) mod game_slot; // one game in progress: moves between searches
pub(crate) mod batch_memory; // the arrays of a batch
pub(crate) mod batch_slot; // one batch: counters and memory
pub(crate) mod bell; // wakes the evaluator
pub(crate) mod batches; // batches of fixed size between actors and an evaluator
pub(crate) mod batch_evaluator; // evaluators of whole batches in Rust
pub(crate) mod rows; // rows of batches: written, evaluated natively, checked
pub(crate) mod job; // a lease being played, shared by its actors
pub(crate) mod actor; // a thread that plays many games
pub(crate) mod actors; // all actors: leases in, columns out
