//! Pieces against a bare king: driving it to its mate.
//!
//! The lead alone would be worth nearly 1 everywhere, and a search would see no way to go. So here
//! the score says how near the mate is, in place of everything else: how little room the king has
//! left, counted as the squares that it could ever walk to, and how close the other king is. Moves
//! are preferred by how much of this they gain at once.

use crate::chess::position::Position;
use crate::chess::view::{FILE_A, FILE_H, View};
use shakmaty::Bitboard;
use sylvan_core::Action;

/// How near the mate is, in hundredths of a pawn for the mover; `None` if this is no hunt.
pub(super) fn hunt(view: &View) -> Option<i32> {
    let (board, kings) = (&view.board, view.board.kings());
    let own_king = Bitboard(kings & view.own).first()?;
    let their_king = Bitboard(kings & view.their).first()?;
    let sign = match (view.own & !kings == 0, view.their & !kings == 0) {
        (false, true) => 1,
        (true, false) => -1,
        _ => return None,
    };
    if board.pawns() != 0 || board.straight() == 0 && board.occupied().count_ones() < 4 {
        return None;
    }
    let bare = if sign > 0 { their_king } else { own_king };
    let forbidden = if sign > 0 {
        view.covered()
    } else {
        view.forbidden()
    };
    let room = roam(1 << bare.to_u32(), forbidden).count_ones() as i32;
    let closeness = 7 - own_king.distance(their_king) as i32;
    Some(sign * (200 + 15 * (64 - room) + 40 * closeness))
}

/// How much a move helps the mover in a hunt that stands at `now`.
pub(super) fn progress(position: &Position, action: Action, now: i32) -> i32 {
    let mut after = *position;
    after.play(action);
    let then = hunt(&View::of(&after)).map_or(0, |their| -their);
    (then - now).clamp(-300, 300)
}

/// All squares that a king can reach from `squares` in any number of steps.
fn roam(mut squares: u64, forbidden: u64) -> u64 {
    loop {
        let row = squares | (squares & !FILE_A) >> 1 | (squares & !FILE_H) << 1;
        let reached = squares | (row | row << 8 | row >> 8) & !forbidden;
        if reached == squares {
            return squares;
        }
        squares = reached;
    }
}
