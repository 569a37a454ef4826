//! Mop-up evaluation: pieces against a bare king.
//!
//! By material alone every position would have a value of almost 1, and a search would make no
//! progress. So this score replaces all other terms: it grows as the bare king has fewer squares
//! that it can ever reach, and as the other king comes closer. The logit of a move is its gain in
//! this score.

use crate::chess::position::Position;
use crate::chess::view::{FILE_A, FILE_H, View};
use shakmaty::Bitboard;
use sylvan_core::Action;

/// The mop-up score in centipawns for the mover; `None` unless one side has a bare king.
pub(super) fn mop_up(view: &View) -> Option<i32> {
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
    let room = reachable(1 << bare.to_u32(), forbidden).count_ones() as i32;
    let closeness = 7 - own_king.distance(their_king) as i32;
    Some(sign * (200 + 15 * (64 - room) + 40 * closeness))
}

/// The gain of a move in the mop-up score, from the current score `now`.
pub(super) fn progress(position: &Position, action: Action, now: i32) -> i32 {
    let mut after = *position;
    after.play(action);
    let then = mop_up(&View::of(&after)).map_or(0, |their| -their);
    (then - now).clamp(-300, 300)
}

/// All squares that a king can reach from `squares` in any number of steps.
fn reachable(mut squares: u64, forbidden: u64) -> u64 {
    loop {
        let row = squares | (squares & !FILE_A) >> 1 | (squares & !FILE_H) << 1;
        let reached = squares | (row | row << 8 | row >> 8) & !forbidden;
        if reached == squares {
            return squares;
        }
        squares = reached;
    }
}
