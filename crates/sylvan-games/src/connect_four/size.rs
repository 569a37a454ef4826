//! The bitboard layout, and the test for four in a row.
//!
//! Cell (column `c`, row `r` from the bottom) is bit `c · height + r` with `height = rows + 1`: the
//! bit above a column's top cell is a sentinel that never holds a stone, so that no line continues
//! into the next column. 7 × 6, bits by column and row:
//!
//! ```text
//!  6 13 20 27 34 41 48   sentinels
//!  5 12 19 26 33 40 47
//!  4 11 18 25 32 39 46
//!  3 10 17 24 31 38 45
//!  2  9 16 23 30 37 44
//!  1  8 15 22 29 36 43
//!  0  7 14 21 28 35 42
//! ```

use super::ConnectFourError;

/// Columns and rows of a board, at least one of each, with `columns · (rows + 1) <= 64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    columns: u8,
    rows: u8,
}

impl Size {
    pub const STANDARD: Size = Size {
        columns: 7,
        rows: 6,
    };

    pub fn new(columns: usize, rows: usize) -> Result<Size, ConnectFourError> {
        let bits = rows
            .checked_add(1)
            .and_then(|height| columns.checked_mul(height));
        if columns == 0 || rows == 0 || bits.is_none_or(|bits| bits > 64) {
            return Err(ConnectFourError::Size { columns, rows });
        }
        Ok(Size {
            columns: columns as u8,
            rows: rows as u8,
        })
    }

    pub const fn columns(self) -> usize {
        self.columns as usize
    }

    pub const fn rows(self) -> usize {
        self.rows as usize
    }

    pub const fn cells(self) -> usize {
        self.columns() * self.rows()
    }

    /// Bits from a cell to its right neighbour.
    pub(super) const fn height(self) -> u32 {
        self.rows as u32 + 1
    }

    /// The cell in `column` and `row`, counted from the bottom; `column` must exist.
    pub(super) const fn cell(self, column: usize, row: usize) -> u64 {
        1 << (column as u32 * self.height() + row as u32)
    }

    /// The cells of `column`, which must exist.
    pub(super) const fn column(self, column: usize) -> u64 {
        ((1 << self.rows) - 1) << (column as u32 * self.height())
    }

    /// The lowest cell of every column.
    pub(super) fn bottom(self) -> u64 {
        (0..self.columns()).fold(0, |cells, column| cells | self.cell(column, 0))
    }

    /// `stones` with the columns in reverse order.
    pub(super) fn mirror(self, stones: u64) -> u64 {
        let last = self.columns() - 1;
        (0..self.columns()).fold(0, |mirrored, column| {
            let lines = stones >> (column as u32 * self.height()) & self.column(0);
            mirrored | lines << ((last - column) as u32 * self.height())
        })
    }

    /// Whether `stones` contain four in a row, vertical, horizontal or diagonal.
    #[inline]
    pub(super) const fn has_four(self, stones: u64) -> bool {
        if self.rows == Self::STANDARD.rows {
            return line_of_four(stones, Self::STANDARD.height()); // constant shifts
        }
        if self.columns < 4 {
            return four_apart(stones, 1); // other shifts may exceed 63
        }
        line_of_four(stones, self.height())
    }
}

/// Whether `stones` contain four in a row on a board whose columns are `height` bits apart.
#[inline]
const fn line_of_four(stones: u64, height: u32) -> bool {
    four_apart(stones, 1)
        | four_apart(stones, height)
        | four_apart(stones, height - 1)
        | four_apart(stones, height + 1)
}

/// Whether there are four stones at intervals of `step` bits.
#[inline]
const fn four_apart(stones: u64, step: u32) -> bool {
    let pairs = stones & (stones >> step);
    pairs & (pairs >> (2 * step)) != 0
}
