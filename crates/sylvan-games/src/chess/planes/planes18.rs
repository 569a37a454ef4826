//! `planes18`: one board, rights, en passant and the side to move.
//!
//! | plane | meaning |
//! |-------|---------|
//! | 0–5    | own pawns, knights, bishops, rooks, queens, king |
//! | 6–11   | the same of the opponent |
//! | 12, 13 | all ones if the mover may castle on the king's, queen's side |
//! | 14, 15 | the same of the opponent |
//! | 16     | the square of a legal en-passant capture |
//! | 17     | all ones if Black is to move |

use super::{castling, en_passant, mask, mover_view, write_pieces};
use crate::chess::position::Position;

pub(super) const NUM_PLANES: usize = 18;

pub(super) fn write(position: &Position, out: &mut [u64; NUM_PLANES]) {
    let (pieces, rest) = out.split_at_mut(12);
    write_pieces(&mover_view(position, &position.board), pieces);
    let [own_long, own_short, their_long, their_short] = castling(position);
    rest.copy_from_slice(&[
        own_short,
        own_long,
        their_short,
        their_long,
        en_passant(position),
        mask(position.black_to_move),
    ]);
}
