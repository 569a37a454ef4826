//! Perft: counts the move sequences of a length, the usual test of a move generator.
//!
//! Draws by repetition, the fifty-move rule or insufficient material do not end a line. Moves of
//! the last ply are counted, not made.

use super::Chess;
use super::movegen::legal_actions;
use super::position::Position;
use sylvan_core::Action;

impl Chess {
    /// The number of sequences of `depth` legal moves; 1 for `depth` 0.
    ///
    /// Takes about 10 ns per leaf; 64 bits are enough for every feasible depth.
    pub fn perft(&self, depth: u8) -> u64 {
        let mut buffers = vec![Vec::new(); usize::from(depth)];
        count(&self.position, &mut buffers)
    }

    /// Perft of `depth - 1` after every legal move, in order; empty for `depth` 0.
    pub fn divide(&self, depth: u8) -> Vec<(Action, u64)> {
        let Some(below) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let mut buffers = vec![Vec::new(); usize::from(below)];
        let after = |action| {
            let mut next = self.position;
            next.play(action);
            (action, count(&next, &mut buffers))
        };
        self.moves().into_iter().map(after).collect()
    }
}

/// Counts the sequences; `buffers` has one buffer of actions per remaining ply.
fn count(position: &Position, buffers: &mut [Vec<Action>]) -> u64 {
    let Some((actions, deeper)) = buffers.split_first_mut() else {
        return 1;
    };
    legal_actions(position, actions);
    if deeper.is_empty() {
        return actions.len() as u64;
    }
    let after = |&action: &Action| {
        let mut next = *position;
        next.play(action);
        count(&next, deeper)
    };
    actions.iter().map(after).sum()
}
