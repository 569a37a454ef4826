//! The history of a game: the last eight boards, for observations, and the keys since the last
//! capture or pawn move, to find repetitions.
//!
//! The list of keys covers the real game and continues into the tree. A search marks its root, so
//! that repetitions inside the tree can be distinguished from those of the game.
//!
//! **Missing boards.** A game that starts from a FEN has no history, but networks are trained with
//! one. The first position fills the missing boards, and real boards replace it as moves are
//! played; [`HistoryFill`] determines whether an observation shows filled boards.

use super::board::{BLACK, Board, PAWN};
use super::position::Position;

/// Boards in an observation.
pub(super) const BOARDS: usize = 8;

/// The boards before the first known position, as in lc0's option of the same name.
///
/// If the first position has an en-passant square, the board before it is known: the filled boards
/// (with [`HistoryFill::No`] one board) show the pawn before its double step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryFill {
    /// Empty boards.
    No,
    /// The first position; empty boards if it is the start position of chess.
    #[default]
    FenOnly,
    /// The first position.
    Always,
}

#[derive(Debug)]
pub(super) struct History {
    /// Boards before the current one, in a ring buffer; the newest is the board one ply ago.
    boards: [Board; BOARDS],
    newest: u8,
    /// The first position is the start of chess.
    from_start: bool,
    /// The first position had an en-passant square, so the board before it is known.
    double_step: bool,
    /// Two bits per ply, the lowest for the current one: how often the position had occurred
    /// before, at most 2.
    repeats: u16,
    /// How often the current position occurred before, at most 2.
    pub(super) earlier: u8,
    /// The current position occurred before, at or below the root of a search.
    pub(super) in_tree: bool,
    /// Keys of the positions so far, the current one last. Only positions from index `first` can
    /// recur: a capture or pawn move came after the others.
    keys: Vec<u64>,
    first: u32,
    /// The number of keys dropped by copying.
    dropped_keys: u32,
    /// The index of the search's root in `keys`; `NO_ROOT` outside a search.
    root: u32,
}

const NO_ROOT: u32 = u32::MAX;

impl History {
    /// The history at a first position. `en_passant` is the square in the FEN, even if no capture
    /// is legal.
    pub(super) fn new(first: &Position, en_passant: Option<u32>) -> History {
        let mut before = first.board;
        if let Some(square) = en_passant {
            let pawn = if first.black_to_move {
                PAWN
            } else {
                PAWN | BLACK
            };
            before.toggle(pawn, 1 << (square ^ 8) | 1 << (square ^ 24));
        }
        History {
            boards: [before; BOARDS],
            newest: 0,
            from_start: is_start(first),
            double_step: en_passant.is_some(),
            repeats: 0,
            earlier: 0,
            in_tree: false,
            keys: vec![first.key],
            first: 0,
            dropped_keys: 0,
            root: NO_ROOT,
        }
    }

    /// Stores a board before a move changes it.
    pub(super) fn keep(&mut self, board: &Board) {
        self.newest = (self.newest + 1) % BOARDS as u8;
        self.boards[usize::from(self.newest)] = *board;
    }

    /// Adds the key after a move; after an irreversible move, earlier positions cannot recur.
    pub(super) fn push(&mut self, key: u64, irreversible: bool) {
        let index = self.keys.len() as u32;
        self.first = if irreversible { index } else { self.first };
        self.keys.push(key);
        self.count();
        self.repeats = self.repeats << 2 | u16::from(self.earlier);
    }

    /// Counts earlier occurrences of the current position. The same side moves every second ply,
    /// and a position recurs after four plies at the earliest.
    fn count(&mut self) {
        (self.earlier, self.in_tree) = (0, false);
        let (first, current) = (self.first as usize, self.keys.len() - 1);
        let mut plies = 4;
        while first + plies <= current {
            let index = current - plies;
            if self.keys[index] == self.keys[current] {
                self.in_tree |= index as u32 >= self.root;
                self.earlier = (self.earlier + 1).min(2);
            }
            plies += 2;
        }
    }

    /// Marks the current position as the root of a search.
    pub(super) fn set_root(&mut self) {
        self.root = (self.keys.len() - 1) as u32;
        self.in_tree = false;
    }

    /// Whether a search has marked its root.
    pub(super) fn in_search(&self) -> bool {
        self.root != NO_ROOT
    }

    /// The boards one, two, … plies before the current one; empty where nothing is shown.
    pub(super) fn boards(&self, fill: HistoryFill) -> impl Iterator<Item = &Board> {
        static EMPTY: Board = Board::EMPTY;
        let shown = match fill {
            HistoryFill::Always => BOARDS,
            HistoryFill::FenOnly if !self.from_start => BOARDS,
            // The boards of the game so far, and the one before a double step.
            _ => self.dropped_keys as usize + self.keys.len() - 1 + usize::from(self.double_step),
        };
        let newest = usize::from(self.newest) + BOARDS;
        (0..BOARDS).map(move |age| {
            if age < shown {
                &self.boards[(newest - age) % BOARDS]
            } else {
                &EMPTY
            }
        })
    }

    /// How often the position `plies` ago had occurred before, at most 2.
    pub(super) fn repeats(&self, plies: usize) -> u16 {
        self.repeats >> (2 * plies) & 3
    }

    /// Keys of the positions that can still recur, the current one last.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys[self.first as usize..]
    }

    /// The index of the search's root in [`History::keys`]; `NO_ROOT` outside a search.
    pub(super) fn root_index(&self) -> u32 {
        if self.root == NO_ROOT {
            NO_ROOT
        } else {
            self.root.saturating_sub(self.first)
        }
    }

    /// A copy that uses the buffer `keys`; copies only keys that can recur.
    fn copied_into(&self, mut keys: Vec<u64>) -> History {
        keys.clear();
        keys.extend_from_slice(self.keys());
        History {
            keys,
            first: 0,
            dropped_keys: self.dropped_keys + self.first,
            root: self.root_index(),
            ..*self
        }
    }
}

impl Clone for History {
    fn clone(&self) -> History {
        self.copied_into(Vec::new())
    }

    /// Reuses the buffer for keys: a search copies its root once per simulation.
    fn clone_from(&mut self, source: &History) {
        let keys = std::mem::take(&mut self.keys);
        *self = source.copied_into(keys);
    }
}

/// Whether this is the start position of chess, regardless of the counters.
fn is_start(position: &Position) -> bool {
    const CORNERS: u64 = 0x8100_0000_0000_0081;
    position.board == Board::from(&shakmaty::Board::new())
        && position.castling == CORNERS
        && !position.black_to_move
}
