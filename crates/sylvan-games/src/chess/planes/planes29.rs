//! `planes29`: one board, all fields of a FEN, and the squares of the last eight half-moves.
//!
//! | plane | meaning |
//! |-------|---------|
//! | 0–5    | own pawns, knights, bishops, rooks, queens, king |
//! | 6–11   | the same of the opponent |
//! | 12, 13 | all ones if White, if Black is to move |
//! | 14, 15 | all ones if the mover may castle on the king's, queen's side |
//! | 16, 17 | the same of the opponent |
//! | 18     | the square of a legal en-passant capture |
//! | 19     | plies since the last capture or pawn move: the number, 1/100 of it when expanded |
//! | 20     | move number as in a FEN: the number, 1/100 of it when expanded |
//! | 21 + h | the squares that changed in the half-move `h` plies ago, 0 for the last one |
//!
//! The planes are those of the program around the document `alphachess`, which has White's and
//! Black's pieces, and in planes 21 to 28 only whose turn it was. Here they tell what was played: a
//! move changes its two squares, castling four and en passant three. They are empty before the
//! first known position, whatever [`HistoryFill`] says, except for a double step that the FEN tells.

use super::{castling, en_passant, mask, mover_view, write_pieces};
use crate::chess::history::{BOARDS, History, HistoryFill};
use crate::chess::position::Position;

pub(super) const NUM_PLANES: usize = 29;
pub(super) const NUMBERS: [(usize, f32); 2] = [(19, 0.01), (20, 0.01)];
const HALF_MOVES: usize = NUM_PLANES - BOARDS;

pub(super) fn write(position: &Position, history: &History, out: &mut [u64; NUM_PLANES]) {
    let (now, half_moves) = out.split_at_mut(HALF_MOVES);
    let (pieces, rest) = now.split_at_mut(12);
    write_pieces(&mover_view(position, &position.board), pieces);
    let [own_long, own_short, their_long, their_short] = castling(position);
    rest.copy_from_slice(&[
        mask(!position.black_to_move),
        mask(position.black_to_move),
        own_short,
        own_long,
        their_short,
        their_long,
        en_passant(position),
        u64::from(position.clock),
        u64::from(position.move_number),
    ]);
    // Filled boards equal the first position, so nothing changes between them.
    let mut after = &position.board;
    for (plane, before) in half_moves
        .iter_mut()
        .zip(history.boards(HistoryFill::Always))
    {
        let changed = after.changed(before);
        *plane = if position.black_to_move {
            changed.swap_bytes()
        } else {
            changed
        };
        after = before;
    }
}
