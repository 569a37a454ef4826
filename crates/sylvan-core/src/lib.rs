//! Trees and search. Knows no game, no Python and no network.
//!
//! Bottom up: `game` and `evaluator` are the contracts; `numbers`, `rng`, `values` the arithmetic;
//! `arena`, `node`, `edges`, `family`, `pool` the memory, `lanes` the innermost loops; `tree` the search, with
//! a file per step of the algorithm; `forest` many trees at once; `outcome` and `line` what a search
//! found, `bulk` in all trees of a forest; `remake` positions of games that are kept as moves.

pub mod arena;
pub mod budget;
pub mod bulk;
pub mod clock;
pub mod config;
pub mod evaluator;
pub mod family;
pub mod forest;
pub mod game;
pub mod gumbel;
pub mod halving;
pub mod latent;
pub mod learned;
pub mod node;
pub mod numbers;
pub mod outcome;
pub mod playouts;
pub mod pool;
pub mod remake;
pub mod rng;
pub mod root;
pub mod seen;
pub mod selection;
pub mod tree;
pub mod values;
pub mod wide;

mod abandon;
mod backup;
mod batch;
mod deals;
mod descend;
mod edges;
mod expand;
mod forced;
mod lanes;
mod line;
mod pages;
mod proofs;
mod shortlist;
mod spare;
mod uct;
mod workers;

pub use config::Config;
pub use descend::SearchError;
pub use evaluator::{Evaluator, Leaf};
pub use forest::{Forest, Timing};
pub use game::{Action, Game, MAX_SEATS, Rules, Seat, Sure, Turn};
pub use rng::Rng;
