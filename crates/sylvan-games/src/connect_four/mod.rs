//! Connect Four on 7 × 6 or any other board that fits into 64 bits.
//!
//! Two seats drop stones into columns in turn; the first with four in a row, vertical, horizontal
//! or diagonal, wins; a full board is a draw. Seat 0 moves first.
//!
//! *Actions* are columns, numbered from 0 at the left. *Returns* are 1, 0 or -1. The *observation*
//! is `[2, rows, columns]`: the stones of the seat to move, then the other seat's, 1.0 for a stone;
//! row 0 is the top row, so that a printed array looks like the board.
//!
//! Two bitboards store a position (`size.rs` has the layout): dropping a stone takes one addition,
//! a win check eight shifts.

mod error; // errors of sizes, moves and texts
mod size; // the bitboard layout, and the test for four in a row
mod notation; // move lists and board pictures as text
pub mod solver; // perfect play

use sylvan_core::{Action, Game, Rules, Seat, Sure, Turn};

pub use error::ConnectFourError;
pub use notation::parse_column;
pub use size::Size;

/// A position; the number of stones determines the seat to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectFour {
    /// Stones of the seat to move.
    mover: u64,
    /// Stones of both seats.
    all: u64,
    size: Size,
    stones: u8,
}

impl Default for ConnectFour {
    /// The empty 7 × 6 board.
    fn default() -> Self {
        Self::empty(Size::STANDARD)
    }
}

impl ConnectFour {
    pub const fn empty(size: Size) -> Self {
        Self {
            mover: 0,
            all: 0,
            size,
            stones: 0,
        }
    }

    pub const fn size(&self) -> Size {
        self.size
    }

    /// The number of stones on the board, equal to the number of moves played.
    pub const fn stones(&self) -> usize {
        self.stones as usize
    }

    /// The seat to move; in a finished game, the seat that would be next.
    pub const fn to_play(&self) -> Seat {
        self.stones & 1
    }

    pub const fn is_terminal(&self) -> bool {
        self.stones() == self.size.cells() || self.is_won()
    }

    /// Whether the seat that moved last has four in a row. Computed on demand, because a search
    /// needs it only at the end of a descent.
    const fn is_won(&self) -> bool {
        self.size.has_four(self.all ^ self.mover)
    }

    /// The seat with four in a row.
    pub const fn winner(&self) -> Option<Seat> {
        if self.is_won() {
            Some(1 - self.to_play())
        } else {
            None
        }
    }

    /// The seat whose stone is in `column` and `row`, counted from the bottom; `None` if the cell
    /// is empty or outside the board.
    pub fn stone(&self, column: usize, row: usize) -> Option<Seat> {
        if column >= self.size.columns() || row >= self.size.rows() {
            return None;
        }
        let cell = self.size.cell(column, row);
        let own = self.mover & cell != 0;
        (self.all & cell != 0).then_some(if own {
            self.to_play()
        } else {
            1 - self.to_play()
        })
    }

    /// Columns that are not full, from the left; none in a finished game.
    pub fn open_columns(&self) -> impl Iterator<Item = usize> + use<> {
        let state = *self;
        let columns = if state.is_won() {
            0
        } else {
            state.size.columns()
        };
        (0..columns).filter(move |&column| state.is_open(column))
    }

    /// Drops a stone of the seat to move; on an error nothing changes.
    pub fn play(&mut self, column: usize) -> Result<(), ConnectFourError> {
        let columns = self.size.columns();
        if column >= columns {
            return Err(ConnectFourError::NoSuchColumn { column, columns });
        }
        if self.is_terminal() {
            return Err(ConnectFourError::GameOver);
        }
        if !self.is_open(column) {
            let open = self.open_columns().collect();
            return Err(ConnectFourError::ColumnFull { column, open });
        }
        self.drop_stone(column);
        Ok(())
    }

    /// The board with its columns in reverse order.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Self {
            mover: self.size.mirror(self.mover),
            all: self.size.mirror(self.all),
            ..*self
        }
    }

    /// A unique number of the position among all on a board of this size.
    pub const fn exact_key(&self) -> u64 {
        // Unique, because with the bottom row added, the highest bit of each column would mark its
        // first free cell.
        self.mover + self.all
    }

    /// Whether the top cell of `column` is free; `column` must exist.
    const fn is_open(&self, column: usize) -> bool {
        self.all & self.size.cell(column, self.size.rows() - 1) == 0
    }

    /// Columns whose top cell is free, from the left.
    #[inline]
    fn free_columns(&self) -> impl Iterator<Item = Action> {
        let (top, height) = (self.all >> (self.size.rows() - 1), self.size.height());
        (0..self.size.columns() as Action).filter(move |column| top >> (column * height) & 1 == 0)
    }

    /// Drops a stone into `column`, which must be open.
    #[inline]
    const fn drop_stone(&mut self, column: usize) {
        self.mover ^= self.all; // the other seat moves next
        self.all |= self.all + self.size.cell(column, 0);
        self.stones += 1;
    }
}

impl Game for ConnectFour {
    type Error = std::convert::Infallible;
    type Cell = f32;

    fn value_range(&self) -> (f64, f64) {
        (-1.0, 1.0)
    }

    fn rules(&self) -> Rules {
        Rules {
            num_players: 2,
            num_actions: self.size.columns(),
            zero_sum: true,
            has_rewards: false,
            value_range: self.value_range(),
            observation_shape: vec![2, self.size.rows(), self.size.columns()],
        }
    }

    fn turn(&self, actions: &mut Vec<Action>) -> Sure<Turn> {
        if self.is_terminal() {
            actions.clear();
            return Ok(Turn::Over);
        }
        // No branches: write every column, and advance only after a free one.
        actions.resize(self.size.columns(), 0);
        let (top, height) = (self.all >> (self.size.rows() - 1), self.size.height());
        let mut free = 0;
        for column in 0..self.size.columns() as Action {
            actions[free] = column;
            free += usize::from(top >> (column * height) & 1 == 0);
        }
        actions.truncate(free);
        Ok(Turn::Seat(self.to_play()))
    }

    fn action_at(&self, index: usize, _: &mut Vec<Action>) -> Sure<Action> {
        Ok(self.free_columns().nth(index).unwrap_or_default())
    }

    /// A column that does not exist or is full changes nothing.
    #[inline]
    fn apply(&mut self, action: Action) -> Sure {
        let column = action as usize;
        if column < self.size.columns() && self.is_open(column) {
            self.drop_stone(column);
        }
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
        let (rows, columns) = (self.size.rows(), self.size.columns());
        let height = self.size.height() as usize;
        let planes = out.chunks_exact_mut(rows * columns);
        for (plane, stones) in planes.zip([self.mover, self.all ^ self.mover]) {
            for (top, line) in plane.chunks_exact_mut(columns).enumerate() {
                let row = stones >> (rows - 1 - top);
                for (column, cell) in line.iter_mut().enumerate() {
                    *cell = ((row >> (column * height)) as u8 & 1).into();
                }
            }
        }
        Ok(())
    }

    fn key(&self) -> Sure<u64> {
        let size = (self.size.columns() * 64 + self.size.rows()) as u64;
        Ok(crate::hash::mix(self.exact_key() ^ crate::hash::mix(size)))
    }
}
