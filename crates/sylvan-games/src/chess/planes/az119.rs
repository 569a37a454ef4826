//! `az119`: the planes of AlphaZero (Silver et al. 2018, table S1).
//!
//! | plane | meaning |
//! |-------|---------|
//! | 14h + 0–5  | board `h` plies ago: own pawns, knights, bishops, rooks, queens, king |
//! | 14h + 6–11 | the same of the opponent |
//! | 14h + 12   | all ones if that position had occurred before |
//! | 14h + 13   | all ones if it had occurred at least twice before |
//! | 112        | all ones if Black is to move |
//! | 113        | move number as in a FEN: the number, 1/100 of it when expanded |
//! | 114, 115   | all ones if the mover may castle on the king's, queen's side |
//! | 116, 117   | the same of the opponent |
//! | 118        | plies since the last capture or pawn move: the number, 1/100 when expanded |
//!
//! The paper gives the order of sets of planes, but neither the order inside a set nor the scale of
//! the two numbers; both are defined here. Boards before the first known position: see
//! [`HistoryFill`].

use super::{castling, mask, mover_view, write_pieces};
use crate::chess::history::{BOARDS, History, HistoryFill};
use crate::chess::position::Position;

pub(super) const NUM_PLANES: usize = 119;
pub(super) const NUMBERS: [(usize, f32); 2] = [(113, 0.01), (118, 0.01)];
const PER_BOARD: usize = 14;
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
        planes[13] = mask(history.repeats(plies) > 1);
    }
    let [own_long, own_short, their_long, their_short] = castling(position);
    auxiliary.copy_from_slice(&[
        mask(position.black_to_move),
        u64::from(position.move_number),
        own_short,
        own_long,
        their_short,
        their_long,
        u64::from(position.clock),
    ]);
}
