//! Perfect play: the exact score of a position and of each of its moves.
//!
//! The *score* of a win is the number of the winner's unused stones plus one: `(cells + 2 - s) /
//! 2`, rounded down, if stone number `s` of the game wins: 1 for a win with the last stone, 2 for
//! one stone earlier. A draw is 0, a loss is minus the winner's score. So a higher score is a
//! faster win or a slower loss. A position's score is the highest of its moves' scores; a move's
//! score is the negated score of the next position.
//!
//! The search is alpha-beta with null windows (`negamax.rs`) over bitboards (`lines.rs`) and a
//! transposition table (`table.rs`): the window is bisected until the score is known, starting near
//! zero, where most scores are. Positions with 14 stones or more take milliseconds; the empty 7 × 6
//! board takes minutes, so the caller can observe and stop the search.
//!
//! Known results: the first player wins on the 7 × 6 board from the centre, with stone 41 (Allen
//! 1988; Allis 1988, "A Knowledge-based Approach of Connect-Four").

mod lines; // winning cells and safe moves by bit operations
mod table; // the transposition table
mod negamax; // alpha-beta

use std::ops::ControlFlow;

use self::lines::Lines;
use self::negamax::{Position, Search};
use self::table::Table;
use super::{ConnectFour, Size};

/// The caller stopped the search before it found the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the solver was stopped before it found the score")]
pub struct Stopped;

/// A position under perfect play of both seats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The score of the seat to move; see the head of the file.
    pub score: i32,
    /// Stones until the end, if the winner wins as fast and the loser loses as late as possible.
    pub plies: usize,
    /// The score of each column; `None` if it is full.
    pub moves: Vec<Option<i32>>,
}

impl Solution {
    /// For the seat to move: 1 for a win, 0 for a draw, -1 for a loss.
    pub fn outcome(&self) -> i32 {
        self.score.signum()
    }

    /// The columns with the highest score; none in a finished game.
    pub fn best(&self) -> impl Iterator<Item = usize> {
        let moves = self.moves.iter().enumerate();
        moves
            .filter(|(_, score)| **score == Some(self.score))
            .map(|(column, _)| column)
    }
}

/// A solver keeps its transposition table for the next position of the same board size.
pub struct Solver {
    lines: Lines,
    table: Table,
    nodes: u64,
}

impl Default for Solver {
    /// With a table of 64 MiB.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

impl Solver {
    /// A solver with a table of at most `bytes`, but at least 256 KiB.
    pub fn new(bytes: usize) -> Self {
        Self {
            lines: Lines::new(Size::STANDARD),
            table: Table::new(bytes),
            nodes: 0,
        }
    }

    /// Positions searched since the solver was created.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The score of `state` and of each of its moves.
    ///
    /// Calls `watch` every few thousand positions, with their number since the solver was created;
    /// the search stops if it returns `Break`. The table keeps its contents.
    pub fn solve(
        &mut self,
        state: &ConnectFour,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Solution, Stopped> {
        let mut moves = vec![None; state.size().columns()];
        for &column in Lines::new(state.size()).centre_first() {
            let mut child = *state;
            if child.play(column).is_ok() {
                moves[column] = Some(-self.score(&child, watch)?);
            }
        }
        let score = moves
            .iter()
            .flatten()
            .max()
            .copied()
            .unwrap_or_else(|| final_score(state));
        Ok(Solution {
            score,
            plies: plies_to_end(state, score),
            moves,
        })
    }

    /// The score of `state` only; `watch` is as in [`Solver::solve`].
    pub fn score(
        &mut self,
        state: &ConnectFour,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<i32, Stopped> {
        if state.is_terminal() {
            return Ok(final_score(state));
        }
        if self.lines.size != state.size() {
            self.lines = Lines::new(state.size());
            self.table.clear();
        }
        let Self {
            lines,
            table,
            nodes,
        } = self;
        let root = Position {
            mover: state.mover,
            all: state.all,
            stones: state.stones.into(),
        };
        Search {
            lines,
            table,
            nodes,
            watch,
        }
        .score(root)
    }
}

/// The score of a finished game for the seat that would be next.
fn final_score(state: &ConnectFour) -> i32 {
    let slack = state.size().cells() + 2 - state.stones();
    if state.is_won() {
        -((slack / 2) as i32)
    } else {
        0
    }
}

/// The number of stones until the end, from the score.
fn plies_to_end(state: &ConnectFour, score: i32) -> usize {
    let (cells, stones) = (state.size().cells(), state.stones());
    if score == 0 {
        return cells - stones;
    }
    // Two stone numbers give this score; take the winner's. The mover's stones have the other
    // parity than `stones`.
    let late = cells + 2 - 2 * score.unsigned_abs() as usize;
    let by_mover = late % 2 != stones % 2;
    let last = if by_mover == (score > 0) {
        late
    } else {
        late - 1
    };
    last - stones
}
