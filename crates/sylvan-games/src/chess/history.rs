//! The past that a position alone does not know: the last eight boards, which an observation shows,
//! and the keys since the last capture or pawn move, among which repetitions are found.
//!
//! Keys run through the real game and on into the tree without a seam. A search marks its root, so
//! that a repetition inside the tree can be told from one of the game.
//!
//! **Missing boards.** A game that starts from a FEN has no past, yet networks are trained with
//! one. The first position stands in its place from the start, and real boards push it out as moves
//! are played; [`HistoryFill`] says whether an observation shows what is not real.

use super::board::{BLACK, Board, PAWN};
use super::position::Position;

/// Boards that an observation shows.
pub(super) const BOARDS: usize = 8;

/// What stands in for boards before the first known position, as lc0's option of the same name.
///
/// Where the first position has an en-passant square, the board before it is known: there the
/// filled boards (and under [`HistoryFill::No`] one board) show the pawn before its double step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryFill {
    /// Empty boards.
    No,
    /// The first position, unless it is the start position of chess; else empty boards.
    #[default]
    FenOnly,
    /// The first position.
    Always,
}

#[derive(Debug)]
pub(super) struct History {
    /// Boards before the current one: a ring, whose newest is the board one ply ago.
    boards: [Board; BOARDS],
    newest: u8,
    /// The first position is the start of chess.
    from_start: bool,
    /// The first position had an en-passant square, so that the board before it is known.
    pushed: bool,
    /// Two bits per ply, the current one's lowest: how often the position had occurred before,
    /// counted to 2.
    repeats: u16,
    /// How often the current position occurred before, counted to 2.
    pub(super) earlier: u8,
    /// The current position occurred before at or below the root of a search.
    pub(super) in_tree: bool,
    /// Keys of the positions so far, the current one's last. Only those from `first` on can come
    /// back: what lies before was cut off by a capture or a pawn move.
    keys: Vec<u64>,
    first: u32,
    /// Keys that copying has left behind.
    left_behind: u32,
    /// The place in `keys` where the tree begins; `NO_ROOT` outside a search.
    root: u32,
}

const NO_ROOT: u32 = u32::MAX;

impl History {
    /// The past of a first position. `en_passant` is the square as written, capture or not.
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
            pushed: en_passant.is_some(),
            repeats: 0,
            earlier: 0,
            in_tree: false,
            keys: vec![first.key],
            first: 0,
            left_behind: 0,
            root: NO_ROOT,
        }
    }

    /// Keeps a board that a move is about to change.
    pub(super) fn keep(&mut self, board: &Board) {
        self.newest = (self.newest + 1) % BOARDS as u8;
        self.boards[usize::from(self.newest)] = *board;
    }

    /// Adds the key after the move; an irreversible one cuts it off from all before.
    pub(super) fn push(&mut self, key: u64, irreversible: bool) {
        let place = self.keys.len() as u32;
        self.first = if irreversible { place } else { self.first };
        self.keys.push(key);
        self.count();
        self.repeats = self.repeats << 2 | u16::from(self.earlier);
    }

    /// Looks for the current position among those that can come back. The same side is to move
    /// every second ply, and a position takes four plies to come back.
    fn count(&mut self) {
        (self.earlier, self.in_tree) = (0, false);
        let (first, current) = (self.first as usize, self.keys.len() - 1);
        let mut plies = 4;
        while first + plies <= current {
            let place = current - plies;
            if self.keys[place] == self.keys[current] {
                self.in_tree |= place as u32 >= self.root;
                self.earlier = (self.earlier + 1).min(2);
            }
            plies += 2;
        }
    }

    /// A search starts at the current position.
    pub(super) fn set_root(&mut self) {
        self.root = (self.keys.len() - 1) as u32;
        self.in_tree = false;
    }

    /// Whether a search has marked its root.
    pub(super) fn in_search(&self) -> bool {
        self.root != NO_ROOT
    }

    /// The board one ply before the current one, two plies, …; empty ones where nothing is shown.
    pub(super) fn boards(&self, fill: HistoryFill) -> impl Iterator<Item = &Board> {
        static EMPTY: Board = Board::EMPTY;
        let shown = match fill {
            HistoryFill::Always => BOARDS,
            HistoryFill::FenOnly if !self.from_start => BOARDS,
            // The boards of the game so far, and the one that a double step tells of.
            _ => self.left_behind as usize + self.keys.len() - 1 + usize::from(self.pushed),
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

    /// How often the position `plies` ago had occurred before, counted to 2.
    pub(super) fn repeats(&self, plies: usize) -> u16 {
        self.repeats >> (2 * plies) & 3
    }

    /// Keys of the positions that can still come back, the current one last.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys[self.first as usize..]
    }

    /// Where the tree begins among [`History::keys`]; past all of them outside a search.
    pub(super) fn root_place(&self) -> u32 {
        if self.root == NO_ROOT {
            NO_ROOT
        } else {
            self.root.saturating_sub(self.first)
        }
    }

    /// This history with other room for its keys, which are copied as far as they matter.
    fn copied_into(&self, mut keys: Vec<u64>) -> History {
        keys.clear();
        keys.extend_from_slice(self.keys());
        History {
            keys,
            first: 0,
            left_behind: self.left_behind + self.first,
            root: self.root_place(),
            ..*self
        }
    }
}

impl Clone for History {
    fn clone(&self) -> History {
        self.copied_into(Vec::new())
    }

    /// Keeps the room for keys: a search copies its root once per simulation.
    fn clone_from(&mut self, source: &History) {
        let keys = std::mem::take(&mut self.keys);
        *self = source.copied_into(keys);
    }
}

/// White to move in the start position of chess, whatever the counters say.
fn is_start(position: &Position) -> bool {
    const CORNERS: u64 = 0x8100_0000_0000_0081;
    position.board == Board::from(&shakmaty::Board::new())
        && position.castling == CORNERS
        && !position.black_to_move
}
