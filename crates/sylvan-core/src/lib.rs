//! Trees and search, independent of games, Python and networks.
//!
//! Five rooms; each uses only those before it:
//!
//! - `contracts`: the traits of games and evaluators, and the arithmetic shared by all rooms
//! - `memory`: nodes, edges and families in an arena, and the byte budget
//! - `sources`: the sources of states: rules, deals of hidden cards, a learned model
//! - `search`: a simulation step by step, and forests of many trees
//! - `selfplay`: results and moves of all trees of a forest, positions of played games, and actors,
//!   which play many games each
//!
//! Other crates use only the names below.

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
pub use search::forest::{Forest, TREE_SHARE, Timing};
pub use search::model_step::{ModelOutput, SeatArray, StepError};
pub use search::most_visited::VisitedNode;
pub use search::outcome::pick_at;
pub use search::playouts;
pub use search::restore::{RestoreError, SavedNode};
pub use search::statistics::{EdgeStats, NodeStats};
pub use search::tree::Search;
pub use search::visit::Visit;
pub use selfplay::actors::{Actors, LeaseError, Played, Progress, shape_of};
pub use selfplay::batch_evaluator::{BatchEvaluator, ObservationHash, Rows};
pub use selfplay::batch_memory::{BatchMemory, Region, Shape};
pub use selfplay::batches::{Batches, Taken};
pub use selfplay::bell::Bell;
pub use selfplay::columns::{Columns, Ending, Entries, Per, Widths};
pub use selfplay::job::{Evaluate, Failure};
pub use selfplay::moves::MoveError;
pub use selfplay::play_config::{Lease, PlayConfig, Resignation, Verdict};
pub use selfplay::rows::BadAnswer;
pub use selfplay::setup::Setup;
pub use selfplay::{remake, seeds};
pub use sources::latent::{Latent, Model};
