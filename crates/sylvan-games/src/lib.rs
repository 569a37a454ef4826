//! Rules, encodings and exact solvers of the games that Sylvan knows.

pub mod blob;
pub mod chess;
pub mod connect_four;
mod hash;
pub mod tic_tac_toe;
