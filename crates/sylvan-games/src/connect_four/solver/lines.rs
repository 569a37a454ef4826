//! Four in a row with bit operations: cells that complete a line, and moves that do not lose at
//! once.

use crate::connect_four::Size;

/// The masks of one board size; the bit layout is that of `size.rs`.
pub(super) struct Lines {
    pub size: Size,
    /// All cells.
    board: u64,
    /// The lowest cell of every column.
    bottom: u64,
    /// Columns from the centre outwards: central stones belong to more lines.
    order: Vec<usize>,
}

impl Lines {
    pub fn new(size: Size) -> Self {
        let columns = size.columns();
        let mut order: Vec<usize> = (0..columns).collect();
        order.sort_by_key(|&column| (2 * column + 1).abs_diff(columns));
        let board = order
            .iter()
            .fold(0, |cells, &column| cells | size.column(column));
        Self {
            size,
            board,
            bottom: size.bottom(),
            order,
        }
    }

    pub fn centre_first(&self) -> &[usize] {
        &self.order
    }

    /// The free cells that complete a line of `stones`, playable or not.
    ///
    /// `HEIGHT` is the board's height as a constant, or 0 to read it at run time.
    #[inline(always)]
    pub fn winning_cells<const HEIGHT: u32>(&self, stones: u64, all: u64) -> u64 {
        let mut cells = (stones << 1) & (stones << 2) & (stones << 3);
        let height = if HEIGHT > 0 {
            HEIGHT
        } else {
            self.size.height()
        };
        if HEIGHT > 0 || self.size.columns() >= 4 {
            for step in [height - 1, height, height + 1] {
                let left = (stones << step) & (stones << (2 * step));
                let right = (stones >> step) & (stones >> (2 * step));
                cells |= left & ((stones << (3 * step)) | (stones >> step));
                cells |= right & ((stones >> (3 * step)) | (stones << step));
            }
        }
        cells & (self.board ^ all)
    }

    /// The cells where the next stone can land.
    #[inline(always)]
    pub fn playable(&self, all: u64) -> u64 {
        (all + self.bottom) & self.board
    }

    /// The playable cells after which the other seat, with stones `other`, has no immediate win.
    #[inline(always)]
    pub fn safe_cells<const HEIGHT: u32>(&self, other: u64, all: u64) -> u64 {
        let mut playable = self.playable(all);
        let threats = self.winning_cells::<HEIGHT>(other, all);
        let forced = playable & threats;
        if forced != 0 {
            if forced & (forced - 1) != 0 {
                return 0; // two threats cannot both be blocked
            }
            playable = forced;
        }
        playable & !(threats >> 1) // a stone below a threat would make it playable
    }
}
