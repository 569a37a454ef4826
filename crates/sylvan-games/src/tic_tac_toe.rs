//! Tic-tac-toe: three in a row on 3 × 3.
//!
//! *Actions* are cells, 0 to 8, row by row from the top left. Seat 0 moves first. *Returns* are 1,
//! 0 or -1. The *observation* is `[2, 3, 3]`: the marks of the seat to move, then the other seat's,
//! 1.0 for a mark.

use std::fmt;

use sylvan_core::{Action, Game, Rules, Seat, Sure, Turn};
use thiserror::Error;

/// The bit masks of all lines of three, bit `cell`.
const LINES: [u16; 8] = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o124, 0o421];
const FULL: u16 = 0o777;

/// Errors of moves and texts; after an error the state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TicTacToeError {
    #[error("there is no cell {cell}: the cells are 0 to 8, row by row from the top left")]
    NoSuchCell { cell: usize },
    #[error("cell {cell} is taken: choose one of the cells {free:?}")]
    Taken { cell: usize, free: Vec<usize> },
    #[error("the game is over: no move can follow")]
    GameOver,
    #[error("{text:?} is not a cell: cells are written 0 to 8, row by row from the top left")]
    Notation { text: String },
    #[error("move {ply} of the list cannot be played: {reason}")]
    Moves {
        ply: usize,
        reason: Box<TicTacToeError>,
    },
}

/// A position; the number of marks determines the seat to move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TicTacToe {
    /// Marks of the seat to move, bit `cell`.
    mover: u16,
    /// Marks of the seat that moved last.
    other: u16,
}

impl TicTacToe {
    /// Plays cells from the empty board.
    pub fn from_cells(cells: impl IntoIterator<Item = usize>) -> Result<TicTacToe, TicTacToeError> {
        let mut state = Self::default();
        for (at, cell) in cells.into_iter().enumerate() {
            state.play(cell).map_err(|reason| TicTacToeError::Moves {
                ply: at + 1,
                reason: reason.into(),
            })?;
        }
        Ok(state)
    }

    /// The number of marks on the board, equal to the number of moves played.
    pub const fn marks(&self) -> usize {
        (self.mover | self.other).count_ones() as usize
    }

    /// The seat to move; in a finished game, the seat that would be next.
    pub const fn to_play(&self) -> Seat {
        (self.marks() & 1) as Seat
    }

    pub fn is_terminal(&self) -> bool {
        self.mover | self.other == FULL || self.winner().is_some()
    }

    /// The seat with three in a row.
    pub fn winner(&self) -> Option<Seat> {
        has_line(self.other).then_some(1 - self.to_play())
    }

    /// The seat whose mark is in `cell`; `None` if it is empty or does not exist.
    pub fn mark(&self, cell: usize) -> Option<Seat> {
        let bit = if cell < 9 { 1 << cell } else { 0 };
        if self.mover & bit != 0 {
            Some(self.to_play())
        } else {
            (self.other & bit != 0).then_some(1 - self.to_play())
        }
    }

    /// Empty cells; none in a finished game.
    pub fn free_cells(&self) -> impl Iterator<Item = usize> + use<> {
        let taken = if self.is_terminal() {
            FULL
        } else {
            self.mover | self.other
        };
        (0..9).filter(move |cell| taken >> cell & 1 == 0)
    }

    /// Marks `cell` for the seat to move; on an error nothing changes.
    pub fn play(&mut self, cell: usize) -> Result<(), TicTacToeError> {
        if cell >= 9 {
            return Err(TicTacToeError::NoSuchCell { cell });
        }
        if self.is_terminal() {
            return Err(TicTacToeError::GameOver);
        }
        if (self.mover | self.other) >> cell & 1 != 0 {
            return Err(TicTacToeError::Taken {
                cell,
                free: self.free_cells().collect(),
            });
        }
        (self.mover, self.other) = (self.other, self.mover | 1 << cell);
        Ok(())
    }

    /// The cells of one possible game that leads to this position.
    pub fn any_move_order(&self) -> Vec<usize> {
        let cells = |marks: u16| (0..9).filter(move |cell| marks >> cell & 1 != 0);
        let mut other: Vec<usize> = cells(self.other).collect();
        // The last mark completes every line of its seat.
        if let Some(last) = other
            .iter()
            .rposition(|cell| !has_line(self.other & !(1 << cell)))
        {
            other[last..].rotate_left(1);
        }
        let mut seats = [cells(self.mover).collect(), other].map(Vec::into_iter);
        let begins = usize::from(self.to_play() == 1);
        (0..self.marks())
            .filter_map(|ply| seats[(begins + ply) % 2].next())
            .collect()
    }

    /// A unique number of the position, below 2^18.
    pub const fn exact_key(&self) -> u32 {
        (self.mover as u32) << 9 | self.other as u32
    }
}

/// Whether `marks` contain three in a row.
fn has_line(marks: u16) -> bool {
    LINES.iter().any(|&line| line & !marks == 0)
}

/// Parses a cell.
pub fn parse_cell(text: &str) -> Result<usize, TicTacToeError> {
    match text.as_bytes() {
        [digit @ b'0'..=b'8'] => Ok(usize::from(digit - b'0')),
        _ => Err(TicTacToeError::Notation { text: text.into() }),
    }
}

/// The three rows, one line each: `x` for seat 0, `o` for seat 1, `.` for a free cell.
impl fmt::Display for TicTacToe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for cell in 0..9 {
            let letter = match self.mark(cell) {
                None => ".",
                Some(0) => "x",
                Some(_) => "o",
            };
            f.write_str(letter)?;
            if cell == 2 || cell == 5 {
                f.write_str("\n")?;
            }
        }
        Ok(())
    }
}

impl Game for TicTacToe {
    type Error = std::convert::Infallible;
    type Cell = f32;

    fn value_range(&self) -> (f64, f64) {
        (-1.0, 1.0)
    }

    fn rules(&self) -> Rules {
        Rules {
            num_players: 2,
            num_actions: 9,
            zero_sum: true,
            has_rewards: false,
            value_range: self.value_range(),
            observation_shape: vec![2, 3, 3],
        }
    }

    fn turn(&self, actions: &mut Vec<Action>) -> Sure<Turn> {
        actions.clear();
        if self.is_terminal() {
            return Ok(Turn::Over);
        }
        actions.extend(self.free_cells().map(|cell| cell as Action));
        Ok(Turn::Seat(self.to_play()))
    }

    /// An illegal action changes nothing.
    fn apply(&mut self, action: Action) -> Sure {
        let _ = self.play(action as usize);
        Ok(())
    }

    fn returns(&self, out: &mut [f64]) -> Sure {
        out.fill(0.0);
        if let Some(winner) = self.winner() {
            out.fill(-1.0);
            out[usize::from(winner)] = 1.0;
        }
        Ok(())
    }

    fn observe(&self, out: &mut [f32]) -> Sure {
        for (plane, marks) in out.chunks_exact_mut(9).zip([self.mover, self.other]) {
            for (cell, value) in plane.iter_mut().enumerate() {
                *value = f32::from(marks >> cell & 1);
            }
        }
        Ok(())
    }

    fn key(&self) -> Sure<u64> {
        Ok(crate::hash::mix(u64::from(self.exact_key())))
    }
}
