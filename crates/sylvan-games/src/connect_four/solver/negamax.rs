//! Alpha-beta search for one score.

use std::ops::ControlFlow;

use super::Stopped;
use super::lines::Lines;
use super::table::{Bound, Table};
use crate::connect_four::Size;

/// A position in the search; the bits are as in `ConnectFour`.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub mover: u64,
    pub all: u64,
    pub stones: i32,
}

/// Positions between two calls of `watch`: a few milliseconds.
const WATCH_EVERY: u64 = 1 << 14;

/// Positions with at least this many free cells share a table entry with their mirror image. Later
/// positions are rarely reached both ways, so mirroring does not pay off.
const MIRROR_LEFT: i32 = 29;

/// The widest board has 32 columns.
const MAX_COLUMNS: usize = 32;

pub(super) struct Search<'a> {
    pub lines: &'a Lines,
    pub table: &'a mut Table,
    pub nodes: &'a mut u64,
    pub watch: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
}

impl Search<'_> {
    /// The exact score of an unfinished position.
    pub fn score(&mut self, root: Position) -> Result<i32, Stopped> {
        if self.lines.size.rows() == Size::STANDARD.rows() && self.lines.size.columns() >= 4 {
            self.bisect::<{ Size::STANDARD.height() }>(root)
        } else {
            self.bisect::<0>(root)
        }
    }

    /// Bisects the window until it is one score, testing scores near zero first.
    fn bisect<const HEIGHT: u32>(&mut self, root: Position) -> Result<i32, Stopped> {
        let left = self.lines.size.cells() as i32 - root.stones;
        let wins = self.lines.winning_cells::<HEIGHT>(root.mover, root.all);
        if wins & self.lines.playable(root.all) != 0 {
            return Ok((left + 1) / 2);
        }
        let (mut low, mut high) = (-(left / 2), (left + 1) / 2);
        while low < high {
            let mut middle = low + (high - low) / 2;
            if middle <= 0 && low / 2 < middle {
                middle = low / 2;
            } else if middle >= 0 && high / 2 > middle {
                middle = high / 2;
            }
            let found = self.negamax::<HEIGHT>(root, middle, middle + 1)?;
            if found <= middle {
                high = found;
            } else {
                low = found;
            }
        }
        Ok(low)
    }

    /// The score if it is between `alpha` and `beta`; otherwise an upper or lower bound.
    ///
    /// The mover must have no winning move: callers check that first.
    fn negamax<const HEIGHT: u32>(
        &mut self,
        position: Position,
        mut alpha: i32,
        mut beta: i32,
    ) -> Result<i32, Stopped> {
        *self.nodes += 1;
        if self.nodes.is_multiple_of(WATCH_EVERY) && (self.watch)(*self.nodes).is_break() {
            return Err(Stopped);
        }
        let Position { mover, all, stones } = position;
        let left = self.lines.size.cells() as i32 - stones;
        let moves = self.lines.safe_cells::<HEIGHT>(all ^ mover, all);
        if moves == 0 {
            return Ok(-(left / 2)); // the other seat wins with its next stone
        }
        if left <= 2 {
            return Ok(0);
        }
        // Neither seat wins with the next two stones.
        alpha = alpha.max(-((left - 2) / 2));
        beta = beta.min((left - 1) / 2);
        if alpha >= beta {
            return Ok(alpha);
        }
        let key = self.key(position, left);
        match self.table.get(key) {
            Some(Bound::AtLeast(score)) => alpha = alpha.max(score),
            Some(Bound::AtMost(score)) => beta = beta.min(score),
            None => {}
        }
        if alpha >= beta {
            return Ok(alpha);
        }
        let mut ranks = [0; MAX_COLUMNS];
        for &rank in self.ranked::<HEIGHT>(position, moves, &mut ranks) {
            let column = self.lines.centre_first()[usize::from(!rank as u8)];
            let cell = moves & self.lines.size.column(column);
            let child = Position {
                mover: all ^ mover,
                all: all | cell,
                stones: stones + 1,
            };
            let score = -self.negamax::<HEIGHT>(child, -beta, -alpha)?;
            if score >= beta {
                self.table.put(key, left, Bound::AtLeast(score));
                return Ok(score);
            }
            alpha = alpha.max(score);
        }
        self.table.put(key, left, Bound::AtMost(alpha));
        Ok(alpha)
    }

    /// A unique number of this position, or of the position and its mirror image.
    #[inline(always)]
    fn key(&self, Position { mover, all, .. }: Position, left: i32) -> u64 {
        let key = mover + all;
        if left < MIRROR_LEFT {
            return key;
        }
        let size = self.lines.size;
        key.min(size.mirror(mover) + size.mirror(all))
    }

    /// The columns of `moves`, by falling number of threats, then from the centre.
    ///
    /// A rank is `threats << 8 | !index`, with the column's index in the order from the centre.
    #[inline(always)]
    fn ranked<'r, const HEIGHT: u32>(
        &self,
        position: Position,
        moves: u64,
        ranks: &'r mut [u16; MAX_COLUMNS],
    ) -> &'r [u16] {
        let mut count = 0;
        for (index, &column) in self.lines.centre_first().iter().enumerate() {
            let cell = moves & self.lines.size.column(column);
            if cell == 0 {
                continue;
            }
            let stones = position.mover | cell;
            let threats = self
                .lines
                .winning_cells::<HEIGHT>(stones, position.all | cell);
            let rank = (threats.count_ones() as u16) << 8 | u16::from(!(index as u8));
            let mut at = count;
            while at > 0 && ranks[at - 1] < rank {
                ranks[at] = ranks[at - 1];
                at -= 1;
            }
            ranks[at] = rank;
            count += 1;
        }
        &ranks[..count]
    }
}
