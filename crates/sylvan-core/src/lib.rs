//! Trees and search. Knows no game, no Python and no network.

pub mod evaluator;
pub mod game;

pub use evaluator::{Evaluator, Leaf};
pub use game::{Action, Game, MAX_SEATS, Rules, Seat, Sure, Turn};
