//! The past that a position alone does not know: the last eight boards, which an observation shows,
//! and the keys since the last capture or pawn move, among which repetitions are found.
//!
//! Keys run through the real game and on into the tree without a seam. A search marks its root, so
//! that a repetition inside the tree can be told from one of the game.
//!
//! **Missing boards.** A game that starts from a FEN has no past, yet networks are trained with
//! one. [`HistoryFill`] says what stands in its place; the boards are filled in once, at the start,
//! and real ones push them out as moves are played.

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
    /// A ring; `newest` is the current board.
    boards: [Board; BOARDS],
    newest: u8,
    /// Bit `h`: the board `h` plies ago had occurred before.
    repeated: u8,
    /// How often the current position occurred before, counted to 2.
    pub(super) earlier: u8,
    /// The current position occurred before at or below the root of a search.
    pub(super) in_tree: bool,
    /// Keys since the last irreversible move, the current position's last.
    keys: Vec<u64>,
    /// The place in `keys` where the tree begins; `NO_ROOT` outside a search.
    root: u32,
}

const NO_ROOT: u32 = u32::MAX;

impl History {
    /// The past of a first position. `en_passant` is the square as written, capture or not.
    pub(super) fn new(first: &Position, en_passant: Option<u32>, fill: HistoryFill) -> History {
        let mut before = first.board;
        if let Some(square) = en_passant {
            let colour = if first.black_to_move { 0 } else { BLACK };
            before.clear(1 << (square ^ 8));
            before.put(PAWN | colour, square ^ 24);
        }
        let mut boards = match fill {
            HistoryFill::Always => [before; BOARDS],
            HistoryFill::FenOnly if !is_start(first) => [before; BOARDS],
            _ => [Board::default(); BOARDS],
        };
        if en_passant.is_some() {
            boards[BOARDS - 1] = before;
        }
        boards[0] = first.board;
        let keys = vec![first.key];
        History {
            boards,
            newest: 0,
            repeated: 0,
            earlier: 0,
            in_tree: false,
            keys,
            root: NO_ROOT,
        }
    }

    /// Adds a position; an irreversible move cuts it off from all before.
    pub(super) fn push(&mut self, board: Board, key: u64, irreversible: bool) {
        self.newest = (self.newest + 1) % BOARDS as u8;
        self.boards[usize::from(self.newest)] = board;
        if irreversible {
            self.keys.clear();
            self.root = if self.root == NO_ROOT { NO_ROOT } else { 0 };
        }
        self.count(key);
        self.keys.push(key);
        self.repeated = self.repeated << 1 | u8::from(self.earlier > 0);
    }

    /// Looks for `key` among the earlier ones. The same side is to move every second ply, and a
    /// position takes four plies to come back.
    fn count(&mut self, key: u64) {
        (self.earlier, self.in_tree) = (0, false);
        let mut place = self.keys.len();
        while place >= 4 {
            place -= if place == self.keys.len() { 4 } else { 2 };
            if self.keys[place] == key {
                self.in_tree |= place as u32 >= self.root;
                self.earlier += 1;
                if self.earlier == 2 {
                    break;
                }
            }
            if place < 2 {
                break;
            }
        }
    }

    /// A search starts at the current position.
    pub(super) fn set_root(&mut self) {
        self.root = (self.keys.len() - 1) as u32;
        self.in_tree = false;
    }

    /// Where the tree begins among the keys; a number past all of them outside a search.
    pub(super) fn root_place(&self) -> u64 {
        u64::from(self.root)
    }

    /// The board `plies` ago and whether it had occurred before.
    pub(super) fn board(&self, plies: usize) -> (&Board, bool) {
        let place = (usize::from(self.newest) + BOARDS - plies) % BOARDS;
        (&self.boards[place], self.repeated >> plies & 1 == 1)
    }

    /// Keys of the positions that could still come back, the current one last.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }
}

impl Clone for History {
    fn clone(&self) -> History {
        History {
            keys: self.keys.clone(),
            ..*self
        }
    }

    /// Keeps the allocation of `keys`: a search copies its root once per simulation.
    fn clone_from(&mut self, source: &History) {
        self.keys.clone_from(&source.keys);
        let keys = std::mem::take(&mut self.keys);
        *self = History { keys, ..*source };
    }
}

/// White to move in the start position of chess, whatever the counters say.
fn is_start(position: &Position) -> bool {
    const CORNERS: u64 = 0x8100_0000_0000_0081;
    position.board == Board::from(&shakmaty::Board::new())
        && position.castling == CORNERS
        && !position.black_to_move
}
