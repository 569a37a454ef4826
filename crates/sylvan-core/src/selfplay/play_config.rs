//! The settings of self-play. `sylvan.SelfPlayConfig` validates them; the core does not check them
//! again.

use crate::contracts::game::Action;

/// The settings of self-play. N games are in progress at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayConfig {
    /// Games in progress, of all actors together.
    pub games: usize,
    /// Keep the subtree of the played move.
    pub reuse: bool,
    /// The temperature of the first `temperature_plies` plies, and of later ones; 0 takes the best
    /// action.
    pub temperature: f64,
    pub temperature_plies: usize,
    pub final_temperature: f64,
    /// The share of full searches. The others are fast: `fast_simulations`, no noise, no forced
    /// playouts, and their policy is not learned.
    pub full_share: f64,
    pub fast_simulations: u64,
    /// The share of games that start with 1 to `opening_plies` random moves.
    pub opening_share: f64,
    pub opening_plies: usize,
    /// The share of games that start from one of the lease's positions, if it has any.
    pub restart_share: f64,
    /// Games end after this many plies.
    pub max_plies: Option<usize>,
    pub verdict: Verdict,
    pub resignation: Option<Resignation>,
    /// Store the observation of every ply.
    pub observations: bool,
}

/// The result of a game at the limit of plies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The middle of the value range.
    Draw,
    /// The game's own estimate; without one, a draw.
    Estimate,
}

/// A seat resigns after `turns` consecutive turns with a value below a threshold. For zero-sum games
/// of two seats with a known value range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resignation {
    /// On a scale of -1 (lost) to 1.
    pub below: f64,
    pub turns: u32,
    /// The share of games that are played to the end in spite of a resignation.
    pub play_on: f64,
}

impl Default for PlayConfig {
    fn default() -> Self {
        Self {
            games: 512,
            reuse: true,
            temperature: 1.0,
            temperature_plies: 30,
            final_temperature: 0.0,
            full_share: 1.0,
            fast_simulations: 16,
            opening_share: 0.0,
            opening_plies: 4,
            restart_share: 0.0,
            max_plies: Some(512),
            verdict: Verdict::Draw,
            resignation: None,
            observations: false,
        }
    }
}

/// The unit of work: games `first..first + count`, each played to its end. A lease that is played
/// twice gives the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    pub first: u64,
    pub count: u64,
    /// Positions to start from, as the actions that lead to them.
    pub positions: Vec<Vec<Action>>,
}
