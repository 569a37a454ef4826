//! `lc0_112`: the planes of lc0's input format 1 (classical).
//!
//! | plane | meaning |
//! |-------|---------|
//! | 13h + 0–5  | board `h` plies ago: own pawns, knights, bishops, rooks, queens, king |
//! | 13h + 6–11 | the same of the opponent |
//! | 13h + 12   | all ones if that position had occurred before |
//! | 104, 105   | all ones if the mover may castle on the queen's, king's side |
//! | 106, 107   | the same of the opponent |
//! | 108        | all ones if Black is to move |
//! | 109        | plies since the last capture or pawn move: the number itself |
//! | 110        | zero |
//! | 111        | all ones |
//!
//! Boards before the first known position: see [`HistoryFill`].

use super::{castling, mask, mover_view, write_pieces};
use crate::chess::history::{BOARDS, History, HistoryFill};
use crate::chess::position::Position;

pub(super) const NUM_PLANES: usize = 112;
pub(super) const NUMBERS: [(usize, f32); 1] = [(109, 1.0)];
const PER_BOARD: usize = 13;
const AUXILIARY: usize = BOARDS * PER_BOARD;

pub(super) fn write(
    position: &Position,
    history: &History,
    fill: HistoryFill,
    out: &mut [u64; NUM_PLANES],
) {
    let (past, auxiliary) = out.split_at_mut(AUXILIARY);
    let boards = std::iter::once(&position.board).chain(history.boards(fill));
    for (plies, (planes, board)) in past.chunks_exact_mut(PER_BOARD).zip(boards).enumerate() {
        write_pieces(&mover_view(position, board), planes);
        planes[12] = mask(history.repeats(plies) > 0);
    }
    let [own_long, own_short, their_long, their_short] = castling(position);
    auxiliary.copy_from_slice(&[
        own_long,
        own_short,
        their_long,
        their_short,
        mask(position.black_to_move),
        u64::from(position.clock),
        0,
        !0,
    ]);
}
