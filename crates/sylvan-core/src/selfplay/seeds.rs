//! The random streams of a game: one for each kind of choice at each ply.
//!
//! No stream is shared by two games, two plies or two purposes:
//!
//! ```text
//! seed of game g              mix(seed of the run, g)
//!     stream 0                its start: kind of opening, random moves, chance until a seat moves
//!     stream 1                whether it is played on in spite of a resignation
//!     seed of ply p           mix(seed of the game, 2 + p)
//!         stream 0            the search: noise, deals, chance nodes; seeds of its evaluations
//!         stream 1            whether the search is full
//!         stream 2            the action, at a temperature above 0
//!         stream 3            the outcome of chance
//! ```
//!
//! `stream k` of a seed is `Rng::new(seed, k)`. Plies are counted from the first state of the game,
//! with openings and chance. So the draws at a ply depend only on the run's seed, the game's number
//! and the ply: a game can be played again from any of its plies.

use crate::contracts::rng::{Rng, mix};

/// The seed of a game.
pub fn of_game(run: u64, number: u64) -> u64 {
    mix(run, number)
}

/// The stream for the start of a game.
pub(crate) fn start(game: u64) -> Rng {
    Rng::new(game, 0)
}

/// The stream that decides whether a game is played on.
pub fn play_on(game: u64) -> Rng {
    Rng::new(game, 1)
}

/// The seed of a ply.
pub fn of_ply(game: u64, ply: usize) -> u64 {
    mix(game, 2 + ply as u64)
}

/// The number of the search's stream at a ply.
pub(crate) const SEARCH: u64 = 0;

/// The stream that decides whether the search of a ply is full.
pub fn full(ply: u64) -> Rng {
    Rng::new(ply, 1)
}

/// The stream that picks the action of a ply.
pub fn action(ply: u64) -> Rng {
    Rng::new(ply, 2)
}

/// The stream that draws an outcome of chance.
pub(crate) fn chance(ply: u64) -> Rng {
    Rng::new(ply, 3)
}
