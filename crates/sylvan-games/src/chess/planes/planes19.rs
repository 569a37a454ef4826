//! `planes19`: one board and all fields of a FEN except the move number.
//!
//! | plane | meaning |
//! |-------|---------|
//! | 0–5    | own pawns, knights, bishops, rooks, queens, king |
//! | 6–11   | the same of the opponent |
//! | 12     | all ones if Black is to move |
//! | 13, 14 | all ones if the mover may castle on the king's, queen's side |
//! | 15, 16 | the same of the opponent |
//! | 17     | the square of a legal en-passant capture |
//! | 18     | plies since the last capture or pawn move: the number, 1/100 of it when expanded |

use super::{castling, en_passant, mask, mover_view, write_pieces};
use crate::chess::position::Position;

pub(super) const NUM_PLANES: usize = 19;
pub(super) const NUMBERS: [(usize, f32); 1] = [(18, 0.01)];

pub(super) fn write(position: &Position, out: &mut [u64; NUM_PLANES]) {
    let (pieces, rest) = out.split_at_mut(12);
    write_pieces(&mover_view(position, &position.board), pieces);
    let [own_long, own_short, their_long, their_short] = castling(position);
    rest.copy_from_slice(&[
        mask(position.black_to_move),
        own_short,
        own_long,
        their_short,
        their_long,
        en_passant(position),
        u64::from(position.clock),
    ]);
}
