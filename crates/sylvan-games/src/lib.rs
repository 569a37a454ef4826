//! Rules, encodings and exact solvers of the native games.

mod hash; // a 64-bit hash function
pub mod tic_tac_toe; // tic-tac-toe
pub mod connect_four; // Connect Four and its solver
pub mod chess; // chess, on shakmaty
pub mod blob; // Blob (Oh Hell), its bots and beliefs
