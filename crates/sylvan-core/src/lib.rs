//! Trees and search. Knows no game, no Python and no network.
//!
//! Five rooms, each of which uses only those before it:
//!
//! - `contracts`: what a game and an evaluator promise, and the arithmetic that all rooms share
//! - `memory`: where trees are stored, and the byte budget that keeps them small
//! - `sources`: where states come from: rules, deals of hidden cards, a learned model
//! - `search`: a simulation step by step, and forests of many trees
//! - `selfplay`: all trees of a forest read and moved at once, and positions of played games
//!
//! Other crates use the names below and nothing else.

mod contracts;
mod memory;
mod sources;
mod search;
mod selfplay;

pub use contracts::config::Config;
pub use contracts::evaluator::{Evaluator, Leaf};
pub use contracts::game::{Action, Game, MAX_SEATS, Rules, Seat, Sure, Turn};
pub use contracts::rng::Rng;
pub use contracts::{config, numbers, rng, values};
pub use memory::node::NodeKind;
pub use search::descend::SearchError;
pub use search::forest::{Forest, Timing};
pub use search::model_step::{ModelOutput, SeatArray, StepError};
pub use search::playouts;
pub use search::statistics::{EdgeStats, NodeStats};
pub use search::tree::Search;
pub use search::visit::Visit;
pub use selfplay::moves::MoveError;
pub use selfplay::remake;
pub use sources::latent::{Latent, Model};
